// OMPT callbacks of worksharing, barriers and other synchronisation, masked, reduction.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tracer/ompt/callbacks.h"
#include "tracer/ompt/program_places.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/notices.h"

namespace refrain::ompt {

namespace {

using recorder::Clock;
using recorder::ThreadRecorder;
using spool::Record;
using spool::RecordWords;

// gcc's programs report the start of a single for the thread that executes it, not the
// end. It ended at the latest where the task reaches its next worksharing or barrier.
__attribute__((noinline)) void drop_work(ThreadRecorder& recorder,
                                         std::uint64_t ticks) noexcept {
  while (recorder.top() != nullptr && recorder.top()->kind == spool::kWorkBegin)
    recorder.drop_top(ticks);
}
void close_unended_work(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  const Record* const top = recorder.top();
  if (top != nullptr && top->kind == spool::kWorkBegin) [[unlikely]]
    drop_work(recorder, ticks);
}

bool may_nest_in_work(ompt_work_t type, const Record* top) noexcept {
  return type == ompt_work_taskloop || (top != nullptr && top->kind == spool::kWorkBegin &&
                                        top->sub == ompt_work_distribute);
}

std::uint8_t symbol_sub(ompt_work_t type) noexcept {
  // Which thread executes a single is nondeterministic: one symbol for both.
  return static_cast<std::uint8_t>(
      type == ompt_work_single_other ? ompt_work_single_executor : type);
}

void on_work(ompt_work_t type, ompt_scope_endpoint_t endpoint, ompt_data_t*,
             ompt_data_t* task, std::uint64_t count, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = Clock::now();
  if (t_loop_call != nullptr) code = t_loop_call;
  const std::uint64_t address =
      code == nullptr
          ? place_in_runtime(code, *scope, task)
          : construct_place(code, *scope, task,
                            type == ompt_work_taskloop && endpoint == ompt_scope_begin);
  const auto sub = static_cast<std::uint8_t>(type);
  if (endpoint == ompt_scope_begin || endpoint == ompt_scope_beginend) {
    if (!may_nest_in_work(type, scope->top())) close_unended_work(*scope, ticks);
    if (feeds_agent(*scope, t_state.team()))
      g_session->on_symbol(
          *scope, runtime::make_symbol(spool::kWorkBegin, symbol_sub(type), address),
          ticks);
    scope->begin(
        make(spool::kWorkBegin, ticks, address, sub, std::min(count, spool::kAddressMask)));
  }
  if (endpoint == ompt_scope_end || endpoint == ompt_scope_beginend) {
    const Record* const top = scope->top();
    const bool ends_top = top != nullptr && top->kind == spool::kWorkBegin;
    t_state.latest_work = ends_top ? top->payload & spool::kAddressMask : 0;
    scope->end(make(spool::kWorkEnd, ticks, address, sub));
    if (feeds_agent(*scope, t_state.team()))
      g_session->on_symbol_end(ticks, scope->depth());
  }
}

bool is_barrier(ompt_sync_region_t kind) noexcept {
  switch (kind) {
    case ompt_sync_region_barrier:
    case ompt_sync_region_barrier_implicit:
    case ompt_sync_region_barrier_explicit:
    case ompt_sync_region_barrier_implementation:
    case ompt_sync_region_barrier_implicit_workshare:
      return true;
    default:
      return false;
  }
}

// Runtimes before LLVM 15 have one kind for all implicit barriers. At that which ends a region the
// primary is where the region began, and a worker nowhere.
ompt_sync_region_t kind_in_team(ompt_sync_region_t kind, const void* code,
                                const Membership* team) noexcept {
  if (kind != ompt_sync_region_barrier_implicit || team == nullptr) return kind;
  const bool joins =
      team->index != 0 ? code == nullptr : code != nullptr && code == team->fork;
  return joins ? ompt_sync_region_barrier_implicit_parallel : kind;
}

// Barriers that have no other symbol: the implicit ones follow a construct that has one.
bool gives_symbol(ompt_sync_region_t kind) noexcept {
  return is_barrier(kind) && kind != ompt_sync_region_barrier_implicit_workshare;
}

bool ends_team(ompt_sync_region_t kind) noexcept {
  return kind == ompt_sync_region_barrier_implicit_parallel ||
         kind == ompt_sync_region_barrier_teams;
}

std::uint64_t sync_end_time(ompt_sync_region_t kind, const Membership* team) noexcept {
  return kind == ompt_sync_region_barrier_implicit_parallel && team != nullptr
             ? end_time(*team)
             : Clock::now();
}

std::uint64_t true_sync_end(ompt_sync_region_t kind, const Membership* team,
                            std::uint64_t ticks) noexcept {
  return ends_team(kind) && team != nullptr ? true_end(*team, ticks) : ticks;
}

// This thread has passed a barrier of the team.
void pass_barrier(ThreadRecorder& recorder, ompt_sync_region_t kind, Membership& team,
                  std::uint64_t ticks) noexcept {
  if (team.index != 0) {
    count_fork(recorder, team);
    g_session->reach_epoch(recorder, recorder.epoch() + 1, ticks);
  } else {
    if (gives_symbol(kind) && feeds_agent(recorder, &team))
      g_session->on_symbol_end(ticks, recorder.depth());
    g_session->advance_epoch(recorder, ticks);
  }
}

// The barrier at the end of a loop, single or sections.
bool may_end_work(ompt_sync_region_t kind) noexcept {
  return kind == ompt_sync_region_barrier_implicit ||
         kind == ompt_sync_region_barrier_implicit_workshare;
}

// Of the barrier that ends the thread's innermost region; 0: not known.
std::uint64_t team_end_place(const ThreadRecorder& recorder) noexcept {
  const std::uint32_t depth = recorder.depth();
  if (depth < 2 || depth == spool::kMaxDepth ||
      recorder.top()->kind != spool::kImplicitTaskBegin)
    return 0;
  const Record& region = recorder.open_region(depth - 2);
  return region.kind == spool::kParallelBegin ? region.payload & spool::kAddressMask : 0;
}

std::uint64_t sync_place(ThreadRecorder& recorder, ompt_sync_region_t kind,
                         const void* code, const ompt_data_t* task) noexcept {
  const std::uint64_t after_work = std::exchange(t_state.latest_work, 0);
  // Of gcc's programs the runtime does not say all.
  if (code == nullptr)
    return kind == ompt_sync_region_barrier_implementation
               ? place_in_runtime(code, recorder, task)
               : 0;
  if (ends_team(kind)) {
    // As the region: its own function may be its place.
    if (const std::uint64_t place = team_end_place(recorder); place != 0) return place;
  }
  if (after_work != 0 && may_end_work(kind) &&
      is_runtime_code(reinterpret_cast<std::uint64_t>(code))) [[unlikely]]
    return after_work;
  return construct_place(code, recorder, task);
}

// A wait has no callback of its own.
bool adjoins_wait(ompt_sync_region_t kind) noexcept {
  return g_waits_adjoin && kind != ompt_sync_region_taskgroup;
}

bool ends_with_wait(const ThreadRecorder& recorder, std::uint8_t sub) noexcept {
  const Record* const top = recorder.top();
  return top != nullptr && top->kind == spool::kSyncRegionBegin && top->sub == sub &&
         top->aux16 == spool::kWaitToo;
}

// The runtime's.
ompt_set_callback_t g_set = nullptr;
void on_sync_region_wait(ompt_sync_region_t, ompt_scope_endpoint_t, ompt_data_t*,
                         ompt_data_t*, const void*) noexcept;

// The runtime calls back for waits from here on: there are some that no other callback says.
std::atomic<bool> g_waits_reported{false};
void report_waits() noexcept {
  if (!g_waits_reported.load(std::memory_order_relaxed) && !g_waits_reported.exchange(true))
    g_set(ompt_callback_sync_region_wait, callback(on_sync_region_wait));
}

void begin_sync_region(ThreadRecorder& recorder, ompt_sync_region_t kind, const void* code,
                       const ompt_data_t* task) noexcept {
  const std::uint64_t ticks = Clock::now();
  const std::uint64_t address = sync_place(recorder, kind, code, task);
  if (is_barrier(kind) || ends_team(kind)) close_unended_work(recorder, ticks);
  if (gives_symbol(kind) && feeds_agent(recorder, t_state.team()))
    g_session->on_symbol(recorder,
                         runtime::make_symbol(spool::kSyncRegionBegin,
                                              static_cast<std::uint8_t>(kind), address),
                         ticks);
  const bool wait_too = adjoins_wait(kind);
  if (wait_too)
    recorder.count_event();
  else
    report_waits();
  recorder.begin(make(spool::kSyncRegionBegin, ticks, address,
                      static_cast<std::uint8_t>(kind),
                      wait_too ? std::uint64_t{spool::kWaitToo} << 32 : 0));
}

__attribute__((noinline, hot)) void take_sync_region(ompt_sync_region_t kind,
                                                     ompt_scope_endpoint_t endpoint,
                                                     ompt_data_t* task,
                                                     const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  Membership* const team = t_state.team();
  kind = kind_in_team(kind, code, team);
  if (endpoint == ompt_scope_begin) return begin_sync_region(*scope, kind, code, task);
  std::uint64_t ticks = t_state.sync_end_ticks;
  if (!t_state.sync_end_reported) {
    ticks = sync_end_time(kind, team);
    const auto sub = static_cast<std::uint8_t>(kind);
    const bool wait_too = ends_with_wait(*scope, sub);
    if (wait_too) scope->count_event();
    scope->end(make(spool::kSyncRegionEnd, ticks, address_of(code), sub,
                    wait_too ? std::uint64_t{spool::kWaitToo} << 32 : 0),
               true_sync_end(kind, team, ticks));
  }
  t_state.sync_end_reported = false;
  if (is_barrier(kind) && team != nullptr && team->team.counts_epochs())
    pass_barrier(*scope, kind, *team, ticks);
}

// The barrier that ends an outermost region of the primary thread: what else ends is reported next (LateEvents).
bool ends_late(ompt_sync_region_t kind, const void* code) noexcept {
  const Membership* const team = t_state.team();
  ThreadRecorder* const recorder = t_thread.recorder;
  if (!g_waits_adjoin || team == nullptr || !team->team.counts_epochs() ||
      recorder == nullptr || t_thread.late != nullptr || recorder->busy())
    return false;
  kind = kind_in_team(kind, code, team);
  if (kind != ompt_sync_region_barrier_implicit_parallel ||
      !ends_with_wait(*recorder, static_cast<std::uint8_t>(kind)))
    return false;
  if (team->index == 0)
    t_state.late.end_ticks = Clock::now();
  else
    g_joins.will_ask(team->team.instance);  // a worker wakes: it is on its way
  t_state.late.end_code = code;
  t_state.late.ended = LateEvents::Ended::kBarrier;
  t_thread.late = record_late;
  return true;
}

__attribute__((hot)) void on_sync_region(ompt_sync_region_t kind,
                                         ompt_scope_endpoint_t endpoint, ompt_data_t*,
                                         ompt_data_t* task, const void* code) noexcept {
  if (endpoint == ompt_scope_begin || !ends_late(kind, code))
    take_sync_region(kind, endpoint, task, code);
}

void take_sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                           const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const Membership* const team = t_state.team();
  kind = kind_in_team(kind, code, team);
  const auto sub = static_cast<std::uint8_t>(kind);
  if (endpoint == ompt_scope_begin) {
    Record* last = scope->last();
    if (g_waits_adjoin && last != nullptr && last->kind == spool::kSyncRegionBegin &&
        last->sub == sub) {
      last->aux16 = spool::kWaitToo;
      scope->top_mutable()->aux16 = spool::kWaitToo;
      return;
    }
    return scope->begin(make(spool::kWaitBegin, Clock::now(), address_of(code), sub));
  }
  const std::uint64_t ticks = sync_end_time(kind, team);
  const std::uint64_t true_ticks = true_sync_end(kind, team, ticks);
  if (!ends_with_wait(*scope, sub))
    return scope->end(make(spool::kWaitEnd, ticks, address_of(code), sub), true_ticks);
  scope->end(make(spool::kSyncRegionEnd, ticks, address_of(code), sub,
                  std::uint64_t{spool::kWaitToo} << 32),
             true_ticks);
  t_state.sync_end_reported = true;
  t_state.sync_end_ticks = ticks;
}

void on_sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                         ompt_data_t*, ompt_data_t*, const void* code) noexcept {
  if (!adjoins_wait(kind)) take_sync_region_wait(kind, endpoint, code);
}

