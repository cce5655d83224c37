#include "analysis/run_totals.h"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/archive_files.h"
#include "base/mpi_roles.h"
#include "base/notes.h"
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

void add_files(const std::vector<summary::RunSummary>& summaries, RunTotals& totals) {
  std::map<std::string, RunTotals::File> files;
  for (const summary::RunSummary& summary : summaries) {
    if (summary.process >= totals.processes.size()) continue;
    for (const base::UsedFile& used : summary.files) {
      RunTotals::File& file = files[used.path];
      file.use.add(used.use);
      ++file.processes;
      if (used.use.ns() <= file.most_ns) continue;
      file.most_ns = used.use.ns();
      file.most = totals.processes[summary.process].name;
    }
  }
  for (auto& [path, file] : files) {
    file.path = path;
    totals.files.push_back(std::move(file));
  }
  std::ranges::stable_sort(totals.files, std::greater(),
                           [](const RunTotals::File& file) { return file.use.ns(); });
}

class AllocationSums {
 public:
  explicit AllocationSums(RunTotals& totals) : totals_(totals), out_(totals.allocations) {}

  void add(const summary::RunSummary& summary) {
    const base::MemoryCalls& from = summary.allocations;
    if (from.from_bytes == 0 || summary.process >= totals_.processes.size()) return;
    RunTotals::Process& process = totals_.processes[summary.process];
    process.allocations_counted = true;
    process.allocations = from.allocations();
    process.allocated_bytes = from.bytes();
    process.high_water_bytes = from.high_water_bytes;
    process.left_bytes = from.current_bytes;
    add(from);
    if (++out_.processes == 1 || from.high_water_bytes > out_.sums.high_water_bytes) {
      out_.sums.high_water_bytes = from.high_water_bytes;
      out_.most = process.name;
      out_.most_s = from.high_water_ticks < summary.begin
                        ? -1
                        : static_cast<double>(from.high_water_ticks - summary.begin) /
                              summary.ticks_per_second;
      out_.holders = base::memory_holders(from, &base::MemoryUse::high_water_bytes);
    }
    for (const base::MemoryHolder& holder :
         base::memory_holders(from, &base::MemoryUse::current_bytes))
      left_[holder.text] += holder.bytes;
    for (const base::AllocatingPath& path : from.paths) add(path, from, process.name);
  }

  void finish() {
    for (const auto& [text, bytes] : left_) out_.left.push_back({text, bytes});
    std::ranges::stable_sort(out_.left, std::greater(), &base::MemoryHolder::bytes);
    for (auto& [frames, path] : paths_) out_.paths.push_back(std::move(path));
    std::ranges::stable_sort(out_.paths, std::greater(),
                             [](const RunTotals::AllocatingPath& path) {
                               return std::tuple(path.use.high_water_bytes,
                                                 path.use.current_bytes, path.use.bytes);
                             });
  }

 private:
  void add(const base::MemoryCalls& from) {
    base::MemoryCalls& sums = out_.sums;
    sums.from_bytes = std::max(sums.from_bytes, from.from_bytes);
    for (std::size_t i = 0; i < sums.calls.size(); ++i) sums.calls[i] += from.calls[i];
    for (std::size_t i = 0; i < sums.sizes.size(); ++i) {
      sums.sizes[i].calls += from.sizes[i].calls;
      sums.sizes[i].bytes += from.sizes[i].bytes;
    }
    for (const auto value :
         {&base::MemoryCalls::failed, &base::MemoryCalls::current_bytes,
          &base::MemoryCalls::unknown_frees, &base::MemoryCalls::untracked})
      sums.*value += from.*value;
    sums.small.add(from.small);
    sums.rest.add(from.rest);
  }

  void add(const base::AllocatingPath& from, const base::MemoryCalls& calls,
           const std::string& process) {
    std::vector<base::CallingPlace> frames;
    frames.reserve(from.frames.size());
    for (const std::uint32_t frame : from.frames) frames.push_back(calls.places[frame]);
    RunTotals::AllocatingPath& path = paths_[frames];
    path.frames = std::move(frames);
    path.at = from.at;
    path.use.add(from.use);
    ++path.processes;
    if (path.processes != 1 && from.use.high_water_bytes <= path.most_bytes) return;
    path.most = process;
    path.most_bytes = from.use.high_water_bytes;
  }

  RunTotals& totals_;
  RunTotals::Allocations& out_;
  std::map<std::string, std::uint64_t> left_;
  std::map<std::vector<base::CallingPlace>, RunTotals::AllocatingPath> paths_;
};

}  // namespace

