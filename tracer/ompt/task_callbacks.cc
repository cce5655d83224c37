// OMPT callbacks of explicit tasks, mutual exclusion, flush and cancel.
#include "tracer/ompt/callbacks.h"
#include "tracer/ompt/program_places.h"

namespace refrain::ompt {
namespace {

using recorder::Clock;

ompt_set_callback_t g_set = nullptr;

void on_task_create(ompt_data_t* creator, const ompt_frame_t*, ompt_data_t* created,
                    int flags, int, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t address = task_place(code, *scope, creator);
  const TaskWord word{scope->next_task(), g_sites.number(address),
                      static_cast<std::uint16_t>(t_thread.location)};
  keep_word(created, word.pack());
  scope->moment(make(spool::kTaskCreate, Clock::now(), address,
                     static_cast<std::uint8_t>(flags), word.id()));
}

void on_task_schedule(ompt_data_t* prior, ompt_task_status_t status,
                      ompt_data_t* next) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t prior_word = word_of(prior);
  const std::uint64_t next_word = word_of(next);
  const TaskWord task = TaskWord::unpack(next_word);
  std::uint64_t flags = 0;
  if (next_word != 0) flags |= spool::kTaskNextExplicit;
  if (prior_word != 0) flags |= spool::kTaskPriorExplicit;
  scope->task_schedule(make(spool::kTaskSchedule, Clock::now(),
                            g_sites.address(next_word == 0 ? 0 : task.site) | flags << 48,
                            static_cast<std::uint8_t>(status),
                            next_word == 0 ? 0 : task.id()));
}

// The same in programs with devices. The helper threads that execute target constructs with nowait
// never stand together: they come to the primary thread's epoch between tasks.
void on_task_schedule_with_devices(ompt_data_t* prior, ompt_task_status_t status,
                                   ompt_data_t* next) noexcept {
  if (word_of(prior) == 0 && word_of(next) != 0) {
    const Scope scope;
    if (scope) scope->uncount_event();  // it is counted below
    if (scope && t_state.helper && t_thread.teams_open == 0 &&
        scope->epoch() != g_session->epoch())
      g_session->reach_epoch(*scope, g_session->epoch(), Clock::now());
  }
  on_task_schedule(prior, status, next);
}

// --- Mutual exclusion, flush, cancel ------------------------------------------------

void on_mutex_acquire(ompt_mutex_t kind, unsigned, unsigned, ompt_wait_id_t id,
                      const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->mutex_acquire(make(spool::kMutexAcquire, Clock::now(), address_of(code),
                            static_cast<std::uint8_t>(kind), id & spool::kAddressMask));
}

void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->mutex_acquired(make(spool::kMutexAcquired, Clock::now(), address_of(code),
                             static_cast<std::uint8_t>(kind), id & spool::kAddressMask));
}

void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t id, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->mutex_released(make(spool::kMutexReleased, Clock::now(), address_of(code),
                             static_cast<std::uint8_t>(kind), id & spool::kAddressMask));
}

void on_nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t id,
                  const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->nest_lock(make(spool::kNestLock, Clock::now(), address_of(code),
                        static_cast<std::uint8_t>(endpoint), id & spool::kAddressMask));
}

void on_flush(ompt_data_t*, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->moment(make(spool::kFlush, Clock::now(), address_of(code)));
}

void on_cancel(ompt_data_t* task, int flags, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  if ((flags & ompt_cancel_parallel) != 0) g_session->epochs().team_cancelled();
  scope->moment(make(spool::kCancel, Clock::now(), construct_place(code, *scope, task), 0,
                     static_cast<std::uint32_t>(flags)));
}

}  // namespace

void expect_devices() noexcept {
  g_set(ompt_callback_task_schedule, callback(on_task_schedule_with_devices));
}

void set_task_callbacks(ompt_set_callback_t set) noexcept {
  g_set = set;
  set(ompt_callback_task_create, callback(on_task_create));
  set(ompt_callback_task_schedule, callback(on_task_schedule));
  set(ompt_callback_mutex_acquire, callback(on_mutex_acquire));
  set(ompt_callback_mutex_acquired, callback(on_mutex_acquired));
  set(ompt_callback_mutex_released, callback(on_mutex_released));
  set(ompt_callback_nest_lock, callback(on_nest_lock));
  set(ompt_callback_flush, callback(on_flush));
  set(ompt_callback_cancel, callback(on_cancel));
}

}  // namespace refrain::ompt