void on_reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*,
                  ompt_data_t*, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const bool begins = endpoint == ompt_scope_begin;
  const RecordWords record =
      make(begins ? spool::kReductionBegin : spool::kReductionEnd, Clock::now(),
           address_of(code), static_cast<std::uint8_t>(kind));
  begins ? scope->begin(record) : scope->end(record);
}

void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*,
               const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const bool begins = endpoint == ompt_scope_begin;
  const RecordWords record = make(begins ? spool::kMaskedBegin : spool::kMaskedEnd,
                                  Clock::now(), address_of(code));
  begins ? scope->begin(record) : scope->end(record);
}

// In the team of the runtime's helper threads, which is not recorded.
bool among_helpers() noexcept { return t_state.helper && t_thread.teams_open == 0; }

void on_sync_region_with_helpers(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                                 ompt_data_t* parallel, ompt_data_t* task,
                                 const void* code) noexcept {
  if (among_helpers() && (is_barrier(kind) || ends_team(kind))) return;
  on_sync_region(kind, endpoint, parallel, task, code);
}

void on_masked_with_helpers(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                            ompt_data_t* task, const void* code) noexcept {
  if (!among_helpers()) on_masked(endpoint, parallel, task, code);
}

}  // namespace

void set_callbacks_with_helpers(ompt_set_callback_t set) noexcept {
  set(ompt_callback_masked, callback(on_masked_with_helpers));
  set(ompt_callback_sync_region, callback(on_sync_region_with_helpers));
}