namespace {

double time_of(const summary::RunSummary& summary,
               const summary::RunSummary::Location& location) {
  std::uint64_t ticks = summary.end - std::min(summary.begin, summary.end);
  if (location.only_in_regions()) {
    ticks = location.outside.time_elsewhere;
    for (std::size_t i = 0; i < std::min(location.sums.size(), summary.nodes.size()); ++i)
      if (summary.nodes[i].parent == summary::RunSummary::kNone)
        ticks += location.sums[i].time;
  }
  return static_cast<double>(ticks) * 1e9 / summary.ticks_per_second;
}

}  // namespace

base::Result<RunTotals> read_run_totals(const std::string& folder,
                                        const reader::TraceDefinitions& definitions) {
  const auto said = [&](const std::string& why) {
    return base::Failure{why.starts_with(folder) ? why : folder + ": " + why};
  };
  const auto summaries = summary::read_summaries(folder);
  if (!summaries) return said(summaries.error());
  RunTotals totals = totals_of(process_totals(*summaries, definitions), definitions);
  for (const summary::RunSummary& summary : *summaries) {
    if (summary.process >= totals.processes.size()) continue;
    RunTotals::Process& process = totals.processes[summary.process];
    if (!process.counted) continue;
    if (!summary.complete && !summary.exited) ++totals.killed;
    process.peak_memory_bytes = summary.peak_memory_bytes;
    process.memory_bytes = summary.memory_bytes;
    for (const summary::RunSummary::Location& location : summary.locations) {
      process.use.add(location.use);
      if (location.use.core_ns == 0) continue;
      ++process.threads;
      process.threads_ns += time_of(summary, location);
    }
  }
  add_files(*summaries, totals);
  AllocationSums allocations(totals);
  for (const summary::RunSummary& summary : *summaries) allocations.add(summary);
  allocations.finish();
  return totals;
}

base::Result<RunTotals> read_run_totals(const std::string& path) {
  reader::ArchiveStream stream;
  base::Result<> done = stream.open_anchor(path);
  if (done) done = stream.read_definitions(reader::DefinitionChoice::kWithoutGroups);
  if (!done) return done.failure();
  return read_run_totals(base::archive_folder(path), stream.definitions());
}

}  // namespace refrain::analysis

