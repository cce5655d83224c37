// What made the program wait: severities by metric, call path and location, of all processes.
//
// Place in the flow: ARCHITECTURE.md, stage 6: the result of replay.h, for findings.h, wait_experiment.h and
// `refrain analyze`. Thread-safety: plain values; analyze_archive() once a process at a time (libotf2's error callback).
// Shapes: call paths of all processes in one tree, in the order of processes and of their first appearance; path 0 is
// the program. A value is exclusive in the tree of metrics and in the call tree: their sum is the time of all locations.
// Units: ticks of the archive's clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/reserve_tightly.h"
#include "base/result.h"
#include "reader/archive_shares.h"
#include "reader/archive_stream.h"
#include "waits/metrics/metric.h"
#include "waits/metrics/pattern.h"
#include "waits/paths/records.h"
#include "waits/paths/sweep.h"
#include "waits/replay/replay.h"
#include "waits/replay/replay_state.h"

namespace refrain::waits {

// Values of some locations; those of all others are Value().
//
// Thread-safety: a plain value. Memory: of those that are there. Cost: at() is O(1) in the order of locations, else it moves
// those behind; operator[] searches.

template <typename Value>
class ByLocation {
 public:
  struct Entry {
    LocationId location{};
    Value value{};
    bool operator==(const Entry&) const = default;
  };

  const Value& operator[](std::size_t location) const {
    static const Value kOther{};
    const auto found = place(location);
    return found != entries_.end() && found->location == location ? found->value : kOther;
  }
  // Made if it is not there.
  Value& at(LocationId location) {
    if (entries_.empty() || entries_.back().location < location) {
      base::reserve_tightly(entries_);
      return entries_.emplace_back(Entry{location, {}}).value;
    }
    const auto found = entries_.begin() + (place(location) - entries_.cbegin());
    if (found->location == location) return found->value;
    return entries_.insert(found, Entry{location, {}})->value;
  }
  bool empty() const { return entries_.empty(); }
  // In the order of locations.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool operator==(const ByLocation&) const = default;

 private:
  auto place(std::size_t location) const {
    return std::ranges::lower_bound(entries_, location, {}, [](const Entry& entry) {
      return std::size_t{entry.location};
    });
  }
  std::vector<Entry> entries_;
};

// Rows of some call paths; those of all others are empty. Memory: of those that are there.
template <typename Row>
class ByCallPath {
 public:
  const Row& operator[](std::size_t path) const {
    static const Row kEmpty{};
    const auto found = rows_.find(static_cast<std::uint32_t>(path));
    return found == rows_.end() ? kEmpty : found->second;
  }
  // Made if it is not there.
  Row& at(PathId path) { return rows_[path]; }
  // Pairs of path and row, in any order.
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  bool operator==(const ByCallPath&) const = default;

 private:
  std::unordered_map<std::uint32_t, Row> rows_;
};

struct WaitAnalysis {
  struct Region {
    std::string name;
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t role = 0;             // OTF2_RegionRole
    std::uint32_t paradigm = 0;         // OTF2_Paradigm
    std::uint32_t metric = kExecution;  // of its time
  };
  struct Path {
    PathId parent{kNone};
    RegionId region{kNone};  // kNone: the program
    std::string site;        // "file:line", where it is known
  };
  struct Process {
    std::string name;
    std::string node;
    std::uint32_t rank = kNone;
    Ticks begin = 0, end = 0;
  };
  struct Location {
    std::string name;
    ProcessId process{};
    std::uint32_t number = 0;  // in its process
    bool helper = false;       // one of the OpenMP runtime's own
    bool temporary = false;    // of threads that the program begins itself
  };
  // Waits of a kind at a path, and the location whose time on another path caused them directly.
  struct Cause {
    paths::WaitKind kind{};
    PathId path{};
    LocationId causer{};  // location
    PathId causer_path{};
    double ticks = 0;
  };
  // A Cartesian communicator.
  struct Grid {
    std::string name;
    std::vector<std::uint32_t> sizes;
    std::vector<bool> periodic;
    std::vector<ProcessId> processes;  // row by row: the last dimension is the fastest
  };
  using Row = ByLocation<Ticks>;
  // Of the calls of a path on a location: how many, their own time, and its squares in units of `unit`. Of those
  // without a message (metric.h) the squares are left out.
  struct Calls {
    std::uint64_t visits = 0;
    Ticks own = 0;
    std::uint64_t squares = 0;
    std::uint64_t without_message = 0;
    Ticks own_without_message = 0;
    bool operator==(const Calls&) const = default;
  };

  // Of the whole run, in seconds over all paths and locations, with the metric's children (estimates.h). `error`: the
  // standard error of the estimate.
  struct Estimate {
    double seen = 0;
    double whole = 0;
    // The standard error; 0: not known (of an estimate), or none (`exact`).
    double error = 0;
    bool exact = false;  // `whole` was counted
    double least = 0;
    double most = 0;
    // `whole` by call path, as far as something of the path is written; of metrics whose waits are findings.
    std::vector<double> paths;
  };

