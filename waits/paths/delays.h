// What had made a location late: its time since it and the one that waits were synchronised last, compared path by path.
//
// Place in the flow: private to waits/paths; recorder.h asks for each wait. Thread-safety: none. Units: ticks.
// Two locations are synchronised where one of them waits for the other, and by operations of all (barriers, N x N,
// MPI_Init, MPI_Finalize); a thread is with its team at each fork and each of its barriers.
// Memory: a history for each location (history.h), the last synchronisations of each pair that has one, and of the
// kMostGroups latest groups of a location.
// Cost: of a wait, that of the points since then.
// Source: Boehme et al., TOPC 3(2), 2016, algorithm 1.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "waits/paths/history.h"
#include "waits/paths/path_numbers.h"
#include "waits/paths/records.h"

namespace refrain::waits::paths {

class Delays {
 public:
  static constexpr std::size_t kMostGroups = 64;

  void begin(const std::vector<LocationState>& locations,
             const std::vector<ProcessState>& processes);

  void point(std::uint32_t location, Ticks time, const std::vector<PathTime>& times) {
    histories_[location].point(time, times);
  }
  void left(std::uint32_t location, Ticks enter, std::uint32_t path, Ticks leave) {
    histories_[location].left(enter, path, leave);
  }

  // Completes a wait for a causer that was late by its point at `until`: since, waited, excess.
  void explain(Wait& wait, Ticks point);
  // After that.
  void waited(Wait& wait);
  void pair(const Wait& wait, Ticks point, Ticks leave);
  // The location took part in an operation of all of a group.
  void group(std::uint32_t group, std::uint32_t location, Ticks enter,
             Ticks earliest_leave);
  // It begins in a team, of which the first one began then, or comes to a barrier of it.
  void begins(std::uint32_t location, Ticks fork, Ticks first) {
    histories_[location].together(fork, first);
  }
  void team(std::uint32_t location, Ticks time) {
    remember(teams_[location], location, time);
  }
  // It is outside of teams from here on: `threads` others are idle until its point at `until`.
  void joined(std::uint32_t location, Ticks time) {
    remember(joins_[location], location, time);
  }
  void idle(Wait& wait, std::uint32_t location, Ticks until, std::uint64_t threads);

 private:
  // The latest synchronisations, on one side: threads leave a barrier when others are at the next fork already.
  using Marks = std::array<Ticks, 3>;
  static constexpr Marks kNever = {History::kBegin, History::kBegin, History::kBegin};
  struct Pair {
    Marks lower = kNever;  // on the location with the lower number
    Marks upper = kNever;
  };
  struct Since {
    Ticks waiter = History::kBegin;
    Ticks causer = History::kBegin;
  };

  void remember(Marks& marks, std::uint32_t location, Ticks time);
  Since since(const Wait& wait, Ticks point) const;
  static std::uint64_t key(std::uint32_t a, std::uint32_t b) {
    return std::uint64_t{a < b ? a : b} << 32 | (a < b ? b : a);
  }

  PathNames names_;
  std::vector<History> histories_;
  std::vector<Marks> teams_, joins_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::vector<std::unordered_map<std::uint32_t, Marks>> groups_;  // by location
  TimeSum causer_, waiter_;                                       // by path of the location
  TimeSum compared_, all_;                                        // by number of PathNames
};

}  // namespace refrain::waits::paths
