#include "cube/summary_experiment.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/version.h"
#include "cube/job_paths.h"

namespace refrain::cube {
namespace {

using summary::RunSummary;

enum MetricNumber : std::uint32_t {
  kVisits,
  kTime,
  kMinimumTime,
  kMaximumTime,
  kBytesSent,
  kBytesReceived,
};

// As Score-P's; those of messages only where there is MPI.
std::vector<Metric> metrics_of(bool messages) {
  using Type = Metric::Type;
  std::vector<Metric> metrics = {
      {"visits", "Visits", "occ", "Number of visits", Type::kCount, false},
      {"time", "Time", "sec", "Total CPU allocation time", Type::kSeconds, true},
      {"min_time", "Minimum Inclusive Time", "sec", "Minimum inclusive CPU allocation time",
       Type::kMinimum, false},
      {"max_time", "Maximum Inclusive Time", "sec", "Maximum inclusive CPU allocation time",
       Type::kMaximum, false},
  };
  if (!messages) return metrics;
  metrics.push_back(
      {"bytes_sent", "bytes_sent", "bytes", "Bytes sent", Type::kCount, false});
  metrics.push_back(
      {"bytes_received", "bytes_received", "bytes", "Bytes received", Type::kCount, false});
  return metrics;
}

bool has_messages(const RunSummary& process) {
  if (process.rank != RunSummary::kNone) return true;
  for (const RunSummary::Location& location : process.locations)
    for (const RunSummary::Sums& sums : location.sums)
      if (sums.bytes_sent != 0 || sums.bytes_received != 0) return true;
  return false;
}

class Builder {
 public:
  explicit Builder(std::span<const RunSummary> processes) : processes_(processes) {}

  Experiment take() {
    out_.creator = std::string("Refrain ") + kVersion;
    out_.machine = "machine Linux";
    out_.metrics =
        metrics_of(std::any_of(processes_.begin(), processes_.end(), has_messages));
    CallPaths call_paths(out_);
    for (const RunSummary& process : processes_) {
      paths_.push_back(call_paths.add(process));
      add_system(process);
    }
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      add_values(processes_[i], paths_[i], first);
      first += static_cast<std::uint32_t>(processes_[i].locations.size());
    }
    return std::move(out_);
  }

 private:
  void add_system(const RunSummary& process) {
    const auto number = static_cast<std::uint32_t>(out_.processes.size());
    const auto next = static_cast<std::uint32_t>(out_.nodes.size());
    const auto [node, is_new] = nodes_.try_emplace(process.host, next);
    if (is_new)
      out_.nodes.push_back(process.host.empty() ? "node" : "node " + process.host);
    const bool mpi = process.rank != RunSummary::kNone;
    out_.processes.push_back(
        {mpi ? "MPI Rank " + std::to_string(process.rank) : std::string("Process"),
         mpi ? process.rank : number, node->second});
    std::uint32_t index = 0;
    for (const RunSummary::Location& location : process.locations)
      out_.locations.push_back({thread_name(process, location), index++, number});
  }

  // A thread that is in a parallel region before any other one is a worker.
  static std::string thread_name(const RunSummary& process,
                                 const RunSummary::Location& location) {
    if (location.primary) return "Master thread";
    const std::string number = std::to_string(location.number);
    for (std::size_t i = 0; i < process.nodes.size() && i < location.sums.size(); ++i) {
      const RunSummary::Node& node = process.nodes[i];
      if (node.parent == RunSummary::kNone && node.kind == RunSummary::Kind::kRegion &&
          node.region < process.regions.size() && location.sums[i].visits != 0 &&
          process.regions[node.region].paradigm == OTF2_PARADIGM_OPENMP)
        return "OMP thread " + number;
    }
    return "Thread " + number;
  }

  void add_values(const RunSummary& process, const ProcessPaths& paths,
                  std::uint32_t location) {
    const std::uint64_t ticks =
        process.end > process.begin ? process.end - process.begin : 0;
    const double run_time = static_cast<double>(ticks) / process.ticks_per_second;
    for (const RunSummary::Location& from : process.locations) {
      out_.add(kTime, paths.program, location,
               from.helper ? time_in_regions(process, from) : run_time);
      if (from.primary) {
        out_.add(kVisits, paths.program, location, std::uint64_t{1});
        out_.add(kMinimumTime, paths.program, location, run_time);
        out_.add(kMaximumTime, paths.program, location, run_time);
      }
      add_elsewhere(from.outside, paths.other.back(), location, process.ticks_per_second);
      for (std::size_t i = 0; i < from.sums.size() && i < process.nodes.size(); ++i)
        add_node(process, paths, i, from.sums[i], location);
      ++location;
    }
  }

  static double time_in_regions(const RunSummary& process,
                                const RunSummary::Location& location) {
    std::uint64_t ticks = location.outside.time_elsewhere;
    for (std::size_t i = 0; i < location.sums.size() && i < process.nodes.size(); ++i)
      if (process.nodes[i].parent == RunSummary::kNone) ticks += location.sums[i].time;
    return static_cast<double>(ticks) / process.ticks_per_second;
  }

  void add_node(const RunSummary& process, const ProcessPaths& paths, std::size_t node,
                const RunSummary::Sums& sums, std::uint32_t location) {
    const std::uint32_t path = paths.of_node[node];
    const double second = process.ticks_per_second;
    add_elsewhere(sums, paths.other[node], location, second);
    if (out_.metrics.size() > kBytesSent) {
      out_.add(kBytesSent, path, location, sums.bytes_sent);
      out_.add(kBytesReceived, path, location, sums.bytes_received);
    }
    if (process.nodes[node].kind == RunSummary::Kind::kFork) return;
    out_.add(kVisits, path, location, sums.visits);
    const double time = static_cast<double>(sums.time) / second;
    add_time(path, location, time);
    if (process.nodes[node].parent == RunSummary::kNone)
      add_above(path, paths, location, time);
    if (sums.visits == 0) return;
    out_.add(kMinimumTime, path, location, static_cast<double>(sums.least) / second);
    out_.add(kMaximumTime, path, location, static_cast<double>(sums.greatest) / second);
  }

  // What a worker thread did counts for the call paths that lead there, too; it has not visited them.
  void add_above(std::uint32_t path, const ProcessPaths& paths, std::uint32_t location,
                 double time) {
    for (path = out_.paths[path].parent; path != paths.program && path != kNone;
         path = out_.paths[path].parent)
      add_time(path, location, time);
  }

  void add_elsewhere(const RunSummary::Sums& sums, std::uint32_t path,
                     std::uint32_t location, double second) {
    if (path == kNone) return;
    out_.add(kVisits, path, location, sums.regions_elsewhere);
    add_time(path, location, static_cast<double>(sums.time_elsewhere) / second);
  }

  void add_time(std::uint32_t path, std::uint32_t location, double time) {
    if (time > 0) out_.add(kTime, path, location, time);
  }

  std::span<const RunSummary> processes_;
  Experiment out_;
  std::vector<ProcessPaths> paths_;
  std::map<std::string, std::uint32_t> nodes_;  // by host
};

}  // namespace

Experiment experiment_of(std::span<const summary::RunSummary> processes) {
  return Builder(processes).take();
}

}  // namespace refrain::cube
