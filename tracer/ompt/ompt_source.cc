// Event source for OpenMP: OMPT callbacks become records of the calling thread.
//
// Place in the flow: ARCHITECTURE.md, step 2. The runtime finds ompt_start_tool() in us
// (OMP_TOOL_LIBRARIES, LD_PRELOAD or a linked library), asks once, and calls back.
//
// Reentrancy: every callback begins with a Scope; an event that comes while one is open
// (a signal handler's) is counted as lost. errno: nothing on the fast path makes system
// calls; the slow paths keep it (Scope).
#include "tracer/ompt/ompt_source.h"

#include <omp-tools.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tracer/ompt/task_sites.h"
#include "tracer/ompt/thread_state.h"
#include "tracer/recorder/clock.h"
#include "tracer/runtime/lifecycle.h"
#include "tracer/runtime/session.h"

namespace refrain::ompt {

constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

namespace {

using recorder::Clock;
using recorder::ThreadRecorder;
using runtime::Session;
using spool::Record;
using spool::RecordWords;

Session* g_session = nullptr;
TaskSites g_sites;
// LLVM's runtime tells a sync region and its wait one directly after the other, at the
// begin and at the end: the pair needs one time stamp and one record.
bool g_waits_adjoin = false;

// A callback in progress on this thread.
class Scope {
 public:
  Scope() noexcept : recorder_(t_state.recorder) {
    if (recorder_ == nullptr) return;
    if (!recorder_->enter()) {
      recorder_ = nullptr;
      return;
    }
    // After enter(): see Session::finish().
    if (!g_session->recording()) [[unlikely]] {
      recorder_->count_loss(g_session->stop_cause());
      recorder_->leave();
      recorder_ = nullptr;
    }
  }
  ~Scope() {
    if (recorder_ != nullptr) recorder_->leave();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  explicit operator bool() const noexcept { return recorder_ != nullptr; }
  ThreadRecorder& operator*() const noexcept { return *recorder_; }
  ThreadRecorder* operator->() const noexcept { return recorder_; }

 private:
  ThreadRecorder* recorder_;
};

std::uint64_t address_of(const void* code) noexcept {
  return reinterpret_cast<std::uint64_t>(code) & spool::kAddressMask;
}

// The word that OMPT keeps for us with a region or a task: one thread writes it, others read
// it. The runtime sees to the order; relaxed is a plain move, and says what happens here to
// the compiler and the thread sanitizer.
std::uint64_t word_of(const ompt_data_t* data) noexcept {
  return data == nullptr ? 0 : __atomic_load_n(&data->value, __ATOMIC_RELAXED);
}
void keep_word(ompt_data_t* data, std::uint64_t word) noexcept {
  __atomic_store_n(&data->value, word, __ATOMIC_RELAXED);
}

RecordWords make(spool::Kind kind, std::uint64_t ticks, std::uint64_t payload,
                 std::uint8_t sub = 0, std::uint64_t a48 = 0) noexcept {
  return spool::record_words(kind, ticks, payload, sub, a48);
}

// Whether the innermost thing that this thread is in is an outermost region of the
// primary thread, and it is the primary thread: what it meets here every thread of the
// team meets in the same order, so it may feed the agent.
bool feeds_agent(const ThreadRecorder& recorder, const Membership* team) noexcept {
  if (team == nullptr || team->index != 0 || !team->team.counts_epochs()) return false;
  const Record* top = recorder.top();
  return g_session->auto_symbols() && top != nullptr && top->kind == spool::kImplicitTaskBegin;
}

// --- Threads and teams --------------------------------------------------------------

void attach_thread(spool::LocationRole role) noexcept {
  const int saved = errno;
  t_state.recorder = g_session->attach(role);
  if (t_state.recorder != nullptr)
    t_state.location = t_state.recorder->header().location;
  errno = saved;
}

void on_thread_begin(ompt_thread_t type, ompt_data_t*) noexcept {
  if (!g_session->recording() || t_state.recorder != nullptr) return;
  attach_thread(type == ompt_thread_worker ? spool::kRoleWorker : spool::kRoleRoot);
  Scope scope;
  if (!scope) return;
  scope->append(make(spool::kThreadBegin, Clock::now(),
                     static_cast<std::uint64_t>(syscall(SYS_gettid)),
                     static_cast<std::uint8_t>(type)));
}

void on_thread_end(ompt_data_t*) noexcept {
  {
    Scope scope;
    if (!scope) return;
    scope->append(make(spool::kThreadEnd, Clock::now(), 0));
  }
  g_session->detach(t_state.recorder);
  t_state = ThreadState{};
}

void on_parallel_begin(ompt_data_t*, const ompt_frame_t*, ompt_data_t* parallel,
                       unsigned requested, int flags, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = Clock::now();
  const std::uint64_t address = address_of(code);
  TeamWord word;
  std::uint8_t cut = 0;
  if (t_state.teams_open == 0 && g_session->claim_primary(&*scope)) {
    cut = g_session->begin_epoch(*scope, ticks);
    word.instance = scope->epoch();
    g_session->on_symbol(*scope, runtime::make_symbol(spool::kParallelBegin, 0, address),
                         ticks);
  } else if (t_state.teams_open == 0) {
    word.flags = spool::kTeamForeign;
    g_session->reach_epoch(*scope, g_session->epoch(), ticks);
    word.instance = g_session->begin_instance(scope->epoch());
  } else {
    word.flags = spool::kTeamNested;
    word.instance = g_session->begin_instance(scope->epoch());
  }
  keep_word(parallel, word.pack());
  std::uint8_t sub = word.flags | cut;
  if ((flags & ompt_parallel_league) != 0) sub |= spool::kTeamLeague;
  scope->begin(make(spool::kParallelBegin, ticks,
                    address | std::uint64_t{std::min(requested, 0xffffu)} << 48, sub,
                    word.instance));
}

void on_parallel_end(ompt_data_t* parallel, ompt_data_t*, int, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = Clock::now();
  const TeamWord word = TeamWord::unpack(word_of(parallel));
  scope->end(make(spool::kParallelEnd, ticks, address_of(code), word.flags, word.instance));
  if (word.counts_epochs()) {
    g_session->on_symbol_end(ticks, scope->depth());
  } else {
    g_session->join_instance(word.instance, ticks);
  }
}

// When a member of a team that is not its first learns of the end, its next region has
// begun: the time that counts is that of the join. For outermost regions the writer of
// the archive finds it in the primary thread's records; to fetch it here would cost the
// program a cache miss a region.
std::uint64_t end_time(const Membership& member) noexcept {
  const std::uint64_t now = Clock::now();
  return member.index == 0 || member.team.counts_epochs()
             ? now
             : g_session->joined_instance(member.team.instance, now);
}

void begin_implicit_task(ThreadRecorder& recorder, ompt_data_t* parallel, unsigned size,
                         unsigned index) noexcept {
  const std::uint64_t ticks = Clock::now();
  const TeamWord word = TeamWord::unpack(word_of(parallel));
  std::uint8_t cut = 0;
  if (index != 0 && word.counts_epochs())
    cut = g_session->join_epoch(recorder, word.instance, ticks);
  else if (index != 0)
    g_session->reach_epoch(recorder, g_session->instance_epoch(word.instance), ticks);
  t_state.enter_team({word, index});
  recorder.begin(make(spool::kImplicitTaskBegin, ticks, std::uint64_t{size} << 32 | index,
                      word.flags | cut, word.instance));
}

void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel, ompt_data_t*,
                      unsigned size, unsigned index, int flags) noexcept {
  Scope scope;
  if (!scope) return;
  const bool known_team = word_of(parallel) != 0;
  const bool initial = (flags & ompt_task_initial) != 0;
  if (endpoint == ompt_scope_begin && known_team)
    return begin_implicit_task(*scope, parallel, size, index);
  const Membership* member = t_state.team();
  if (endpoint == ompt_scope_end && t_state.teams_open > 0) {
    const Membership none{};
    const Membership& m = member != nullptr ? *member : none;
    // Where the barrier before it is told just before, its end is this end.
    const Record* last = scope->last();
    const bool adjoins = g_waits_adjoin && last != nullptr &&
                         last->kind == spool::kSyncRegionEnd &&
                         last->sub == ompt_sync_region_barrier_implicit_parallel;
    scope->end(make(spool::kImplicitTaskEnd, adjoins ? last->ticks : end_time(m),
                    std::uint64_t{size} << 32 | m.index, m.team.flags, m.team.instance));
    return t_state.leave_team();
  }
  if (!initial) return;
  scope->append(make(endpoint == ompt_scope_begin ? spool::kImplicitTaskBegin
                                                  : spool::kImplicitTaskEnd,
                     Clock::now(), std::uint64_t{size} << 32 | index, spool::kTeamInitial));
}

// --- Worksharing and synchronisation ------------------------------------------------

// gcc's programs tell the begin of a single for the thread that executes it, not the
// end. It ended at the latest where the task meets its next worksharing or barrier.
void close_unended_work(ThreadRecorder& recorder) noexcept {
  while (recorder.top() != nullptr && recorder.top()->kind == spool::kWorkBegin)
    recorder.drop_top();
}

bool may_nest_in_work(ompt_work_t type, const Record* top) noexcept {
  return type == ompt_work_taskloop ||
         (top != nullptr && top->kind == spool::kWorkBegin && top->sub == ompt_work_distribute);
}

std::uint8_t symbol_sub(ompt_work_t type) noexcept {
  // Which thread executes a single is chance: one symbol for both.
  return static_cast<std::uint8_t>(type == ompt_work_single_other ? ompt_work_single_executor
                                                                  : type);
}

void on_work(ompt_work_t type, ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*,
             std::uint64_t count, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = Clock::now();
  const std::uint64_t address = address_of(code);
  const auto sub = static_cast<std::uint8_t>(type);
  if (endpoint == ompt_scope_begin || endpoint == ompt_scope_beginend) {
    if (!may_nest_in_work(type, scope->top())) close_unended_work(*scope);
    if (feeds_agent(*scope, t_state.team()))
      g_session->on_symbol(
          *scope, runtime::make_symbol(spool::kWorkBegin, symbol_sub(type), address), ticks);
    scope->begin(make(spool::kWorkBegin, ticks, address, sub,
                      std::min(count, spool::kAddressMask)));
  }
  if (endpoint == ompt_scope_end || endpoint == ompt_scope_beginend) {
    scope->end(make(spool::kWorkEnd, ticks, address, sub));
    if (feeds_agent(*scope, t_state.team())) g_session->on_symbol_end(ticks, scope->depth());
  }
}

bool is_barrier(ompt_sync_region_t kind) noexcept {
  switch (kind) {
    case ompt_sync_region_barrier:
    case ompt_sync_region_barrier_implicit:
    case ompt_sync_region_barrier_explicit:
    case ompt_sync_region_barrier_implementation:
    case ompt_sync_region_barrier_implicit_workshare: return true;
    default: return false;
  }
}

// Barriers that a program shows by nothing else: the implicit ones follow a construct
// that has its own symbol.
bool gives_symbol(ompt_sync_region_t kind) noexcept {
  return is_barrier(kind) && kind != ompt_sync_region_barrier_implicit_workshare;
}

std::uint64_t sync_end_time(ompt_sync_region_t kind, const Membership* team) noexcept {
  return kind == ompt_sync_region_barrier_implicit_parallel && team != nullptr
             ? end_time(*team)
             : Clock::now();
}

// A barrier of the team is behind this thread.
void pass_barrier(ThreadRecorder& recorder, ompt_sync_region_t kind, Membership& team,
                  std::uint64_t ticks) noexcept {
  if (team.index != 0) {
    g_session->reach_epoch(recorder, recorder.epoch() + 1, ticks);
  } else {
    if (gives_symbol(kind) && feeds_agent(recorder, &team))
      g_session->on_symbol_end(ticks, recorder.depth());
    g_session->advance_epoch(recorder, ticks);
  }
}

void begin_sync_region(ThreadRecorder& recorder, ompt_sync_region_t kind,
                       const void* code) noexcept {
  const std::uint64_t ticks = Clock::now();
  const std::uint64_t address = address_of(code);
  if (is_barrier(kind) || kind == ompt_sync_region_barrier_implicit_parallel)
    close_unended_work(recorder);
  if (gives_symbol(kind) && feeds_agent(recorder, t_state.team()))
    g_session->on_symbol(
        recorder,
        runtime::make_symbol(spool::kSyncRegionBegin, static_cast<std::uint8_t>(kind), address),
        ticks);
  recorder.begin(
      make(spool::kSyncRegionBegin, ticks, address, static_cast<std::uint8_t>(kind)));
}

void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*,
                    ompt_data_t*, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  if (endpoint == ompt_scope_begin) return begin_sync_region(*scope, kind, code);
  Membership* team = t_state.team();
  std::uint64_t ticks = t_state.sync_end_ticks;
  if (!t_state.sync_end_told) {
    ticks = sync_end_time(kind, team);
    scope->end(make(spool::kSyncRegionEnd, ticks, address_of(code),
                    static_cast<std::uint8_t>(kind)));
  }
  t_state.sync_end_told = false;
  if (is_barrier(kind) && team != nullptr && team->team.counts_epochs())
    pass_barrier(*scope, kind, *team, ticks);
}

void on_sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                         ompt_data_t*, ompt_data_t*, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
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
  const std::uint64_t ticks = sync_end_time(kind, t_state.team());
  const Record* top = scope->top();
  const bool joint = top != nullptr && top->kind == spool::kSyncRegionBegin &&
                     top->sub == sub && top->aux16 == spool::kWaitToo;
  if (!joint) return scope->end(make(spool::kWaitEnd, ticks, address_of(code), sub));
  scope->end(make(spool::kSyncRegionEnd, ticks, address_of(code), sub,
                  std::uint64_t{spool::kWaitToo} << 32));
  t_state.sync_end_told = true;
  t_state.sync_end_ticks = ticks;
}