  std::string program;
  std::string creator;
  bool of_refrain = false;
  double ticks_per_second = 1e9;
  std::uint64_t events = 0;
  std::uint64_t locks_left_out = 0;  // short ones in a row, that have no events
  MetricTree tree;
  std::vector<Region> regions;
  std::vector<Path> paths;
  std::vector<Process> processes;
  std::vector<Location> locations;
  std::vector<Grid> grids;
  std::vector<ByCallPath<Row>> values;   // by metric
  std::vector<ByLocation<Calls>> calls;  // by path
  // As values, of the metrics of `time`: of own time and time charged, and squares of the latter, in unit^2.
  std::vector<ByCallPath<Row>> products;
  std::vector<ByCallPath<Row>> squares;
  double unit = 1;  // ticks
  // By metric, of those of `time`; none: all is written, or there is no summary.
  std::vector<Estimate> estimates;
  Problems problems;
  // By patterns, more than what contains them has, and cut off: 0, or a pattern is wrong.
  Ticks overcharged = 0;
  std::vector<Cause> causes;  // the first paths::Causes::kMax different ones
  std::string paths_error;    // why there is no critical path

  double seconds(double ticks) const { return ticks / ticks_per_second; }
  // Of each metric with its children, at a call path; of one; and over all paths.
  std::vector<Row> inclusive(PathId path) const;
  Row inclusive(std::uint32_t metric, PathId path) const;
  double total(std::uint32_t metric) const;  // ticks
};

base::Result<WaitAnalysis> analyze_archive(const std::string& archive,
                                           const reader::Progress& progress = {});
// The same as if what the sink between them leaves out had not been written.
using Between = std::function<std::unique_ptr<reader::TraceSink>(reader::TraceSink&)>;
// Nothing is left out, and `more`, unless it is null, gets the events, too.
Between with_sinks(reader::ShareSinks* more);
// Makes patterns besides all_patterns().
using MorePatterns = std::function<std::vector<std::unique_ptr<Pattern>>()>;
// `observer`: of waits, may be nullptr.
base::Result<WaitAnalysis> analyze_archive(const std::string& archive,
                                           const reader::Progress& progress,
                                           const Between& between,
                                           const MorePatterns& more = {},
                                           WaitObserver* observer = nullptr);
// Fails where there is nothing to analyse in it.
base::Result<> has_events(const std::string& archive,
                          const reader::TraceDefinitions& definitions);
// The archive's directory, for temporary files.
std::string folder_of(const std::string& archive);
// The same of a replay that has finished.
WaitAnalysis analysis_of(Replay& replay, const MetricTree& tree);
// `sweep`: the backward pass from there, where what ended last has ended.
using Sweep = std::function<base::Result<paths::PathResult>(LocationId, Ticks)>;
WaitAnalysis analysis_of(ReplayState& state, const Sweep& sweep, const MetricTree& tree);

// The call paths of an analysis by their parent, their region and their place, to find those of a summary in it.
//
// Thread-safety: const after it was made.

class PathFinder {
 public:
  explicit PathFinder(const WaitAnalysis& written) {
    for (PathId i{1}; i < written.paths.size(); ++i) {
      const WaitAnalysis::Path& path = written.paths[i];
      if (path.region < written.regions.size())
        known_.try_emplace({path.parent, key(written.regions[path.region]), path.site}, i);
    }
  }
  // kNone: there is none.
  PathId find(PathId parent, const std::string& region, const std::string& site) const {
    const auto found = known_.find({parent, region, site});
    return found == known_.end() ? PathId{kNone} : found->second;
  }
  template <typename Region>
  static std::string key(const Region& region) {
    return region.name + '\n' + region.file + ':' + std::to_string(region.line);
  }

 private:
  std::map<std::tuple<PathId, std::string, std::string>, PathId> known_;
};

// The locations of an analysis by process and number in it. Thread-safety: const after it was made.
class LocationFinder {
 public:
  explicit LocationFinder(const WaitAnalysis& analysis) {
    for (LocationId i; i < analysis.locations.size(); ++i)
      known_.try_emplace({analysis.locations[i].process, analysis.locations[i].number}, i);
  }
  // kNone: there is none.
  LocationId find(std::uint32_t process, std::uint32_t number) const {
    const auto found = known_.find({process, number});
    return found == known_.end() ? LocationId{kNone} : found->second;
  }

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, LocationId> known_;
};

// Metrics of the critical path (its profile, its imbalance, what activities on it and off it cost) and delay costs.
//
// Thread-safety: pure. They are trees of their own besides that of `time`: other views of the same time. Units: ticks,
// rounded. Source: names and definitions of Scalasca 2.6; Boehme, "Characterizing load and communication imbalance in
// parallel applications" (2014), chapter 5.

// Which of the analysis' paths and locations are those of the replay.
struct PathNumbers {
  const std::vector<std::vector<PathId>>& paths;  // by process
  const std::vector<LocationId>& locations;       // by location of the analysis
};

// After all values of `time` are there.
void add_path_metrics(WaitAnalysis& analysis, const paths::PathResult& found,
                      const PathNumbers& numbers);

}  // namespace refrain::waits
