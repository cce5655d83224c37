// A metric of the analysis: its name in files, its place in the tree of metrics, and what it means.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: plain values. Units: severities are ticks of the
// archive's clock.
// Source: names are those of Scalasca's analysis reports (Scalasca 2.6, patterns of scout), so that users of Cube and
// scripts know them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/flat_index.h"
#include "base/ids.h"
#include "base/region_stack.h"

namespace refrain::waits {

using Ticks = std::uint64_t;
inline constexpr std::uint32_t kNone = 0xffffffff;

struct MetricInfo {
  std::string name;
  std::string parent;  // its name; empty: none
  std::string title;
  std::string description;
  std::string cause;     // what usually makes the program wait so; empty: it is no finding
  bool of_user = false;  // of a pattern of a user: Refrain's metrics do not depend on it
};

// Metrics that sort time by the kind of region in which it passes. Patterns say which part of it was waiting.
enum BaseMetric : std::uint32_t {
  kTime,
  kExecution,
  kMpi,
  kMpiManagement,
  kMpiInitExit,
  kMpiMgmtComm,
  kMpiMgmtFile,
  kMpiMgmtWin,
  kMpiSynchronization,
  kMpiSyncCollective,
  kMpiRmaSynchronization,
  kMpiRmaSyncActive,
  kMpiRmaSyncPassive,
  kMpiCommunication,
  kMpiPoint2Point,
  kMpiCollective,
  kMpiRmaCommunication,
  kMpiIo,
  kMpiIoIndividual,
  kMpiIoCollective,
  kOmpTime,
  kOmpFlush,
  kOmpManagement,
  kOmpSynchronization,
  kOmpBarrier,
  kOmpEbarrier,
  kOmpIbarrier,
  kOmpCritical,
  kOmpLockApi,
  kOmpOrdered,
  kOmpTaskwait,
  kOmpTarget,
  kOmpTargetData,
  kOmpTargetSubmit,
  kPthreadTime,
  kPthreadManagement,
  kPthreadSynchronization,
  kPthreadLockApi,
  kPthreadConditional,
  kOmpIdleThreads,
  kSkipped,
  kBaseMetrics
};

const std::vector<MetricInfo>& base_metrics();

// Base metrics and those of patterns; a parent stands before its children.
struct MetricTree {
  std::vector<MetricInfo> metrics;
  std::vector<std::uint32_t> parents;

  std::uint32_t of(const std::string& name) const;  // kNone: there is none
  // A part of `time`; else of another view of it.
  bool is_time(std::uint32_t metric) const;
};

// The call paths of one process: regions in the context of the regions around them; of MPI calls also by call site.
//
// Thread-safety: none. Shapes: path 0 is the program; a parent stands before its children. Cost: O(1) where a path is
// followed again by the path that followed it before; else a look-up.

class CallPaths {
 public:
  struct Path {
    PathId parent{kNone};
    RegionId region{kNone};      // kNone: the program
    std::uint32_t site = kNone;  // reference of a source code location
    PathId latest{kNone};        // child
  };

  CallPaths() : paths_(1) {}

  PathId child(PathId parent, RegionId region, std::uint32_t site) {
    const PathId latest = paths_[parent].latest;
    if (latest != kNone && paths_[latest].region == region && paths_[latest].site == site)
      return latest;
    return paths_[parent].latest = look_up(parent, region, site);
  }
  const std::vector<Path>& paths() const { return paths_; }

 private:
  struct Key {
    std::uint32_t parent, region, site;
    bool operator==(const Key&) const = default;
  };

  PathId look_up(PathId parent, RegionId region, std::uint32_t site) {
    const auto [at, is_new] =
        known_.add(Key{parent, region, site}, [this](std::uint32_t i) {
          const Path& path = paths_[i + std::size_t{1}];
          return Key{path.parent, path.region, path.site};
        });
    if (is_new) paths_.push_back({parent, region, site, PathId{kNone}});
    return PathId(at + 1);
  }

  std::vector<Path> paths_;
  base::FlatIndex known_;  // of those below the program
};

// Where each location is: its open regions, and where its time has gone so far.
//
// Thread-safety: none. Shapes: paths are those of the location's process. Units: ticks of the archive since its
// begin. A location's time is in one of three places: a call path (its own time), a gap, or outside of all regions.

// What ran inside a barrier or taskwait until a moment that moves on while it lasts: until then there was something to
// wait for. Moments are no earlier than the regions that were left before them.
struct RanInside {
  Ticks all = 0, before = 0;
  Ticks moment = 0;  // what `before` is until

  void add(Ticks begin, Ticks end, Ticks until) {
    before = until_moment(until) + std::min(end, std::max(begin, until)) - begin;
    moment = until;
    all += end - begin;
  }
  Ticks until_moment(Ticks until) const { return until == moment ? before : all; }
};

struct Frame {
  RegionId region{kNone};
  PathId path{};
  Ticks enter = 0;
  Ticks inside = 0;        // of the regions in it
  bool completes = false;  // a collective operation that does not block
  std::uint64_t task = 0;  // of a taskwait: the one that waits
  RanInside ran = {};      // of a barrier, of a taskwait
};

struct LocationState {
  ProcessId process{kNone};
  std::uint32_t thread = 0;
  bool counts = false;           // a thread of a process
  bool off = false;              // in a gap
  bool worker = false;           // has been in a team of another thread
  bool only_in_regions = false;  // no time outside of them
  PathId base{};                 // path below which its regions lie
  bool begun = false;
  bool steps = false;          // since it has left a call: joint ones (joint_replay.h)
  bool message_steps = false;  // ends of messages
  Ticks last = 0;              // until here its time is accounted for
  Ticks changed = 0;           // latest enter, leave, or end of a gap
  Ticks outside = 0;
  base::RegionStack<Frame> stack;
  std::vector<Ticks> own;             // by path
  std::vector<Ticks> skipped;         // likewise
  std::vector<std::uint64_t> visits;  // likewise
  std::vector<std::uint64_t>
      squares;  // likewise: of their own times, scaled as Severities does
  // Likewise, of point-to-point calls in which no message completes. In a reduced archive it may be one of which the
  // other end was not written: what they waited is not known.
  std::vector<std::uint64_t> without_message;
  std::vector<Ticks> own_without_message;

