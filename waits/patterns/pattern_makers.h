// What the patterns' files share, and the functions that make them. The patterns are next to this, by family.
//
// Place in the flow: private to waits/patterns; pattern_table.cc lists them. Thread-safety: pure.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "waits/metrics/pattern.h"

namespace refrain::waits {

// From the call's enter until then; nothing, if that was before.
inline Ticks wait_until(const Call& call, Ticks time) {
  return std::min(time, call.leave) - std::min(call.enter, std::min(time, call.leave));
}

// The same without what the thread ran in the call meanwhile.
inline Ticks wait_until(const Call& call, Ticks time, Ticks ran) {
  const Ticks wait = wait_until(call, time);
  return wait - std::min(wait, ran);
}

// What the operation took when everybody was there.
inline Ticks completion(const CollectiveMember& member) {
  const Ticks ready = std::max(member.earliest_leave, member.latest_enter);
  return member.call.leave - std::min(member.call.leave, ready);
}

// In the order in which they are asked and listed: a parent before its children, and whoever takes time out of a call
// before those that get what is left.
#define REFRAIN_PATTERNS(X)     \
  X(init_completion)            \
  X(finalize_wait)              \
  X(barrier_wait)               \
  X(barrier_completion)         \
  X(late_sender)                \
  X(wrong_order)                \
  X(wrong_order_different)      \
  X(wrong_order_same)           \
  X(late_receiver)              \
  X(early_reduce)               \
  X(early_scan)                 \
  X(late_broadcast)             \
  X(wait_nxn)                   \
  X(nxn_completion)             \
  X(neighbor_wait)              \
  X(nonblocking_collective)     \
  X(rma_wait_at_create)         \
  X(rma_wait_at_free)           \
  X(rma_wait_at_fence)          \
  X(rma_early_fence)            \
  X(rma_sync_late_post)         \
  X(rma_comm_late_post)         \
  X(rma_early_wait)             \
  X(rma_late_complete)          \
  X(rma_sync_lock_competition)  \
  X(rma_sync_wait_for_progress) \
  X(rma_comm_lock_competition)  \
  X(rma_comm_wait_for_progress) \
  X(fork)                       \
  X(explicit_barrier_wait)      \
  X(implicit_barrier_wait)      \
  X(taskwait_wait)              \
  X(critical_contention)        \
  X(lock_contention)            \
  X(limited_parallelism)

// Views of their own.
std::unique_ptr<Pattern> make_wavefront_refill();
void add_wavefront_directions(std::vector<std::unique_ptr<Pattern>>& patterns);

#define REFRAIN_MAKER(name) std::unique_ptr<Pattern> make_##name();
REFRAIN_PATTERNS(REFRAIN_MAKER)
#undef REFRAIN_MAKER

}  // namespace refrain::waits
