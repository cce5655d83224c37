// Input: the file of a summary. It is refused with one line, or read; what was read is written and
// read again as the same, and waits are estimated from it.
#include <stdexcept>
#include <string>

#include "summary/run_summary.h"
#include "test/fuzz/fuzz.h"
#include "waits/estimates.h"

namespace {

using namespace refrain;

// An archive of this process in which nothing was written but the definitions.
waits::WaitAnalysis nothing_written(const summary::RunSummary& summary) {
  waits::WaitAnalysis written;
  const waits::PatternSet patterns(waits::all_patterns());
  written.tree = patterns.tree();
  written.problems.gaps = 1;
  written.paths.emplace_back();
  for (std::size_t i = 0; i < summary.regions.size(); ++i) {
    const auto metric = static_cast<std::uint32_t>(i % waits::kBaseMetrics);
    written.regions.push_back({.name = summary.regions[i].name,
                               .file = summary.regions[i].file,
                               .line = summary.regions[i].line,
                               .metric = metric});
    written.paths.push_back({PathId{}, RegionId(i), {}});
  }
  written.processes.emplace_back();
  for (const auto& location : summary.locations)
    written.locations.push_back({{}, ProcessId(summary.process), location.number});
  written.values.resize(written.tree.metrics.size());
  written.products = written.squares = written.values;
  written.calls.resize(written.paths.size());
  return written;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  const auto read =
      summary::summary_from_text(std::string(reinterpret_cast<const char*>(data), size));
  fuzz::require(fuzz::one_line(read.error()), "an error is one line", read.error());
  if (!read) return 0;
  const summary::RunSummary& summary = *read;
  for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
    const std::uint32_t parent = summary.nodes[i].parent;
    fuzz::require(parent == summary::RunSummary::kNone || parent < i, "parents come first");
  }
  for (const auto& location : summary.locations)
    fuzz::require(location.sums.size() == summary.nodes.size(), "sums for each node");
  fuzz::require(*summary::summary_from_text(summary::to_text(summary)) == summary,
                "written and read again");
  const waits::WaitAnalysis written = nothing_written(summary);
  for (const auto& each :
       waits::estimate_waits(written, waits::calls_of(written, {summary})))
    fuzz::require(each.least <= each.whole && each.whole <= each.most,
                  "bounds contain the estimate");
  return 0;
}
