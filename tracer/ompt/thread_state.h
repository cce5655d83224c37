// The OMPT source's own state of a thread: the teams it works in.
//
// Place in the flow: ARCHITECTURE.md, stage 2. One a thread, thread-local.
#pragma once

#include <cstdint>

#include "base/append_only_map.h"
#include "spool/format.h"
#include "tracer/runtime/this_thread.h"

namespace refrain::ompt {

// --- Numbers the places in the code where tasks are created, so that a task's word can
// contain one.
//
// Thread-safety: any thread, no lock. Cost: a hash look-up; allocates nothing. Site 0 is "unknown":
// no address, or no room for it.

class TaskSites {
 public:
  std::uint16_t number(std::uint64_t address) noexcept {
    if (address == 0) [[unlikely]]
      return 0;
    static_assert(Map::kNone + 1 == 0);
    return static_cast<std::uint16_t>(sites_.index_of(address) + 1);
  }
  std::uint64_t address(std::uint16_t site) const noexcept {
    return site == 0 ? 0 : sites_[site - std::size_t{1}].key();
  }

 private:
  struct Nothing {};
  using Map = base::AppendOnlyMap<std::uint64_t, Nothing, 1 << 15, 64>;
  Map sites_;
};

// --- What the source keeps with a parallel region and a task, in the one word that OMPT has for each.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Pure encodings, no state.
//
// A region's word (ompt_data_t of parallel_data): site << 48 | league << 47 | instance << 5 | kTeam* flags + a bit
// that says "set", so that 0 means that the region is unknown to us. The instance of an
// outermost region of the primary thread is its epoch; of any other a number of the
// session. A site is the number of a place in the code (thread_state.h). The region of
// the runtime's helper threads has kHelpers alone. A task's word: number << 32 | site << 16 | location, 0 for implicit tasks.

struct TeamWord {
  std::uint64_t instance = 0;
  std::uint8_t flags = 0;
  std::uint16_t site = 0;
  bool league = false;

  static TeamWord unpack(std::uint64_t word) noexcept {
    return {word >> 5 & kMaxInstances, static_cast<std::uint8_t>(word >> 1 & 15),
            static_cast<std::uint16_t>(word >> 48), (word >> 47 & 1) != 0};
  }
  std::uint64_t pack() const noexcept {
    return std::uint64_t{site} << 48 | std::uint64_t{league} << 47 |
           (instance & kMaxInstances) << 5 | std::uint64_t{flags} << 1 | 1;
  }
  static constexpr std::uint64_t kMaxInstances = (std::uint64_t{1} << 42) - 1;
  static constexpr std::uint8_t kHelpers = spool::kTeamInitial;  // no other region has that
  bool of_helpers() const noexcept { return flags == kHelpers; }
  // Returns true if barriers of this team are epochs of the recording.
  bool counts_epochs() const noexcept { return flags == 0; }
};

struct TaskWord {
  std::uint32_t number;
  std::uint16_t site;
  std::uint16_t location;

  static TaskWord unpack(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word >> 16),
            static_cast<std::uint16_t>(word)};
  }
  std::uint64_t pack() const noexcept {
    return std::uint64_t{number} << 32 | std::uint64_t{site} << 16 | location;
  }
  std::uint64_t id() const noexcept { return std::uint64_t{location} << 32 | number; }
};

struct Membership {
  TeamWord team;
  std::uint32_t index = 0;  // thread number; 0 is the thread that opened the region
  std::uint64_t begin_ticks =
      0;  // not 0: the time from the fork to here has not been counted
  std::uint64_t after =
      0;  // instance of the outermost region that it was in before; 0: none
  const void* fork =
      nullptr;  // of thread 0: where the call returns to that opened the region
};

// What LLVM's runtime calls back for directly one after the other, in an outermost region of the primary thread, is one moment: it
// is kept here, and recorded with the last of it, with one time stamp (ompt_source.cc).
//   - The ends of the wait, the barrier and the implicit task: with the region's end, or where a worker begins its next task.
//   - The start of the wait: with that of the barrier.
//   - What the detector and the gate do for the start of a region: with the start of the primary thread's implicit task. The
//     workers are on their way then, so that it is not waited for.
// When a worker's ends were is known where the primary thread noted it; that is looked up with the worker's next event, when it has
// long come from the other core.
struct LateEvents {
  enum class Ended : std::uint8_t { kNothing, kWait, kBarrier, kTask };
  Ended ended = Ended::kNothing;  // so far
  bool forked = false;
  bool wait_begun = false;
  bool joined = false;  // a worker has begun its task, and not looked up when that was
  std::uint64_t unsettled =
      0;  // instance of the region before, which it has not looked up either; 0: none
  std::uint64_t end_ticks = 0;     // of the primary thread
  const void* end_code = nullptr;  // as reported with the wait
  unsigned size = 0;               // as reported with the task's end
  std::uint64_t fork_place = 0;
  std::uint64_t fork_ticks = 0;
};

struct ThreadState {
  static constexpr int kMaxTeams = 8;

  bool root = false;  // a thread that the program made, not the runtime
  bool begin_reported = false;
  bool helper = false;  // one of the runtime's own (helper_threads.h)
  bool sync_end_reported =
      false;  // the end of the innermost sync region is recorded already
  std::uint64_t sync_end_ticks = 0;
  std::uint64_t latest_work = 0;  // where the worksharing construct is that has just ended
  const void* latest_fork =
      nullptr;  // where the call returns to that opened the latest region
  std::uint64_t latest_outermost = 0;  // instance of the latest one whose epochs count
  LateEvents late;
  Membership* innermost = nullptr;
  Membership teams[kMaxTeams + 1] = {};

  void find_innermost() noexcept {
    const int open = runtime::t_thread.teams_open;
    innermost = open > 0 && open <= kMaxTeams ? &teams[open - 1] : nullptr;
  }
  // Teams open may be more than kMaxTeams; the innermost then is unknown.
  Membership* team() noexcept { return innermost; }
  // Its row; of one that is too deep inside nobody asks.
  Membership& enter_team() noexcept {
    int& open = runtime::t_thread.teams_open;
    Membership& team = teams[open < kMaxTeams ? open : kMaxTeams];
    ++open;
    find_innermost();
    team = {};
    return team;
  }
  void leave_team() noexcept {
    if (runtime::t_thread.teams_open > 0) --runtime::t_thread.teams_open;
    find_innermost();
  }
};

// As runtime::t_thread.
extern constinit thread_local ThreadState t_state
    __attribute__((tls_model("initial-exec")));

}  // namespace refrain::ompt
