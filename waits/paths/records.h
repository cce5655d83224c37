// What the forward pass notes for the backward one: where each location's time went between two of its synchronisation
// points, and who waited for whom.
//
// Place in the flow: private to waits/paths. Thread-safety: pure. Units: ticks since the archive's begin.
// Shapes: call paths are those of the location's process. Encoded as numbers of 7 bits a byte.
// Source: Boehme et al., "Scalable critical-path based performance analysis" (IPDPS 2012) and "Identifying the root
// causes of wait states in large-scale parallel applications" (TOPC 3(2), 2016).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "waits/metrics/metric.h"

namespace refrain::waits::paths {

// What made a location wait. Those of kFork do not wait: that is where the thread began. Delay costs are named for the
// first kDelayKinds.
enum class WaitKind : std::uint8_t {
  kLateSender,
  kLateReceiver,
  kBarrier,
  kAllToAll,
  kOneToAll,
  kAllToOne,
  kTeamBarrier,
  kIdle,
  kScan,
  kFinalize,
  kFork
};
inline constexpr std::size_t kDelayKinds = 8;

struct PathTime {
  PathId path{};
  Ticks ticks = 0;
};

// A location's time from one synchronisation point's enter to the next one's.
struct Segment {
  LocationId location{};
  bool last = false;  // of the location: until the end of its process
  Ticks begin = 0;
  Ticks end = 0;
  std::vector<PathTime> times;
};

// A location that waited, and the one that came later.
struct Wait {
  WaitKind kind = WaitKind::kLateSender;
  LocationId location{kNone};  // kNone: several, of which none waits in a call
  PathId path{};
  Ticks enter = 0;  // of the call that waits
  Ticks ticks = 0;  // what it waited
  Ticks until = 0;  // the other one's enter, at most own leave
  Ticks point = 0;  // the other one's enter: later than `until` where clocks disagree
  LocationId causer{};
  // The other one's time since both were synchronised last, as far as it exceeds that of the one that waits.
  Ticks since = 0;
  Ticks waited = 0;  // by the other one itself meanwhile, as far as it was known then
  bool known_late = false;       // after a later synchronisation point of its location
  bool clocks_disagree = false;  // some effect has come before its cause until then
  std::vector<PathTime> excess;
};

// `ticks` in proportion to part / whole, rounded down.
Ticks share_of(Ticks ticks, Ticks part, Ticks whole);

// In `room`, which grows as needed; valid until it is used again.
std::string_view encode(const Segment& segment, std::string& room);
std::string_view encode(const Wait& wait, std::string& room);

// Which of them it is; the other one is left as it was. False: neither, which only happens to a damaged file.
enum class RecordType : std::uint8_t { kSegment, kWait };
bool decode(std::string_view record, RecordType& type, Segment& segment, Wait& wait);

}  // namespace refrain::waits::paths