namespace refrain::analysis {
namespace {

using reader::TraceDefinitions;
using summary::RunSummary;
using SummaryKind = RunSummary::Kind;

bool is_collective_role(OTF2_RegionRole role) {
  return role == OTF2_REGION_ROLE_BARRIER || role == OTF2_REGION_ROLE_COLL_ONE2ALL ||
         role == OTF2_REGION_ROLE_COLL_ALL2ONE || role == OTF2_REGION_ROLE_COLL_ALL2ALL ||
         role == OTF2_REGION_ROLE_COLL_OTHER;
}

// What makes a communicator or a window of all members of another one is a collective in the
// archive, too.
bool is_made_together(std::string_view name) {
  static constexpr std::array kNames = {
      std::string_view("MPI_Cart_create"),
      std::string_view("MPI_Cart_sub"),
      std::string_view("MPI_Comm_create"),
      std::string_view("MPI_Comm_dup"),
      std::string_view("MPI_Comm_dup_with_info"),
      std::string_view("MPI_Comm_split"),
      std::string_view("MPI_Comm_split_type"),
      std::string_view("MPI_Dist_graph_create"),
      std::string_view("MPI_Dist_graph_create_adjacent"),
      std::string_view("MPI_Graph_create"),
      std::string_view("MPI_Win_allocate"),
      std::string_view("MPI_Win_allocate_shared"),
      std::string_view("MPI_Win_create"),
      std::string_view("MPI_Win_create_dynamic"),
  };
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

enum class Collective : std::uint8_t { kNo, kBlocking, kNonBlocking, kPersistent };

Collective collective_of(const RunSummary::Region& region) {
  if (region.paradigm != OTF2_PARADIGM_MPI) return Collective::kNo;
  std::string_view name = region.name;
  if (name.ends_with("_c")) name.remove_suffix(2);
  if (is_made_together(name)) return Collective::kBlocking;
  if (!is_collective_role(base::role_of_mpi(name))) return Collective::kNo;
  if (name.ends_with("_init")) return Collective::kPersistent;
  return name.starts_with("MPI_I") ? Collective::kNonBlocking : Collective::kBlocking;
}

bool completes_requests(std::string_view name) {
  return name.starts_with("MPI_Wait") || name.starts_with("MPI_Test");
}

class Totals {
 public:
  Totals(const RunSummary& summary, const TraceDefinitions& definitions)
      : summary_(summary), definitions_(definitions), ns_(1e9 / summary.ticks_per_second) {
    totals_.regions.resize(definitions.regions.size());
    for (const RunSummary::Region& region : summary.regions)
      regions_.push_back(find(region));
    arrange();
  }

  ProcessTotals take(const std::vector<std::uint32_t>& locations) {
    const reader::LocationInfo& first = definitions_.locations[locations.front()];
    totals_.threads.resize(definitions_.processes[first.process].locations.size());
    for (std::size_t i = 0; i < locations.size(); ++i)
      add(summary_.locations[i],
          totals_.threads[definitions_.locations[locations[i]].thread]);
    add_messages();
    return std::move(totals_);
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw std::runtime_error("belongs to another archive: " + what);
  }

  std::uint32_t find(const RunSummary::Region& region) const {
    if (region.reference == RunSummary::kNone) return reader::kNone;
    const std::uint32_t index = definitions_.region_table.of(region.reference);
    if (index == reader::kNone)
      fail("it has no region " + std::to_string(region.reference));
    // What is no UTF-8 in a name was replaced in the summary.
    if (definitions_.regions[index].name != region.name &&
        region.name.find("\xef\xbf\xbd") == std::string::npos)
      fail("its region " + std::to_string(region.reference) + " has another name");
    return index;
  }

  // Parents, and which nodes are the outermost of their region.
  void arrange() {
    const std::size_t size = summary_.nodes.size();
    around_.resize(size, reader::kNone);
    outermost_.resize(size, false);
    std::vector<std::vector<std::uint32_t>> children(size);
    std::vector<std::uint32_t> roots;
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t parent = summary_.nodes[i].parent;
      (parent == RunSummary::kNone ? roots : children[parent]).push_back(i);
      if (parent == RunSummary::kNone) continue;
      around_[i] =
          summary_.nodes[parent].kind == SummaryKind::kFork ? around_[parent] : parent;
    }
    std::vector<std::uint32_t> open(definitions_.regions.size());
    struct Step {
      std::uint32_t node;
      bool leave;
    };
    std::vector<Step> steps;
    steps.reserve(roots.size());
    for (const std::uint32_t root : roots) steps.push_back({root, false});
    while (!steps.empty()) {
      const Step step = steps.back();
      steps.pop_back();
      const std::uint32_t region = region_of(step.node);
      if (step.leave) {
        --open[region];
        continue;
      }
      if (region != reader::kNone) {
        outermost_[step.node] = open[region]++ == 0;
        steps.push_back({step.node, true});
      }
      for (const std::uint32_t child : children[step.node]) steps.push_back({child, false});
    }
  }

  // reader::kNone: which one is not known, or it opens a team.
  std::uint32_t region_of(std::size_t node) const {
    const RunSummary::Node& from = summary_.nodes[node];
    if (from.kind != SummaryKind::kRegion || from.region == RunSummary::kNone)
      return reader::kNone;
    return regions_[from.region];
  }

  void add(const RunSummary::Location& location, ProcessTotals::Thread& thread) {
    const std::size_t size = summary_.nodes.size();
    std::vector<double> own(size);
    add_elsewhere(location.outside);
    for (std::size_t i = 0; i < size; ++i) {
      const RunSummary::Sums& sums = location.sums[i];
      const double elsewhere = time_elsewhere(sums);
      add_elsewhere(sums);
      const bool fork = summary_.nodes[i].kind == SummaryKind::kFork;
      const double ns = fork ? 0 : static_cast<double>(sums.time) * ns_;
      const std::uint32_t around = around_[i];
      if (!fork) own[i] += ns - elsewhere;
      const double taken = fork ? elsewhere : ns;
      if (around != reader::kNone) own[around] -= taken;
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (summary_.nodes[i].kind == SummaryKind::kFork) continue;
      add_node(i, location.sums[i], std::max(0.0, own[i]), thread);
    }
  }

  void add_node(std::size_t node, const RunSummary::Sums& sums, double own_ns,
                ProcessTotals::Thread& thread) {
    thread.calls += sums.visits;
    const auto calls = static_cast<double>(sums.visits);
    const std::uint32_t index = region_of(node);
    if (index == reader::kNone) {
      totals_.other_calls += calls;
      totals_.other_ns += own_ns;
      return;
    }
    ProcessTotals::Region& region = totals_.regions[index];
    region.calls += calls;
    region.exclusive_ns += own_ns;
    if (outermost_[node]) region.inclusive_ns += static_cast<double>(sums.time) * ns_;
  }

  double time_elsewhere(const RunSummary::Sums& sums) const {
    return static_cast<double>(sums.time_elsewhere) * ns_;
  }
  void add_elsewhere(const RunSummary::Sums& sums) {
    totals_.other_calls += static_cast<double>(sums.regions_elsewhere);
    totals_.other_ns += time_elsewhere(sums);
  }

  // Bytes of collectives are those of their calls, or, where they do not block, of the calls
  // that complete them.
  void add_messages() {
    double collectives = 0, received = 0, completed = 0;
    bool persistent = false, pending = false;
    for (std::size_t i = 0; i < summary_.nodes.size(); ++i) {
      const RunSummary::Node& node = summary_.nodes[i];
      if (node.kind == SummaryKind::kFork) continue;
      const Collective collective = node.region == RunSummary::kNone
                                        ? Collective::kNo
                                        : collective_of(summary_.regions[node.region]);
      const bool completes = node.region != RunSummary::kNone &&
                             completes_requests(summary_.regions[node.region].name);
      persistent = persistent || collective == Collective::kPersistent;
      pending = pending || collective == Collective::kNonBlocking;
      for (const RunSummary::Location& location : summary_.locations) {
        const RunSummary::Sums& sums = location.sums[i];
        if (collective != Collective::kNo) collectives += static_cast<double>(sums.visits);
        totals_.sends += static_cast<double>(sums.messages_sent);
        totals_.receives += static_cast<double>(sums.messages_received);
        if (sums.messages_sent != 0)
          totals_.bytes_sent += static_cast<double>(sums.bytes_sent);
        if (sums.messages_received == 0) continue;
        (completes ? completed : received) += static_cast<double>(sums.bytes_received);
      }
    }
    const bool mixed = (persistent || pending) && completed != 0;
    if (!mixed) totals_.bytes_received = received + completed;
    if (!persistent) totals_.collectives = collectives;
  }

  const RunSummary& summary_;
  const TraceDefinitions& definitions_;
  double ns_;  // of a tick
  ProcessTotals totals_;
  std::vector<std::uint32_t> regions_;  // of the summary: index in the archive
  std::vector<std::uint32_t> around_;   // by node: the one around it that is no fork
  std::vector<bool> outermost_;
};

// The summary's locations: all of one process, each once.
struct FoundLocations {
  std::vector<std::uint32_t> indices;  // in the order of the summary
  std::vector<bool> threads;           // of the process: whether it is one of them
};

FoundLocations locations_of(const RunSummary& summary, const TraceDefinitions& definitions,
                            const reader::RefTable& references) {
  FoundLocations found;
  for (const RunSummary::Location& location : summary.locations) {
    const std::uint32_t index = references.of(location.reference);
    if (index == reader::kNone ||
        (!found.indices.empty() && definitions.locations[found.indices.front()].process !=
                                       definitions.locations[index].process))
      throw std::runtime_error("belongs to another archive: it has no location " +
                               std::to_string(location.reference) + " in that process");
    const reader::LocationInfo& known = definitions.locations[index];
    found.threads.resize(definitions.processes[known.process].locations.size());
    if (found.threads[known.thread])
      throw std::runtime_error("has location " + std::to_string(location.reference) +
                               " twice");
    found.threads[known.thread] = true;
    found.indices.push_back(index);
  }
  return found;
}

}  // namespace

std::vector<std::optional<ProcessTotals>> process_totals(
    const std::vector<RunSummary>& summaries, const TraceDefinitions& definitions) {
  std::vector<std::optional<ProcessTotals>> totals(definitions.processes.size());
  reader::RefTable references;
  for (std::uint32_t i = 0; i < definitions.locations.size(); ++i)
    references.add(definitions.locations[i].ref, i);
  for (const RunSummary& summary : summaries) {
    if (summary.locations.empty()) continue;
    try {
      const auto [locations, threads] = locations_of(summary, definitions, references);
      const std::uint32_t process = definitions.locations[locations.front()].process;
      if (totals[process])
        throw std::runtime_error("is of a process that has another summary");
      const auto& all = definitions.processes[process].locations;
      bool covered = true;
      for (const std::uint32_t index : all) {
        const reader::LocationInfo& location = definitions.locations[index];
        covered = covered && (location.events == 0 || !location.is_thread() ||
                              threads[location.thread]);
      }
      if (covered) totals[process] = Totals(summary, definitions).take(locations);
    } catch (const std::exception& problem) {
      base::note(definitions.archive + ": the summary of process " +
                 std::to_string(summary.process) + " " + problem.what() +
                 "; its totals are missing in what follows");
    }
  }
  return totals;
}

}  // namespace refrain::analysis