void set_sync_callbacks(ompt_set_callback_t set) noexcept {
  g_set = set;
  g_waits_reported.store(false);
  set(ompt_callback_work, callback(on_work));
  set(ompt_callback_masked, callback(on_masked));
  set(ompt_callback_sync_region, callback(on_sync_region));
  if (!g_waits_adjoin) report_waits();
  set(ompt_callback_reduction, callback(on_reduction));
}

// OMPT callbacks of explicit tasks, mutual exclusion, flush and cancel.

namespace {

using recorder::Clock;

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

// Outside of all teams a critical section or lock is a symbol and begins an epoch: there are loops of nothing else. (Inside, who
// gets it when is nondeterministic; so is how often a lock is tested, and how many polls have one between them.)
bool is_symbol(const ThreadRecorder& recorder, ompt_mutex_t kind) noexcept {
  if (t_thread.teams_open != 0 || !g_session->primary().is(&recorder)) return false;
  return (kind == ompt_mutex_critical || kind == ompt_mutex_lock ||
          kind == ompt_mutex_nest_lock) &&
         in_order_outside(recorder) && g_session->auto_symbols() && !recorder.polls_now();
}

void on_mutex_acquire(ompt_mutex_t kind, unsigned, unsigned, ompt_wait_id_t id,
                      const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = Clock::now();
  const std::uint64_t address = address_of(code);
  const auto sub = static_cast<std::uint8_t>(kind);
  if (is_symbol(*scope, kind)) {
    g_session->begin_epoch_outside(*scope, ticks, true);
    g_session->on_symbol(*scope, runtime::make_symbol(spool::kMutexAcquire, sub, address),
                         ticks);
    t_state.lock_is_symbol = true;
  }
  scope->mutex_acquire(
      make(spool::kMutexAcquire, ticks, address, sub, id & spool::kAddressMask));
}

void on_mutex_not_recorded(ompt_mutex_t kind, unsigned, unsigned, ompt_wait_id_t,
                           const void*) noexcept {
  static std::atomic<bool> said{false};
  if (kind == ompt_mutex_atomic || kind == ompt_mutex_ordered || said.exchange(true) ||
      !runtime::speaks_for_job())
    return;
  const recorder::SlowPath slow_path;
  runtime::warn(
      "critical sections and locks are not recorded: OpenMP began on another thread than the "
      "main one, and its runtime would crash in them when that one has ended");
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
  const std::uint64_t ticks = Clock::now();
  scope->mutex_released(make(spool::kMutexReleased, ticks, address_of(code),
                             static_cast<std::uint8_t>(kind), id & spool::kAddressMask));
  if (std::exchange(t_state.lock_is_symbol, false))
    g_session->on_symbol_end(ticks, scope->depth());
  else if (g_locks.in_full != 0)
    t_state.locks.released(*scope, g_locks);
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

LockRow::Limits g_locks;

std::uint64_t& LockRow::count_of(std::uint64_t code) noexcept {
  for (std::size_t i = 0; i != used_; ++i)
    if (places_[i].code == code) return places_[i].count;
  if (used_ == kMaxPlaces) return elsewhere_ = 0;
  places_[used_] = {code, 0};
  return places_[used_++].count;
}

void LockRow::released(ThreadRecorder& recorder, const Limits& limits) noexcept {
  const Record* const released = recorder.last(0);
  const Record* const acquired = recorder.last(1);
  const Record* const acquire = recorder.last(2);
  if (acquire == nullptr || released->kind != spool::kMutexReleased ||
      acquired->kind != spool::kMutexAcquired || acquire->kind != spool::kMutexAcquire)
    return;
  const Record* const before = recorder.last(3);
  if (before == nullptr || before->kind != spool::kMutexReleased || before->ticks != end_)
    used_ = 0;
  const std::uint64_t count = ++count_of(released->payload);
  if (count > limits.in_full && released->ticks - acquire->ticks <= limits.maximum_ticks)
    recorder.leave_out_lock();
  else
    end_ = released->ticks;
}

void expect_devices() noexcept {
  g_set(ompt_callback_task_schedule, callback(on_task_schedule_with_devices));
}

void set_task_callbacks(ompt_set_callback_t set) noexcept {
  set(ompt_callback_task_create, callback(on_task_create));
  set(ompt_callback_task_schedule, callback(on_task_schedule));
  set(ompt_callback_flush, callback(on_flush));
  set(ompt_callback_cancel, callback(on_cancel));
  // LLVM's runtime (14 to 19) takes the place of a critical section's end from the thread that it has begun with, which is gone when
  // that has ended.
  if (syscall(SYS_gettid) != getpid()) {
    set(ompt_callback_mutex_acquire, callback(on_mutex_not_recorded));
    return;
  }
  set(ompt_callback_mutex_acquire, callback(on_mutex_acquire));
  set(ompt_callback_mutex_acquired, callback(on_mutex_acquired));
  set(ompt_callback_mutex_released, callback(on_mutex_released));
  set(ompt_callback_nest_lock, callback(on_nest_lock));
}

}  // namespace refrain::ompt
