// Locks on windows of one-sided communication: who had one while another process wanted it, and how long a process that
// has one waits for its target to call MPI.
//
// Place in the flow: private to waits/; windows.h says what lies between a lock and its unlock.
// A lock is given up at the enter of the unlock. Another process waits for it in that call of its epoch in which this
// happens: MPI does not say whether it is MPI_Win_lock, an access, or MPI_Win_unlock that waits.
// MPI_Win_lock_all: others wait for it, itself it waits for nobody (no library of today does).
// Thread-safety: none. Units: ticks of the archive since its begin.
// Memory: the latest kReleases and kPending epochs of each window and target; kMostCalls calls of each.
// Source: Scalasca's lock contention and wait for progress.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "waits/metrics/pattern.h"

namespace refrain::waits {

class WindowLocks {
 public:
  static constexpr std::size_t kMostCalls = 256;
  static constexpr std::size_t kReleases = 64;
  static constexpr std::size_t kPending = 16;

  struct Epoch {
    std::uint32_t process = 0;
    bool exclusive = false;
    std::vector<LockCall> calls;  // the unlock is the last one
  };

  explicit WindowLocks(PatternSet& patterns) : patterns_(patterns) {}

  static void add(std::vector<LockCall>& calls, const LockCall& call);
  // It has ended. `target`: process, or kNone for all.
  void ended(std::uint32_t window, std::uint32_t target, Epoch&& epoch);
  void finish();

 private:
  struct Release {
    std::uint32_t process = 0;
    bool exclusive = false;
    Ticks time = 0;
  };
  struct Target {
    std::deque<Release> releases;
    std::deque<Epoch> pending;
  };

  void hand_out(std::uint32_t window, Target& target, Epoch& epoch);

  PatternSet& patterns_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Target> targets_;
};

// The latest MPI calls of each process.
class MpiPresence {
 public:
  void resize(std::size_t processes) { of_.resize(processes); }
  bool used() const { return !of_.empty(); }
  void enter(std::uint32_t process, Ticks time) {
    Process& each = of_[process];
    if (each.open++ == 0) each.spans[each.next % kSpans] = {time, ~Ticks{0}};
  }
  void leave(std::uint32_t process, Ticks time) {
    Process& each = of_[process];
    if (each.open != 0 && --each.open == 0) each.spans[each.next++ % kSpans].second = time;
  }
  // When the process called MPI next, as far as it has; 0: it was in MPI then, or this is too long ago.
  Ticks next_call(std::uint32_t process, Ticks since) const;

 private:
  static constexpr std::size_t kSpans = 64;
  struct Process {
    std::array<std::pair<Ticks, Ticks>, kSpans> spans{};
    std::size_t next = 0;  // place of the open one, or of the next one
    std::uint32_t open = 0;
  };
  std::vector<Process> of_;
};

}  // namespace refrain::waits
