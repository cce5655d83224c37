// Which recorder is the primary thread's: the first one that claims it.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Only this thread feeds the detector, numbers the epochs and writes the journal.
//
// What all others rely on: epochs only grow, and a thread that is suspended learns what to write when it looks at the board,
// where the primary thread has decided it. It need not speak again:
//   - Its thread may end (leave()). Its place is vacant then, and the next thread that could have claimed it, with no region
//     open, goes on with its recorder: so one location has the symbols and the epochs of the whole run.
//   - It may wait for others. A thread whose ring would forget what an unusually long iteration needs, or that passes an end of
//     the time window, does what it would do, as its deputy (Session::Deputy), with the role set aside meanwhile.
//
// Thread-safety: is(), claim() and vacant() from any thread; the others under the session's lock. A callback must ask while
// its recorder is in use: then either it sees that the role is set aside, or who has done that sees it (a barrier in all
// threads is between the two, as in lifecycle.cc, section 3).
// Cost: a relaxed load, once a compare-exchange.
#pragma once

#include <atomic>

#include "spool/format.h"
#include "tracer/recorder/thread_recorder.h"

namespace refrain::runtime {

class PrimaryThread {
 public:
  // Claims the primary role if it is free; returns true if `recorder` holds it.
  bool claim(recorder::ThreadRecorder* recorder) noexcept {
    recorder::ThreadRecorder* const now = recorder_.load(std::memory_order_relaxed);
    return now == recorder || (now == nullptr && claim_slow(recorder));
  }
  bool is(const recorder::ThreadRecorder* recorder) const noexcept {
    return recorder_.load(std::memory_order_relaxed) == recorder;
  }
  // Also while the role is set aside or vacant; null: nobody has claimed it.
  recorder::ThreadRecorder* recorder() const noexcept { return place_.load(); }

  // Its thread has ended, and no other has its place.
  bool vacant() const noexcept { return vacant_.load(std::memory_order_relaxed); }
  void leave() noexcept { vacant_.store(true); }
  void take() noexcept { vacant_.store(false); }

  // Nobody is the primary thread, and nobody can become it. Who was; null: nobody.
  recorder::ThreadRecorder* set_aside() noexcept { return recorder_.exchange(nobody()); }
  void bring_back(recorder::ThreadRecorder* recorder) noexcept {
    recorder_.store(recorder);
  }

 private:
  recorder::ThreadRecorder* nobody() noexcept {
    return reinterpret_cast<recorder::ThreadRecorder*>(&vacant_);  // is no recorder
  }

  [[gnu::noinline, gnu::cold]] bool claim_slow(
      recorder::ThreadRecorder* recorder) noexcept {
    recorder::ThreadRecorder* none = nullptr;
    if (!recorder_.compare_exchange_strong(none, recorder)) return none == recorder;
    place_.store(recorder);
    recorder->header().role = spool::kRolePrimary;
    return true;
  }

  std::atomic<recorder::ThreadRecorder*> recorder_{nullptr};
  std::atomic<recorder::ThreadRecorder*> place_{nullptr};
  std::atomic<bool> vacant_{false};
};

}  // namespace refrain::runtime
