// What the callbacks of the OMPT source share; private to tracer/ompt.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Team callbacks are in ompt_source.cc, those of
// worksharing, synchronisation and tasks in sync_callbacks.cc, those of devices in target_callbacks.cc.
#pragma once

#include <omp-tools.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/append_only_map.h"
#include "spool/format.h"
#include "tracer/recorder/clock.h"
#include "tracer/runtime/code_address.h"
#include "tracer/runtime/this_thread.h"

namespace refrain::ompt {

// When the latest outermost parallel regions of the primary thread were opened and joined: its
// workers learn late of the end, when their next region begins.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Thread-safety: fork() and join() by one thread, the
// others by any. No lock. Units: ticks. Memory: 128 KiB, touched as it is used.
// Cost: between sockets a line takes 100 to 250 ns to come, as much as ten callbacks. So all that a worker asks
// where it wakes is in one line, that of the region that it comes from: when that was joined, and when the next was opened.
// The primary thread does not write it after that, and asks for the line of the next region beforehand.

class OutermostJoins {
 public:
  // A thread that is further behind than this finds nothing.
  static constexpr std::size_t kKept = 2048;

  // `instance`: the epoch of the region, which is not 0.
  void fork(std::uint64_t instance, std::uint64_t ticks) noexcept {
    slot_of(instance).fork.put(instance, ticks);
    const std::uint64_t before = latest_.load(std::memory_order_relaxed);
    if (before != 0) slot_of(before).next_fork.put(instance, ticks);
    latest_.store(instance, std::memory_order_relaxed);
  }
  // The latest one has not been joined.
  bool open() const noexcept {
    const std::uint64_t latest = latest_.load(std::memory_order_relaxed);
    return latest != 0 && !slot_of(latest).join.is_of(latest);
  }
  // `next`: the instance that the next region is expected to have.
  void join(std::uint64_t instance, std::uint64_t ticks, std::uint64_t next) noexcept {
    slot_of(instance).join.put(instance, ticks);
    will_write(&slot_of(next));
  }
  // When it was; `now` where that is not known, or not earlier. `after`: the outermost region that the
  // asking thread was in before; 0: none.
  std::uint64_t forked(std::uint64_t instance, std::uint64_t after,
                       std::uint64_t now) const noexcept {
    const Moment& next = slot_of(after).next_fork;
    return (after != 0 && next.is_of(instance) ? next : slot_of(instance).fork)
        .get(instance, now);
  }
  std::uint64_t joined(std::uint64_t instance, std::uint64_t now) const noexcept {
    return slot_of(instance).join.get(instance, now);
  }
  // Somebody is about to ask when `instance` was joined, and when the region after it was opened.
  void will_ask(std::uint64_t instance) const noexcept {
    __builtin_prefetch(&slot_of(instance));
  }

 private:
  class Moment {
   public:
    void put(std::uint64_t instance, std::uint64_t ticks) noexcept {
      instance_.store(0, std::memory_order_relaxed);
      ticks_.store(ticks, std::memory_order_release);  // not before the instance is gone
      instance_.store(instance, std::memory_order_release);
    }
    bool is_of(std::uint64_t instance) const noexcept {
      return instance_.load(std::memory_order_relaxed) == instance;
    }
    std::uint64_t get(std::uint64_t instance, std::uint64_t now) const noexcept {
      if (instance_.load(std::memory_order_acquire) != instance) return now;
      const std::uint64_t ticks = ticks_.load(std::memory_order_acquire);
      return is_of(instance) && ticks < now ? ticks : now;
    }

   private:
    std::atomic<std::uint64_t> instance_{0};
    std::atomic<std::uint64_t> ticks_{0};
  };
  struct alignas(64) Slot {
    Moment fork;
    Moment join;
    Moment next_fork;  // of the region after it
  };
  Slot& slot_of(std::uint64_t instance) noexcept { return slots_[instance % kKept]; }
  const Slot& slot_of(std::uint64_t instance) const noexcept {
    return slots_[instance % kKept];
  }
  static void will_write(const Slot* slot) noexcept {
#if defined(__x86_64__)
    // Does nothing on processors that do not have it. The compiler's own would ask for a line to read.
    __asm__ volatile("prefetchw %0" : : "m"(*slot));
#else
    __builtin_prefetch(slot, 1);
#endif
  }

