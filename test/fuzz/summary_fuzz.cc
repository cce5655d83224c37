// Input: the file of a summary. It is refused with one line, or read; what was read is written and
// read again as the same.
#include <stdexcept>
#include <string>

#include "base/run_summary.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  base::RunSummary summary;
  try {
    summary =
        base::summary_from_text(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const std::runtime_error& error) {
    fuzz::require(fuzz::one_line(error.what()), "an error is one line", error.what());
    return 0;
  }
  for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
    const std::uint32_t parent = summary.nodes[i].parent;
    fuzz::require(parent == base::RunSummary::kNone || parent < i, "parents come first");
  }
  for (const auto& location : summary.locations)
    fuzz::require(location.sums.size() == summary.nodes.size(), "sums for each node");
  fuzz::require(base::summary_from_text(base::to_text(summary)) == summary,
                "written and read again");
  return 0;
}
