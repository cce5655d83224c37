#include "analysis/run_totals.h"

#include <algorithm>
#include <exception>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/summary_totals.h"
#include "base/archive_files.h"
#include "reader/archive_stream.h"
#include "summary/run_summary.h"

namespace refrain::analysis {
namespace {

void add(std::optional<double>& sum, const std::optional<double>& value) {
  if (!value)
    sum.reset();
  else if (sum)
    *sum += *value;
}

void add(RunTotals::Traffic& sum, const RunTotals::Traffic& part) {
  sum.messages_sent += part.messages_sent;
  sum.bytes_sent += part.bytes_sent;
  sum.messages_received += part.messages_received;
  add(sum.bytes_received, part.bytes_received);
  add(sum.collectives, part.collectives);
}

RunTotals::Process process_of(const ProcessTotals& from) {
  RunTotals::Process process;
  process.counted = true;
  for (const ProcessTotals::Region& region : from.regions) process.calls += region.calls;
  process.calls += from.other_calls;
  process.calls_without_region = from.other_calls;
  process.traffic = {from.sends, from.bytes_sent, from.receives, from.bytes_received,
                     from.collectives};
  return process;
}

// An archive may define a region several times.
class RegionSums {
 public:
  void add(const reader::RegionInfo& info, const ProcessTotals::Region& part) {
    if (part.calls == 0) return;
    RunTotals::Region& region = regions_[{info.name, info.file, info.line}];
    region.name = info.name;
    region.file = info.file;
    region.line = info.line;
    region.calls += part.calls;
    region.inclusive_ns += part.inclusive_ns;
    region.exclusive_ns += part.exclusive_ns;
  }
  std::vector<RunTotals::Region> take() {
    std::vector<RunTotals::Region> sorted;
    sorted.reserve(regions_.size());
    for (auto& [key, region] : regions_) sorted.push_back(std::move(region));
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return a.exclusive_ns > b.exclusive_ns;
    });
    return sorted;
  }

 private:
  std::map<std::tuple<std::string, std::string, std::uint32_t>, RunTotals::Region> regions_;
};

RunTotals totals_of(const std::vector<std::optional<ProcessTotals>>& all,
                    const reader::TraceDefinitions& definitions) {
  RunTotals totals;
  totals.traffic.bytes_received = totals.traffic.collectives = 0;
  RegionSums regions;
  for (std::size_t i = 0; i < all.size(); ++i) {
    RunTotals::Process process;
    if (all[i]) {
      process = process_of(*all[i]);
      ++totals.summaries;
      totals.calls += process.calls;
      totals.calls_without_region += process.calls_without_region;
      totals.ns_without_region += all[i]->other_ns;
      add(totals.traffic, process.traffic);
      for (std::size_t j = 0; j < all[i]->regions.size(); ++j)
        regions.add(definitions.regions[j], all[i]->regions[j]);
    }
    process.name = definitions.processes[i].name;
    totals.processes.push_back(std::move(process));
  }
  totals.regions = regions.take();
  return totals;
}

}  // namespace

base::Result<RunTotals> read_run_totals(const std::string& folder,
                                        const reader::TraceDefinitions& definitions) {
  try {
    const auto summaries = summary::read_summaries(folder);
    if (!summaries) throw std::runtime_error(summaries.error());
    return totals_of(process_totals(*summaries, definitions), definitions);
  } catch (const std::exception& problem) {
    const std::string why = problem.what();
    return base::Failure{why.starts_with(folder) ? why : folder + ": " + why};
  }
}

base::Result<RunTotals> read_run_totals(const std::string& path) {
  reader::ArchiveStream stream;
  base::Result<> done = stream.open_anchor(path);
  if (done) done = stream.read_definitions(reader::DefinitionChoice::kWithoutGroups);
  if (!done) return done.failure();
  return read_run_totals(base::archive_folder(path), stream.definitions());
}

}  // namespace refrain::analysis
