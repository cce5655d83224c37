#include "analysis/report/report_file.h"

#include "base/new_file.h"

namespace refrain::report {

base::Result<> write_report(const std::string& path, std::string_view page,
                            const Blocks& blocks, bool replace) {
  const std::size_t at = page.find(kDataLine);
  if (at == std::string_view::npos)
    return base::Failure{"the page has no place for the data"};
  base::NewFile file(path);
  const auto existing = replace ? base::Existing::kReplace : base::Existing::kKeep;
  if (auto opened = file.open(existing); !opened) return opened;
  file.write(page.substr(0, at));
  blocks.write([&](const std::string& text) { file.write(text); });
  file.write(page.substr(at + kDataLine.size()));
  return file.put_in_place();
}

}  // namespace refrain::report
