// What the forward pass notes for the backward one: where each location's time went between two of its synchronisation
// points, and who waited for whom.
//
// Place in the flow: private to waits/paths. Thread-safety: pure. Units: ticks since the archive's begin.
// Shapes: call paths are those of the location's process. Encoded as numbers of 7 bits a byte.
// Source: Boehme et al., "Scalable critical-path based performance analysis" (IPDPS 2012) and "Identifying the root
// causes of wait states in large-scale parallel applications" (TOPC 3(2), 2016).
#pragma once

#include <compare>
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

// Of a path, while nothing was written: not known to be anybody's doing. Paths are below it.
inline constexpr std::uint32_t kInGap = 0x80000000;

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

// Where in the order of all something is noted: that of the events, of those of the same time by location, and there as it
// is found, whoever finds it.
struct Place {
  std::uint8_t part = 0;     // of the replay (JointSteps::Part)
  std::uint64_t ticks = 0;   // of the event, as in the archive
  std::uint32_t number = 0;  // of the location, or of the process
  std::uint64_t step = 0;    // of its reader
  std::uint64_t turn = 0;    // among what the step makes known
  auto operator<=>(const Place&) const = default;
};

// `ticks` in proportion to part / whole, rounded down.
Ticks share_of(Ticks ticks, Ticks part, Ticks whole);

// In `room`, which grows as needed; valid until it is used again.
std::string_view encode(const Segment& segment, std::string& room);
std::string_view encode(const Wait& wait, std::string& room);

// Which of them it is; the other one is left as it was. False: neither, which only happens to a damaged file.
enum class RecordType : std::uint8_t { kSegment, kWait };
bool decode(std::string_view record, RecordType& type, Segment& segment, Wait& wait);

// A place before a record; taken off from it. False: there is none.
std::string_view encode(const Place& place, std::string& room);
bool take_place(std::string_view& record, Place& place);
bool is_wait(std::string_view record);
// Sets a wait's flag in its record; of a segment nothing.
void set_clocks_disagree(std::string& record, bool disagree);

// Records, the last one first. Thread-safety: none. Valid until the next call.
class Records {
 public:
  virtual ~Records() = default;
  // The record before the last one read, or the last one. False: there is none.
  virtual bool previous(std::string_view& record) = 0;
  // Why there are no more.
  virtual const std::string& error() const noexcept = 0;
};

// Records of a forward pass, to be read backwards: in memory while they are few, then in an unnamed temporary file.
//
// Thread-safety: none. Shapes: bytes of any length, each followed by its length, so that reading can begin at the
// end. Memory: kBlock bytes, or the longest record. Ownership: the file is removed with its owner, or if that dies.
// Errors: kept; after one nothing more is written, and reading ends.

class RecordFile final : public Records {
 public:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  // In this directory, else in $TMPDIR or /tmp.
  explicit RecordFile(std::string folder, std::size_t block = kBlock)
      : folder_(std::move(folder)), block_(block) {}
  ~RecordFile() override;
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  void append(std::string_view record) { append({}, record); }
  // Both as one record.
  void append(std::string_view first, std::string_view second);
  bool previous(std::string_view& record) override;
  // Reads it again, from the end on.
  void rewind();
  const std::string& error() const noexcept override { return error_; }
  std::uint64_t bytes() const noexcept { return written_ + used_; }

 private:
  void flush();
  bool make(const std::string& folder);
  // So that at least this much before `end_` is in memory.
  bool load(std::size_t wanted);
  void fail(const char* what);

  std::string folder_;
  std::size_t block_;
  int file_ = -1;
  // While writing: what is not in the file yet, `used_` of it; while reading: a part of it.
  std::vector<char> bytes_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t begin_ = 0;  // while reading: where in the file bytes_ begins
  std::size_t end_ = 0;      // in bytes_: end of what is still to be read
  bool reading_ = false;
  std::string error_;
};

}  // namespace refrain::waits::paths