void on_reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*,
                  ompt_data_t*, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const bool begins = endpoint == ompt_scope_begin;
  const RecordWords record = make(begins ? spool::kReductionBegin : spool::kReductionEnd,
                             Clock::now(), address_of(code), static_cast<std::uint8_t>(kind));
  begins ? scope->begin(record) : scope->end(record);
}

void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*,
               const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const bool begins = endpoint == ompt_scope_begin;
  const RecordWords record = make(begins ? spool::kMaskedBegin : spool::kMaskedEnd, Clock::now(),
                             address_of(code));
  begins ? scope->begin(record) : scope->end(record);
}

// --- Tasks --------------------------------------------------------------------------

void on_task_create(ompt_data_t*, const ompt_frame_t*, ompt_data_t* created, int flags, int,
                    const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  const std::uint64_t address = address_of(code);
  const TaskWord word{scope->next_task(), g_sites.number(address),
                      static_cast<std::uint16_t>(t_state.location)};
  keep_word(created, word.pack());
  scope->append(make(spool::kTaskCreate, Clock::now(), address,
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
  scope->append(make(spool::kTaskSchedule, Clock::now(),
                     g_sites.address(next_word == 0 ? 0 : task.site) | flags << 48,
                     static_cast<std::uint8_t>(status), next_word == 0 ? 0 : task.id()));
}

// --- Mutual exclusion, flush, cancel ------------------------------------------------

void on_mutex_acquire(ompt_mutex_t kind, unsigned, unsigned, ompt_wait_id_t id,
                      const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->append(make(spool::kMutexAcquire, Clock::now(), address_of(code),
                     static_cast<std::uint8_t>(kind), id & spool::kAddressMask));
}

void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->append(make(spool::kMutexAcquired, Clock::now(), address_of(code),
                     static_cast<std::uint8_t>(kind), id & spool::kAddressMask));
}

void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t id, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->append(make(spool::kMutexReleased, Clock::now(), address_of(code),
                     static_cast<std::uint8_t>(kind), id & spool::kAddressMask));
}

