// Unsuccessful polls in a row are coalesced: after the first ones, all others are one region.
//
// Place in the flow: ARCHITECTURE.md, stage 2: asked by call.h where a call polls (Stream::kPolling).
// A wait made of polls (`while (!flag) MPI_Test(...)`) repeats itself millions of times a second,
// and their number is nondeterministic, so that it is no loop of the detector. They are treated like iterations:
// the first N are written as they are, then one region is extended until the program does something
// else or a poll succeeds, which is a separate region again.
//
//     |T|T|T| ... |T|TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT|T|    time: from left to right
//      1 2 3       N  one region, "polls": how many   the one that has found something
//
// Polls are in a row if the thread has recorded nothing between them but locks that it released again, and each begins soon after
// the end of the one before it (kMostBetween): else there is work between them, and its time is not
// that of polls. Where polls of several procedures alternate the region is kPollsName.
//
// Pure. Thread-safety: none, one a thread. Units: ticks. Cost: some comparisons a poll.
#pragma once

#include <cstdint>

namespace refrain::mpi {

inline constexpr double kMostBetween = 5e-6;  // seconds
// Of the region of polls of several procedures; no procedure of MPI has this name.
inline constexpr const char* kPollsName = "MPI polls";

class PollRun {
 public:
  enum class Begin : std::uint8_t {
    kRegion,    // the poll is a separate region
    kTogether,  // likewise, and those that follow in the row extend it
    kExtends,   // it extends that region
  };

  struct Limits {
    std::uint64_t in_full = 0;       // how many of a row are separate regions; 0: all
    std::uint64_t most_between = 0;  // ticks
  };

  // A poll begins. `last_end`: when the newest record of the thread was made (locks between polls do not count), if that
  // is the end of an MPI call; else 0.
  constexpr Begin begin(std::uint64_t ticks, std::uint64_t last_end,
                        std::uint16_t procedure, const Limits& limits) noexcept {
    if (limits.in_full == 0) return Begin::kRegion;
    const bool in_a_row = goes_on(last_end) && ticks - end_ <= limits.most_between;
    const bool another = procedure != procedure_;
    // What was begun as polls of one procedure has its name.
    if (!in_a_row || (another && !mixed_ && length_ > limits.in_full)) {
      length_ = 0;
      mixed_ = false;
      procedure_ = procedure;
      return Begin::kRegion;
    }
    mixed_ = mixed_ || another;
    if (length_ > limits.in_full) return Begin::kExtends;
    return length_ == limits.in_full ? Begin::kTogether : Begin::kRegion;
  }

  // Returns true if nothing was recorded since the newest poll; `last_end` as above.
  constexpr bool goes_on(std::uint64_t last_end) const noexcept {
    return end_ != 0 && last_end == end_;
  }

  // Returns true if polls of several procedures are in the row.
  constexpr bool mixed() const noexcept { return mixed_; }

  // It has ended without success at these ticks; `region`: with a separate region.
  constexpr void in_vain(std::uint64_t ticks, bool region) noexcept {
    end_ = ticks;
    if (region) ++length_;
  }
  // It has found something, or something else was recorded meanwhile: it is a separate region, and
  // the row is over.
  constexpr void ends_row() noexcept { end_ = 0; }

 private:
  std::uint64_t end_ = 0;  // of the newest poll; 0: the row is over
  std::uint64_t length_ = 0;
  std::uint16_t procedure_ = 0;
  bool mixed_ = false;
};

}  // namespace refrain::mpi