  std::array<Slot, kKept> slots_{};
  std::atomic<std::uint64_t> latest_{0};  // the primary thread's
};

// The OMPT source's own state of a thread: the teams it works in.
//
// Place in the flow: ARCHITECTURE.md, stage 2. One a thread, thread-local.

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
// session. A site is the number of a place in the code. The region of
// the runtime's helper threads has kHelpers alone. A task's word: number << 32 | site << 16 | location, 0 for implicit tasks.

// Its size is that of two registers: 13 bytes are copied in two parts that overlap, for which the processor waits.
struct TeamWord {
  std::uint64_t instance = 0;
  std::uint8_t flags = 0;
  bool league = false;
  std::uint32_t site = 0;  // 16 bits

  static TeamWord unpack(std::uint64_t word) noexcept {
    return {.instance = word >> 5 & kMaxInstances,
            .flags = static_cast<std::uint8_t>(word >> 1 & 15),
            .league = (word >> 47 & 1) != 0,
            .site = static_cast<std::uint16_t>(word >> 48)};
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
//   - The ends of the barrier and the implicit task: with the region's end, or where a worker begins its next task.
//   - What the detector and the gate do for the start of a region: with the start of the primary thread's implicit task. The
//     workers are on their way then, so that it is not waited for.
// When a worker's ends were is known where the primary thread noted it; that is looked up with the worker's next event, when it has
// long come from the other core.
struct LateEvents {
  enum class Ended : std::uint8_t { kNothing, kBarrier, kTask };
  Ended ended = Ended::kNothing;  // so far
  bool forked = false;
  bool joined = false;  // a worker has begun its task, and not looked up when that was
  std::uint64_t unsettled =
      0;  // instance of the region before, which it has not looked up either; 0: none
  std::uint64_t end_ticks = 0;     // of the primary thread
  const void* end_code = nullptr;  // as reported with the barrier
  unsigned size = 0;               // as reported with the task's end
  std::uint64_t fork_place = 0;
  std::uint64_t fork_ticks = 0;
};

// Locks and critical sections in a row, with nothing else recorded between them: of each of up to kMaxPlaces places the first N are recorded,
// and later ones that are long; short ones, which waited for nobody, are dropped from the records. The call tree has all of them.
// (In a loop of a parallel region they may be most of a trace: the detector sees nothing there.)
class LockRow {
 public:
  struct Limits {
    std::uint64_t in_full = 0;  // of a place in a row; 0: all
    std::uint64_t maximum_ticks =
        0;  // from the attempt to the release, of one that is dropped
  };
  static constexpr double kMaximum = 5e-6;  // seconds
  static constexpr std::size_t kMaxPlaces = 4;

  // One was released.
  void released(recorder::ThreadRecorder& recorder, const Limits& limits) noexcept;

 private:
  struct Place {
    std::uint64_t code;  // as its release was reported
    std::uint64_t count;
  };
  std::uint64_t& count_of(std::uint64_t code) noexcept;

  std::uint64_t end_ = 0;  // of the newest one that is recorded
  std::size_t used_ = 0;
  Place places_[kMaxPlaces] = {};
  std::uint64_t elsewhere_ = 0;  // never more than the first
};
extern LockRow::Limits g_locks;

struct ThreadState {
  static constexpr int kMaxTeams = 8;

  bool root = false;  // a thread that the program made, not the runtime
  bool begin_reported = false;
  bool lock_is_symbol = false;  // the one that is held
  bool helper = false;          // one of the runtime's own (helper_threads.h)
  bool sync_end_reported =
      false;  // the end of the innermost sync region is recorded already
  std::uint64_t sync_end_ticks = 0;
  std::uint64_t latest_work = 0;  // where the worksharing construct is that has just ended
  const void* latest_fork =
      nullptr;  // where the call returns to that opened the latest region
  std::uint64_t latest_outermost = 0;  // instance of the latest one whose epochs count
  LateEvents late;
  LockRow locks;
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

extern TaskSites g_sites;
extern constinit OutermostJoins g_joins;
// LLVM's runtime reports a sync region and its wait directly one after the other, at the begin and at the end, but that of a
// taskgroup: the pair needs one time stamp and one record, and waits need no callbacks.
extern bool g_waits_adjoin;

using runtime::g_session;
using runtime::Scope;
using runtime::t_thread;

inline std::uint64_t address_of(const void* code) noexcept {
  return runtime::code_address(code);
}

// The word that OMPT keeps for us with a region or a task: one thread writes it, others read
// it. The runtime ensures the order; relaxed is a plain move, and makes the sharing visible to
// the compiler and the thread sanitizer.
inline std::uint64_t word_of(const ompt_data_t* data) noexcept {
  return data == nullptr ? 0 : __atomic_load_n(&data->value, __ATOMIC_RELAXED);
}
inline void keep_word(ompt_data_t* data, std::uint64_t word) noexcept {
  __atomic_store_n(&data->value, word, __ATOMIC_RELAXED);
}

inline spool::RecordWords make(spool::Kind kind, std::uint64_t ticks, std::uint64_t payload,
                               std::uint8_t sub = 0, std::uint64_t a48 = 0) noexcept {
  return spool::record_words(kind, ticks, payload, sub, a48);
}

// Returns true if this is the primary thread, directly in one of its outermost regions: every thread of
// the team reaches the same constructs in the same order, so it may feed the agent.
inline bool feeds_agent(const recorder::ThreadRecorder& recorder,
                        const Membership* team) noexcept {
  if (team == nullptr || team->index != 0 || !team->team.counts_epochs()) return false;
  const spool::Record* top = recorder.top();
  return g_session->auto_symbols() && top != nullptr &&
         top->kind == spool::kImplicitTaskBegin;
}

// Outside of all teams: whether the thread is in no task either, so that constructs come in the same order in every run.
inline bool in_order_outside(const recorder::ThreadRecorder& recorder) noexcept {
  const spool::Record* top = recorder.top();
  return top == nullptr || top->kind == spool::kUserEnter ||
         top->kind == spool::kFunctionEnter;
}

// When another member of a team than the first learns of the end, its next region has
// begun: what counts is the time of the join. For outermost regions the writer of the
// archive finds it in the primary thread's records, so the records have the time at which the end
// was learned, and only the call tree the true one.
inline std::uint64_t end_time(const Membership& member) noexcept {
  const std::uint64_t now = recorder::Clock::now();
  return member.index == 0 || member.team.counts_epochs()
             ? now
             : g_session->joins().joined(member.team.instance, now);
}

// When it truly was.
inline std::uint64_t true_end(const Membership& member, std::uint64_t ticks) noexcept {
  return member.index == 0 || !member.team.counts_epochs()
             ? ticks
             : g_joins.joined(member.team.instance, ticks);
}

// What a worker waited from the fork to its start in the region is thread management.
inline void count_fork(recorder::ThreadRecorder& recorder, Membership& member) noexcept {
  if (member.begin_ticks == 0) return;
  recorder.began_late(
      g_joins.forked(member.team.instance, member.after, member.begin_ticks),
      member.begin_ticks);
  member.begin_ticks = 0;
}

// Records what was kept (LateEvents).
__attribute__((hot)) void record_late(recorder::ThreadRecorder& recorder) noexcept;

// Registers our callbacks with the runtime; in the file that has them.
void set_sync_callbacks(ompt_set_callback_t set) noexcept;
void set_task_callbacks(ompt_set_callback_t set) noexcept;
void set_target_callbacks(ompt_set_callback_t set) noexcept;
// There are helper threads of the runtime: their barriers are looked at.
void set_callbacks_with_helpers(ompt_set_callback_t set) noexcept;
// There are devices: their tasks are looked at.
void expect_devices() noexcept;

template <typename Function>
ompt_callback_t callback(Function* function) noexcept {
  return reinterpret_cast<ompt_callback_t>(function);
}

}  // namespace refrain::ompt
