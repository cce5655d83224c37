#include "convert/formats_at_end.h"

#include <fmt/format.h>

#include <exception>
#include <sstream>

#include "base/archive_files.h"
#include "convert/convert.h"

namespace refrain::convert {
namespace {

void write(const std::string& archive, const std::string& format, FormatsResult& result) {
  bool keep = false;
  bool complete = true;
  std::istringstream names(format);
  for (std::string name; std::getline(names, name, ',');) {
    ConvertOptions options;
    if (name == "otf2") keep = true;
    if (name == "otf2" || !parse_format(name, options.format)) continue;
    options.archive = archive;
    options.overwrite = true;
    const auto made = convert_archive(options);
    if (!made) {
      complete = false;
      result.warnings.push_back(
          fmt::format("no {0} trace ({1}); try 'refrain convert {2} --to {0}'", name,
                      made.error(), archive));
      continue;
    }
    result.warnings.insert(result.warnings.end(), made->notes.begin(), made->notes.end());
    result.files.insert(result.files.end(), made->files.begin(), made->files.end());
  }
  if (keep || !complete || result.files.empty()) return;
  if (const auto removed = base::remove_archive(archive); !removed)
    result.warnings.push_back(removed.error());
}

}  // namespace

FormatsResult write_formats(const std::string& archive,
                            const std::string& format) noexcept {
  FormatsResult result;
  try {
    try {
      write(archive, format, result);
    } catch (const std::exception& problem) {
      result.warnings.push_back(archive + ": cannot be converted: " + problem.what());
    }
  } catch (...) {
  }
  return result;
}

}  // namespace refrain::convert
