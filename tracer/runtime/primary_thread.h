// Which recorder is the primary thread's: the first one that claims it.
//
// Place in the flow: ARCHITECTURE.md, step 4. Only this thread feeds the detector and writes the
// journal. Thread-safety: any thread. Cost: a relaxed load, once a compare-exchange.
#pragma once

#include <atomic>

#include "spool/format.h"
#include "tracer/recorder/thread_recorder.h"

namespace refrain::runtime {

class PrimaryThread {
 public:
  // Makes `recorder` the primary one if there is none yet; whether it is the primary.
  bool claim(recorder::ThreadRecorder* recorder) noexcept {
    recorder::ThreadRecorder* const now = recorder_.load(std::memory_order_relaxed);
    return now == recorder || (now == nullptr && claim_slow(recorder));
  }
  bool is(const recorder::ThreadRecorder* recorder) const noexcept {
    return recorder_.load(std::memory_order_relaxed) == recorder;
  }
  recorder::ThreadRecorder* recorder() const noexcept { return recorder_.load(); }

 private:
  [[gnu::noinline, gnu::cold]] bool claim_slow(
      recorder::ThreadRecorder* recorder) noexcept {
    recorder::ThreadRecorder* none = nullptr;
    if (!recorder_.compare_exchange_strong(none, recorder)) return none == recorder;
    recorder->header().role = spool::kRolePrimary;
    return true;
  }

  std::atomic<recorder::ThreadRecorder*> recorder_{nullptr};
};

}  // namespace refrain::runtime
