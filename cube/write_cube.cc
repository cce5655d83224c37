#include "cube/write_cube.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/version.h"
#include "cube/cubex_file.h"
#include "cube/experiment.h"
#include "summary/run_summary.h"

namespace refrain::cube {

base::Result<> write_cube(const std::string& archive, const std::string& file) {
  try {
    const auto processes = summary::read_summaries(archive);
    if (!processes) return processes.failure();
    if (processes->empty()) return base::Failure{archive + " has no summary"};
    return write_cube(*processes, file);
  } catch (const std::exception& problem) {
    return base::Failure{problem.what()};
  }
}

base::Result<> write_cube(std::span<const summary::RunSummary> processes,
                          const std::string& file) {
  return write_cubex(experiment_of(processes), file);
}

}  // namespace refrain::cube

namespace refrain::cube {
namespace {

using summary::RunSummary;

// Call paths of all processes in one tree: which one a node of a process' summary is.
//
// Thread-safety: none.

// The call paths of one process.
struct ProcessPaths {
  PathId program;
  std::vector<PathId> of_node;  // of a fork: that of what lies around it
  // Below a node, for what found no place there; kNone: everything did. Last: outside of all regions.
  std::vector<PathId> other;
};

class CallPaths {
 public:
  explicit CallPaths(Experiment& experiment) : experiment_(experiment) {}

  ProcessPaths add(const summary::RunSummary& process);

 private:
  PathId path(PathId parent, RegionId region);
  RegionId region(const Region& region);
  RegionId other_region();

  Experiment& experiment_;
  std::map<std::pair<PathId, RegionId>, PathId> paths_;
  std::map<std::tuple<std::string, std::string, std::string, std::uint32_t, std::string,
                      std::string>,
           RegionId>
      regions_;
};

std::string last_part(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

// Where the nodes of a process lie. A node under no other one that is a parallel region is the part of a
// worker thread: it lies where the forks of that region lie.
class Places {
 public:
  template <typename Path>
  Places(const RunSummary& process, PathId program, Path path)
      : process_(process), program_(program), of_(process.nodes.size(), PathId(kNone)) {
    for (std::uint32_t i = 0; i < process.nodes.size(); ++i)
      if (process.nodes[i].kind == RunSummary::Kind::kFork)
        forks_[process.nodes[i].region].push_back(i);
    for (std::uint32_t i = 0; i < process.nodes.size(); ++i) resolve(i, path);
  }

  std::vector<PathId> take() { return std::move(of_); }

 private:
  // Recursion only from a worker's part to the forks of its region, each once.
  template <typename Path>
  void resolve(std::uint32_t node, Path path) {
    std::vector<std::uint32_t> chain;
    for (; node != kNone && of_[node] == kNone; node = process_.nodes[node].parent)
      chain.push_back(node);
    for (; !chain.empty(); chain.pop_back()) {
      const RunSummary::Node& here = process_.nodes[chain.back()];
      const bool fork = here.kind == RunSummary::Kind::kFork;
      PathId parent = program_;
      if (here.parent != kNone)
        parent = of_[here.parent];
      else if (!fork)
        parent = opened_at(chain.back(), path);
      of_[chain.back()] = fork ? parent : path(parent, here);
    }
  }

  template <typename Path>
  PathId opened_at(std::uint32_t node, Path path) {
    const auto forks = forks_.find(process_.nodes[node].region);
    if (process_.nodes[node].kind != RunSummary::Kind::kRegion || forks == forks_.end())
      return program_;
    if (!open_.insert(node).second) return program_;
    std::set<PathId> places;
    for (const std::uint32_t fork : forks->second) {
      if (open_.contains(top_of(fork))) continue;
      resolve(fork, path);
      places.insert(of_[fork]);
    }
    open_.erase(node);
    return places.size() == 1 ? *places.begin() : program_;
  }

  std::uint32_t top_of(std::uint32_t node) const {
    while (process_.nodes[node].parent != kNone) node = process_.nodes[node].parent;
    return node;
  }

  const RunSummary& process_;
  const PathId program_;
  std::vector<PathId> of_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> forks_;  // by region
  std::set<std::uint32_t> open_;                               // being resolved
};

Region region_of(const RunSummary::Region& from) {
  return {.name = from.name,
          .canonical = from.canonical.empty() ? from.name : from.canonical,
          .file = from.file,
          .line = from.line,
          .paradigm = paradigm_word(from.paradigm),
          .role = role_word(from.role)};
}

RegionId CallPaths::region(const Region& region) {
  const RegionId next(experiment_.regions.size());
  const auto [at, is_new] =
      regions_.try_emplace(std::tuple{region.name, region.canonical, region.file,
                                      region.line, region.paradigm, region.role},
                           next);
  if (is_new) experiment_.regions.push_back(region);
  return at->second;
}

RegionId CallPaths::other_region() {
  return region({.name = "other",
                 .canonical = "other",
                 .file = "",
                 .line = 0,
                 .paradigm = "measurement",
                 .role = "artificial"});
}

PathId CallPaths::path(PathId parent, RegionId region) {
  const PathId next(experiment_.paths.size());
  const auto [at, is_new] = paths_.try_emplace(std::pair{parent, region}, next);
  if (is_new) experiment_.paths.push_back({parent, region});
  return at->second;
}

ProcessPaths CallPaths::add(const RunSummary& process) {
  ProcessPaths paths;
  paths.program = path(PathId(kNone), region({.name = last_part(process.program),
                                              .canonical = process.program,
                                              .file = "",
                                              .line = 0,
                                              .paradigm = "measurement",
                                              .role = "artificial"}));
  paths.of_node =
      Places(process, paths.program,
             [this, &process](PathId parent, const RunSummary::Node& node) {
               const bool known = node.kind == RunSummary::Kind::kRegion &&
                                  node.region < process.regions.size();
               return path(parent, known ? region(region_of(process.regions[node.region]))
                                         : other_region());
             })
          .take();
  paths.other.assign(process.nodes.size() + 1, PathId(kNone));
  for (const RunSummary::Location& location : process.locations) {
    for (std::size_t i = 0; i < location.sums.size() && i < process.nodes.size(); ++i)
      if (location.sums[i].regions_elsewhere != 0)
        paths.other[i] = path(paths.of_node[i], other_region());
    if (location.outside.regions_elsewhere != 0)
      paths.other.back() = path(paths.program, other_region());
  }
  return paths;
}

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
    std::size_t first = 0;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      add_values(processes_[i], paths_[i], LocationId(first));
      first += processes_[i].locations.size();
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
                  LocationId location) {
    const std::uint64_t ticks =
        process.end > process.begin ? process.end - process.begin : 0;
    const double run_time = static_cast<double>(ticks) / process.ticks_per_second;
    for (const RunSummary::Location& from : process.locations) {
      out_.add(kTime, paths.program, location,
               from.only_in_regions() ? time_in_regions(process, from) : run_time);
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
                const RunSummary::Sums& sums, LocationId location) {
    const PathId path = paths.of_node[node];
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
  void add_above(PathId path, const ProcessPaths& paths, LocationId location, double time) {
    for (path = PathId(out_.paths[path].parent); path != paths.program && path != kNone;
         path = PathId(out_.paths[path].parent))
      add_time(path, location, time);
  }

  void add_elsewhere(const RunSummary::Sums& sums, PathId path, LocationId location,
                     double second) {
    if (path == kNone) return;
    out_.add(kVisits, path, location, sums.regions_elsewhere);
    add_time(path, location, static_cast<double>(sums.time_elsewhere) / second);
  }

  void add_time(PathId path, LocationId location, double time) {
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
