// What the callbacks of the OMPT source share; private to tracer/ompt.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Team callbacks are in ompt_source.cc, those of
// worksharing and synchronisation in sync_callbacks.cc, of devices in target_callbacks.cc, the others in
// task_callbacks.cc.
#pragma once

#include <omp-tools.h>

#include "tracer/ompt/outermost_joins.h"
#include "tracer/ompt/thread_state.h"
#include "tracer/recorder/clock.h"
#include "tracer/runtime/code_address.h"
#include "tracer/runtime/this_thread.h"

namespace refrain::ompt {

extern TaskSites g_sites;
extern constinit OutermostJoins g_joins;
// LLVM's runtime reports a sync region and its wait directly one after the other, at the
// begin and at the end: the pair needs one time stamp and one record.
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
void record_late(recorder::ThreadRecorder& recorder) noexcept;

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