  PathId path() const { return stack.empty() ? base : stack.back().path; }
  static void add(std::vector<Ticks>& row, PathId path, Ticks ticks) {
    if (path >= row.size()) row.resize(std::size_t{path} + 1);
    row[path] += ticks;
  }
  // Moves time since `last` was before out of where it was put; what was there at most.
  Ticks withdraw(Ticks ticks) {
    Ticks& from = stack.empty() || path() >= own.size() ? outside : own[path()];
    const Ticks taken = std::min(ticks, from);
    from -= taken;
    if (!stack.empty()) stack.back().inside += taken;
    return taken;
  }
};

struct ProcessState {
  CallPaths paths;
  LocationId primary{kNone};  // the first location that forks
  bool forked = false;
  std::uint32_t forks = 0;  // open ones of the primary location
  Ticks begin = ~Ticks{0};
  Ticks end = 0;
  std::vector<Ticks>
      serial;  // own time of the primary location outside of its parallel regions, by path
};

// Severities by metric, call path and location, while they are found.
//
// Thread-safety: none. Shapes: call paths are those of the location's process. Units: ticks; sums of integers, so
// that the order in which they are found does not matter. A metric's value contains those of its children. Cost:
// O(1); memory for the metrics that occur, by call path and location.

class Severities {
 public:
  Severities(std::size_t locations, std::size_t metrics,
             std::uint64_t ticks_per_second = 1'000'000)
      : metrics_(metrics), places_(locations * metrics), rows_(locations) {
    const std::uint64_t per_microsecond = ticks_per_second / 1'000'000;
    while (shift_ < 40 && Ticks{2} << shift_ <= per_microsecond) ++shift_;
  }

  void add(LocationId location, PathId path, std::uint32_t metric, Ticks ticks) {
    if (ticks == 0) return;
    add_to(row(location, metric).ticks, path, ticks);
  }
  // The product of a call's own time and what of it is charged, and the square of the latter: how the two depend on
  // each other, and how closely.
  void add_product(LocationId location, PathId path, std::uint32_t metric, Ticks ticks,
                   Ticks own) {
    if (ticks == 0) return;
    Row& to = row(location, metric);
    add_to(to.products, path, scaled(ticks) * scaled(own));
    add_to(to.squares, path, scaled(ticks) * scaled(ticks));
  }
  // About microseconds, at most a minute, so that sums of products are integers of 64 bits.
  std::uint64_t scaled(Ticks ticks) const {
    return std::min(ticks >> shift_, Ticks{1} << 26);
  }
  double ticks_of_scaled() const { return static_cast<double>(Ticks{1} << shift_); }
  const std::vector<std::uint64_t>& products(LocationId location,
                                             std::uint32_t metric) const {
    return found(location, metric).products;
  }

  const std::vector<std::uint64_t>& squares(LocationId location,
                                            std::uint32_t metric) const {
    return found(location, metric).squares;
  }

  void forget(LocationId location) {
    rows_[location] = {};
    std::fill_n(places_.begin() + static_cast<std::ptrdiff_t>(location * metrics_),
                metrics_, 0);
  }

  // What another one has found of the location.
  void add(LocationId location, std::uint32_t metric, const std::vector<Ticks>& ticks,
           const std::vector<std::uint64_t>& products,
           const std::vector<std::uint64_t>& squares) {
    if (ticks.empty() && products.empty() && squares.empty()) return;
    Row& to = row(location, metric);
    add(to.ticks, ticks);
    add(to.products, products);
    add(to.squares, squares);
  }

  // By call path; may be shorter than there are.
  const std::vector<Ticks>& of(LocationId location, std::uint32_t metric) const {
    return found(location, metric).ticks;
  }

 private:
  struct Row {
    std::vector<Ticks> ticks;
    std::vector<std::uint64_t> products, squares;
  };
  Row& row(LocationId location, std::uint32_t metric) {
    std::uint16_t& place = places_[location * metrics_ + metric];
    if (place == 0) {
      rows_[location].emplace_back();
      place = static_cast<std::uint16_t>(rows_[location].size());
    }
    return rows_[location][place - std::size_t{1}];
  }
  const Row& found(LocationId location, std::uint32_t metric) const {
    static const Row kNone{};
    const std::uint16_t place = places_[location * metrics_ + metric];
    return place == 0 ? kNone : rows_[location][place - std::size_t{1}];
  }
  static void add_to(std::vector<std::uint64_t>& row, PathId path, std::uint64_t value) {
    if (path >= row.size()) row.resize(std::size_t{path} + 1);
    row[path] += value;
  }
  static void add(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  }

  std::size_t metrics_;
  unsigned shift_ = 0;
  std::vector<std::uint16_t>
      places_;  // by location and metric: in its rows, from 1; 0: none
  std::vector<std::vector<Row>> rows_;
};

}  // namespace refrain::waits