void on_nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t id,
                  const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->append(make(spool::kNestLock, Clock::now(), address_of(code),
                     static_cast<std::uint8_t>(endpoint), id & spool::kAddressMask));
}

void on_flush(ompt_data_t*, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  scope->append(make(spool::kFlush, Clock::now(), address_of(code)));
}

void on_cancel(ompt_data_t*, int flags, const void* code) noexcept {
  Scope scope;
  if (!scope) return;
  if ((flags & ompt_cancel_parallel) != 0) g_session->team_cancelled();
  scope->append(make(spool::kCancel, Clock::now(), address_of(code), 0,
                     static_cast<std::uint32_t>(flags)));
}

// --- Life ---------------------------------------------------------------------------

template <typename Function>
ompt_callback_t callback(Function* function) noexcept {
  return reinterpret_cast<ompt_callback_t>(function);
}

int initialize(ompt_function_lookup_t lookup, int, ompt_data_t* tool) noexcept {
  const auto set = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  g_session = runtime::start_session(static_cast<const char*>(tool->ptr));
  if (g_session == nullptr) return 0;
  runtime::set_runtime_end(
      reinterpret_cast<ompt_finalize_tool_t>(lookup("ompt_finalize_tool")));
  set(ompt_callback_thread_begin, callback(on_thread_begin));
  set(ompt_callback_thread_end, callback(on_thread_end));
  set(ompt_callback_parallel_begin, callback(on_parallel_begin));
  set(ompt_callback_parallel_end, callback(on_parallel_end));
  set(ompt_callback_implicit_task, callback(on_implicit_task));
  set(ompt_callback_work, callback(on_work));
  set(ompt_callback_masked, callback(on_masked));
  set(ompt_callback_sync_region, callback(on_sync_region));
  set(ompt_callback_sync_region_wait, callback(on_sync_region_wait));
  set(ompt_callback_reduction, callback(on_reduction));
  set(ompt_callback_task_create, callback(on_task_create));
  set(ompt_callback_task_schedule, callback(on_task_schedule));
  set(ompt_callback_mutex_acquire, callback(on_mutex_acquire));
  set(ompt_callback_mutex_acquired, callback(on_mutex_acquired));
  set(ompt_callback_mutex_released, callback(on_mutex_released));
  set(ompt_callback_nest_lock, callback(on_nest_lock));
  set(ompt_callback_flush, callback(on_flush));
  set(ompt_callback_cancel, callback(on_cancel));
  return 1;
}

void finalize(ompt_data_t*) noexcept { runtime::end_session(); }

}  // namespace
}  // namespace refrain::ompt

extern "C" __attribute__((visibility("default"))) ompt_start_tool_result_t*
ompt_start_tool(unsigned, const char* runtime_version) {
  static ompt_start_tool_result_t result = {refrain::ompt::initialize,
                                            refrain::ompt::finalize,
                                            {}};
  if (!refrain::runtime::wanted()) return nullptr;
  refrain::ompt::g_waits_adjoin =
      runtime_version != nullptr && std::strncmp(runtime_version, "LLVM", 4) == 0;
  result.tool_data.ptr = const_cast<char*>(runtime_version);
  return &result;
}
