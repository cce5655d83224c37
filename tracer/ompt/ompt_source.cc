// Event source for OpenMP: OMPT callbacks become records of the calling thread. Here the
// start and the end, and the callbacks of threads and teams.
//
// Place in the flow: ARCHITECTURE.md, stage 2. The runtime finds ompt_start_tool() in us
// (OMP_TOOL_LIBRARIES, LD_PRELOAD or a linked library), asks once, and calls back.
#include "tracer/ompt/ompt_source.h"

#include <dlfcn.h>
#include <omp-tools.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tracer/life/lifecycle.h"
#include "tracer/ompt/callbacks.h"
#include "tracer/ompt/helper_threads.h"
#include "tracer/ompt/program_places.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/runtime/notices.h"
#include "tracer/runtime/search_order.h"

namespace refrain::ompt {

constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

constinit TaskSites g_sites;
constinit OutermostJoins g_joins;
bool g_waits_adjoin = false;

namespace {

using recorder::Clock;
using recorder::ThreadRecorder;
using spool::Record;
using spool::RecordWords;

// --- Threads and teams --------------------------------------------------------------

// Threads that no runtime has made, and that may open regions.
std::atomic<int> g_roots{0};

ompt_finalize_tool_t g_finalize_tool = nullptr;

// The process ends. A runtime that another thread of the program still uses is left alone: that
// thread would lose it, long before the process is gone.
void end_runtime() noexcept {
  const int others = g_roots.load(std::memory_order_relaxed) - (t_state.root ? 1 : 0);
  if (others <= 0) g_finalize_tool();
}

// --- What is recorded together (LateEvents) ------------------------------------------

// `inside`: 1 if the region's begin is recorded.
void feed_fork(ThreadRecorder& recorder, std::uint64_t place, std::uint64_t ticks,
               std::uint32_t inside) noexcept {
  g_session->on_symbol(recorder, runtime::make_symbol(spool::kParallelBegin, 0, place),
                       ticks, inside);
}

// The thread has come out of the barrier at the end of its innermost team, and perhaps of its task in it.
__attribute__((hot)) void record_ends(ThreadRecorder& recorder, LateEvents& late,
                                      std::uint64_t ticks) noexcept {
  using Ended = LateEvents::Ended;
  constexpr std::uint8_t kSub = ompt_sync_region_barrier_implicit_parallel;
  Membership* const team = t_state.team();
  if (team == nullptr) return;
  const RecordWords barrier_end =
      make(spool::kSyncRegionEnd, ticks, address_of(late.end_code), kSub,
           std::uint64_t{spool::kWaitToo} << 32);
  if (late.ended != Ended::kTask) {
    recorder.end(barrier_end, true_end(*team, ticks));
    return recorder.count_event();
  }
  recorder.count_events(2);
  const RecordWords task_end =
      make(spool::kImplicitTaskEnd, ticks, std::uint64_t{late.size} << 32 | team->index,
           team->team.flags, team->team.instance);
  if (recorder.end_both(barrier_end, task_end, team->index != 0)) {
    if (team->index != 0) late.unsettled = team->team.instance;
  } else {
    const std::uint64_t true_ticks = true_end(*team, ticks);
    recorder.end(barrier_end, true_ticks);
    recorder.end(task_end, true_ticks);
  }
  t_state.leave_team();
}

// A worker looks up what it did not wait for.
__attribute__((hot)) void settle(ThreadRecorder& recorder, LateEvents& late) noexcept {
  if (late.unsettled != 0)
    recorder.settle_ends(
        g_joins.joined(std::exchange(late.unsettled, 0), recorder.ends_learned()));
  if (!std::exchange(late.joined, false)) return;
  if (Membership* const team = t_state.team(); team != nullptr) count_fork(recorder, *team);
  g_session->follow_iterations(recorder, ~std::uint64_t{0});
}

// What has ended; a worker's ends are to be settled then.
void record_ended(ThreadRecorder& recorder, std::uint64_t ticks) noexcept {
  LateEvents& late = t_state.late;
  settle(recorder, late);
  if (late.ended == LateEvents::Ended::kNothing) return;
  record_ends(recorder, late, ticks);
  recorder.count_event();
  late.ended = LateEvents::Ended::kNothing;
}

}  // namespace

void record_late(ThreadRecorder& recorder) noexcept {
  t_thread.late = nullptr;
  LateEvents& late = t_state.late;
  if (late.forked) {
    late.forked = false;
    return feed_fork(recorder, late.fork_place, late.fork_ticks, 1);
  }
  const Membership* const team = t_state.team();
  const bool primary = team != nullptr && team->index == 0;
  record_ended(recorder, primary                                     ? late.end_ticks
                         : late.ended == LateEvents::Ended::kNothing ? 0
                                                                     : Clock::now());
  settle(recorder, late);
}

namespace {

void on_thread_begin(ompt_thread_t type, ompt_data_t*) noexcept {
  if (type != ompt_thread_worker && !t_state.root) {
    t_state.root = true;
    g_roots.fetch_add(1, std::memory_order_relaxed);
  }
  if (!g_session->state().recording() || t_state.begin_reported) return;
  runtime::attach_thread(type == ompt_thread_worker ? spool::kRoleWorker : spool::kRoleRoot,
                         false);
  Scope scope;
  if (!scope) return;
  t_state.begin_reported = true;
  scope->append(make(spool::kThreadBegin, Clock::now(),
                     static_cast<std::uint64_t>(syscall(SYS_gettid)),
                     static_cast<std::uint8_t>(type)));
}

void on_thread_end(ompt_data_t*) noexcept {
  if (t_state.root) g_roots.fetch_sub(1, std::memory_order_relaxed);
  t_state.root = false;
  {
    Scope scope;
    if (!scope) return;
    scope->append(make(spool::kThreadEnd, Clock::now(), 0));
  }
  runtime::detach_thread();
  t_state = ThreadState{};
}

// A region that is not recorded. In a forked child that goes on with OpenMP it is the first one,
// and the runtime does not report its thread again: whether it can be recorded now.
bool begin_in_child() noexcept {
  if (g_session->state().recording() ||
      !runtime::start_in_child(runtime::Source::kOpenMp)) {
    g_session->state().miss_region();
    return false;
  }
  t_state = ThreadState{};
  t_thread.late = nullptr;
  g_roots.store(0, std::memory_order_relaxed);
  runtime::set_runtime_end(end_runtime);
  on_thread_begin(ompt_thread_initial, nullptr);
  return t_thread.recorder != nullptr;
}

// LLVM's runtime has a region of its own in each team of a league, with the threads for regions of the program, and says no
// place of it.
RegionPlace league_place() noexcept {
  const Membership* const member = t_state.team();
  if (member == nullptr || !member->team.league) return {};
  const auto site = static_cast<std::uint16_t>(member->team.site);
  return {g_sites.address(site), site};
}

// The innermost region is one.
bool opens_league(const ThreadRecorder& recorder) noexcept {
  const spool::Record* const top = recorder.top();
  return top != nullptr && top->kind == spool::kParallelBegin &&
         (top->sub & spool::kTeamLeague) != 0;
}

__attribute__((hot)) void on_parallel_begin(ompt_data_t* task, const ompt_frame_t* frame,
                                            ompt_data_t* parallel, unsigned requested,
                                            int flags, const void* code) noexcept {
  if (g_session->primary().vacant() && t_thread.teams_open == 0 &&
      !is_runtime_code(address_of(code))) [[unlikely]]
    runtime::take_primary_place();
  Scope scope;
  if (!scope) {
    if (begin_in_child()) on_parallel_begin(task, frame, parallel, requested, flags, code);
    return;
  }
  const std::uint64_t ticks = Clock::now();
  const RegionPlace place = code == nullptr ? league_place() : region_place(code, *scope);
  t_state.latest_fork = code;
  const std::uint64_t address = place.address;
  TeamWord word;
  std::uint8_t cut = 0;
  const bool outermost = t_thread.teams_open == 0;
  bool primary = outermost && g_session->primary().is(&*scope);
  if (outermost && !primary) [[unlikely]] {
    if (address == 0 && is_runtime_code(reinterpret_cast<std::uint64_t>(code))) {
      word.flags = TeamWord::kHelpers;
      keep_word(parallel, word.pack());
      return become_helper(*scope);
    }
    primary = g_session->primary().claim(&*scope);
  }
  if (primary) {
    cut = g_session->begin_epoch(*scope, ticks);
    word.instance = scope->epoch();
    g_joins.fork(word.instance, ticks);
  } else if (outermost) {
    word.flags = spool::kTeamForeign;
    g_session->look_at_window(*scope, ticks);
    g_session->reach_epoch(*scope, g_session->epoch(), ticks);
    word.instance = g_session->joins().begin(scope->epoch());
  } else {
    word.flags = spool::kTeamNested;
    word.instance = g_session->joins().begin(scope->epoch());
  }
  word.site = place.site;
  word.league = (flags & ompt_parallel_league) != 0;
  keep_word(parallel, word.pack());
  std::uint8_t sub = word.flags | cut;
  if (word.league) sub |= spool::kTeamLeague;
  const RecordWords begin =
      make(spool::kParallelBegin, ticks,
           address | std::uint64_t{std::min(requested, 0xffffu)} << 48, sub, word.instance);
  // Values of counters are those of the symbol, which comes first then.
  const bool late = primary && g_waits_adjoin && !word.league && !scope->reads_metrics();
  if (late) {
    t_state.late.fork_place = address;
    t_state.late.fork_ticks = ticks;
    t_state.late.forked = true;
    t_thread.late = record_late;
  } else if (primary) {
    feed_fork(*scope, address, ticks, 0);
  }
  scope->begin(begin);
  if ((word.flags & spool::kTeamNested) == 0)
    scope->begin_outermost(address, ticks, [&scope] { return opens_league(*scope); });
}

// The region that ends here. It is looked up on this thread's own stack: LLVM's runtime gives the
// memory of a nested team back before it reports the end, and if another thread has taken it by
// then, the word in it is of another region.
TeamWord ending_team(const ThreadRecorder& recorder, const ompt_data_t* parallel) noexcept {
  std::uint32_t depth = recorder.depth();
  if (depth == spool::kMaxDepth) return TeamWord::unpack(word_of(parallel));  // or deeper
  while (depth != 0) {
    const spool::Record& open = recorder.open_region(--depth);
    if (open.kind != spool::kParallelBegin) continue;
    constexpr std::uint8_t kKept = spool::kTeamNested | spool::kTeamForeign;
    return {.instance = open.a48(), .flags = static_cast<std::uint8_t>(open.sub & kKept)};
  }
  return TeamWord::unpack(word_of(parallel));
}

__attribute__((hot)) void on_parallel_end(ompt_data_t* parallel, ompt_data_t*, int,
                                          const void* code) noexcept {
  Scope scope{Scope::WithLate{}};
  if (!scope) return;
  if (t_state.helper && TeamWord::unpack(word_of(parallel)).of_helpers())
    return scope->uncount_event();
  std::uint64_t ticks = 0;
  if (t_thread.late != nullptr) {
    if (t_state.late.ended == LateEvents::Ended::kTask) ticks = t_state.late.end_ticks;
    record_late(*scope);
  }
  if (ticks == 0) ticks = Clock::now();
  const TeamWord word = ending_team(*scope, parallel);
  // At once: a worker may be learning of the end now.
  if (word.counts_epochs()) g_joins.join(word.instance, ticks, g_session->epoch() + 1);
  scope->end(make(spool::kParallelEnd, ticks, address_of(code), word.flags, word.instance));
  if ((word.flags & spool::kTeamNested) == 0) scope->end_outermost(ticks);
  if (word.counts_epochs()) {
    g_session->on_symbol_end(ticks, scope->depth());
  } else {
    g_session->joins().join(word.instance, ticks);
  }
}

// The parallel region of an implicit task. Who opened it has it on its stack; LLVM's runtime may
// give serialised nested regions the data of an outer one.
spool::CallKey region_of_task(const ThreadRecorder& recorder, const TeamWord& word,
                              unsigned index) noexcept {
  const Record* const top = recorder.top();
  if (index == 0 && top != nullptr && top->kind == spool::kParallelBegin)
    return spool::CallKey::make(spool::kImplicitTaskBegin, top->sub & spool::kTeamLeague,
                                top->payload & spool::kAddressMask);
  return spool::CallKey::make(spool::kImplicitTaskBegin,
                              word.league ? spool::kTeamLeague : 0,
                              g_sites.address(static_cast<std::uint16_t>(word.site)));
}

// The word of the league that the thread has just opened and is about to begin; 0: there is none.
__attribute__((noinline)) std::uint64_t league_word(
    const ThreadRecorder& recorder) noexcept {
  if (!opens_league(recorder)) return 0;
  const spool::Record& region = *recorder.top();
  constexpr std::uint8_t kKept = spool::kTeamNested | spool::kTeamForeign;
  const TeamWord word{.instance = region.a48(),
                      .flags = static_cast<std::uint8_t>(region.sub & kKept),
                      .league = true,
                      .site = g_sites.number(region.payload & spool::kAddressMask)};
  return word.pack();
}

void begin_implicit_task(ThreadRecorder& recorder, std::uint64_t packed, unsigned size,
                         unsigned index) noexcept {
  // After what the gate takes.
  if (t_state.late.forked) record_late(recorder);
  const std::uint64_t ticks = Clock::now();
  if (t_thread.late != nullptr) {
    t_thread.late = nullptr;
    record_ended(recorder, ticks);
  }
  const TeamWord word = TeamWord::unpack(packed);
  const bool counts = word.counts_epochs();
  if (!counts) settle(recorder, t_state.late);  // nobody waits for this thread at once
  if (word.of_helpers()) [[unlikely]]
    return become_helper(recorder);
  std::uint8_t cut = 0;
  if (index != 0 && counts)
    cut = g_session->join_epoch(recorder, word.instance, ticks);
  else if (index != 0)
    g_session->reach_epoch(
        recorder, g_session->joins().epoch(word.instance, g_session->epoch()), ticks);
  Membership& member = t_state.enter_team();
  member.team = word;
  member.index = index;
  if (index == 0) {
    member.fork = t_state.latest_fork;
  } else if (counts) {
    member.begin_ticks = ticks;
    member.after = std::exchange(t_state.latest_outermost, word.instance);
    t_state.late.joined = true;
    t_thread.late = record_late;
    if (member.after == 0) [[unlikely]]
      recorder.header().team_number = index;
  }
  recorder.begin(make(spool::kImplicitTaskBegin, ticks, std::uint64_t{size} << 32 | index,
                      word.flags | cut, word.instance),
                 region_of_task(recorder, word, index));
}

__attribute__((noinline, hot)) void take_implicit_task(ompt_scope_endpoint_t endpoint,
                                                       ompt_data_t* parallel, unsigned size,
                                                       unsigned index, int flags) noexcept {
  Scope scope{Scope::WithLate{}};
  if (!scope) return;
  const bool initial = (flags & ompt_task_initial) != 0;
  std::uint64_t word = word_of(parallel);
  // Of a league of one team LLVM's runtime has lost it.
  if (word == 0 && initial && endpoint == ompt_scope_begin) [[unlikely]]
    word = league_word(*scope);
  if (endpoint == ompt_scope_begin && word != 0)
    return begin_implicit_task(*scope, word, size, index);
  if (t_thread.late != nullptr) record_late(*scope);
  Membership* const member = t_state.team();
  if (endpoint == ompt_scope_end && t_thread.teams_open > 0) {
    if (member != nullptr) count_fork(*scope, *member);
    const Membership none{};
    const Membership& m = member != nullptr ? *member : none;
    // Where the barrier was reported just before it, the barrier's end is this end.
    const Record* last = scope->last();
    const bool adjoins = g_waits_adjoin && last != nullptr &&
                         last->kind == spool::kSyncRegionEnd &&
                         last->sub == ompt_sync_region_barrier_implicit_parallel;
    const std::uint64_t ticks = adjoins ? last->ticks : end_time(m);
    scope->end(make(spool::kImplicitTaskEnd, ticks, std::uint64_t{size} << 32 | m.index,
                    m.team.flags, m.team.instance),
               true_end(m, ticks));
    return t_state.leave_team();
  }
  if (t_state.helper && t_thread.teams_open == 0) return scope->uncount_event();
  if (!initial) return;
  scope->append(make(
      endpoint == ompt_scope_begin ? spool::kImplicitTaskBegin : spool::kImplicitTaskEnd,
      Clock::now(), std::uint64_t{size} << 32 | index, spool::kTeamInitial));
}

__attribute__((hot)) void on_implicit_task(ompt_scope_endpoint_t endpoint,
                                           ompt_data_t* parallel, ompt_data_t*,
                                           unsigned size, unsigned index,
                                           int flags) noexcept {
  if (endpoint == ompt_scope_begin || t_state.late.ended != LateEvents::Ended::kBarrier)
    return take_implicit_task(endpoint, parallel, size, index, flags);
  t_state.late.ended = LateEvents::Ended::kTask;
  t_state.late.size = size;
}

// --- Other tools --------------------------------------------------------------------

std::atomic<bool> g_asked{false};  // by a runtime, for a tool

void report_tool_not_asked() noexcept {
  static std::atomic<bool> reported{false};  // also where the runtime starts again
  if (!runtime::speaks_for_job() || reported.exchange(true)) return;
  std::string other;
  recorder::attempted([&] { other = tool_not_asked(); });
  if (!other.empty())
    runtime::warn(
        {other, " is not used as an OMPT tool: OpenMP's runtime uses only one, Refrain"});
}

// The OMPT tool that is used instead is the program's own.
__attribute__((destructor)) void report_tool_taken() noexcept {
  if (g_asked.load() || !runtime::speaks_for_job() ||
      dlsym(RTLD_DEFAULT, "omp_get_max_threads") == nullptr)
    return;
  std::string other;
  recorder::attempted([&] { other = runtime::taken_by("ompt_start_tool"); });
  if (!other.empty() && runtime::tracing_enabled())
    runtime::warn(
        {"parallel regions are not traced: OpenMP's runtime uses the OMPT tool of ",
         other});
}

// --- Life ---------------------------------------------------------------------------

int initialize(ompt_function_lookup_t lookup, int, ompt_data_t* tool) noexcept {
  const auto set = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  if (runtime::start_session(runtime::Source::kOpenMp,
                             static_cast<const char*>(tool->ptr)) == nullptr)
    return 0;
  report_tool_not_asked();
  const filters::Settings& settings = g_session->settings();
  // Where no events are recorded none is left out.
  g_locks = {settings.summary_only ? 0 : settings.limit,
             Clock::ticks_of_seconds(LockRow::kMaximum)};
  g_finalize_tool = reinterpret_cast<ompt_finalize_tool_t>(lookup("ompt_finalize_tool"));
  if (g_finalize_tool != nullptr) runtime::set_runtime_end(end_runtime);
  find_runtime(reinterpret_cast<const void*>(lookup));
  runtime::Session::set_in_team([] { return g_joins.open(); });
  watch_helpers(set);
  set(ompt_callback_thread_begin, callback(on_thread_begin));
  set(ompt_callback_thread_end, callback(on_thread_end));
  set(ompt_callback_parallel_begin, callback(on_parallel_begin));
  set(ompt_callback_parallel_end, callback(on_parallel_end));
  set(ompt_callback_implicit_task, callback(on_implicit_task));
  set_sync_callbacks(set);
  set_task_callbacks(set);
  set_target_callbacks(set);
  return 1;
}

void finalize(ompt_data_t*) noexcept {
  runtime::set_runtime_end(nullptr);  // it has ended
  runtime::source_ended(runtime::Source::kOpenMp);
}

}  // namespace
}  // namespace refrain::ompt

extern "C" __attribute__((visibility("default"))) ompt_start_tool_result_t* ompt_start_tool(
    unsigned, const char* runtime_version) {
  static ompt_start_tool_result_t result = {
      refrain::ompt::initialize, refrain::ompt::finalize, {}};
  refrain::ompt::g_asked.store(true);
  if (!refrain::runtime::tracing_enabled()) return nullptr;
  refrain::ompt::g_waits_adjoin =
      runtime_version != nullptr && std::strncmp(runtime_version, "LLVM", 4) == 0;
  result.tool_data.ptr = const_cast<char*>(runtime_version);
  return &result;
}

namespace refrain::ompt {

namespace {

// Of the list, from ours on, or all where ours was found without it.
std::string first_of_list(std::string_view list, bool from_ours) {
  while (!list.empty()) {
    const std::size_t end = list.find(':');
    const std::string library(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    if (library.empty()) continue;
    if (runtime::is_own_library(library.c_str()))
      from_ours = false;
    else if (!from_ours)
      return library;
  }
  return {};
}

}  // namespace

std::string tool_not_asked() {
  std::string next = runtime::taken_from("ompt_start_tool");
  // LLVM's runtime itself has a procedure of this name, which is no tool.
  if (!next.empty() && next != runtime::taken_from("omp_get_max_threads")) return next;
  const char* list = std::getenv("OMP_TOOL_LIBRARIES");
  if (list == nullptr) return {};
  const bool in_the_program = runtime::taken_by("ompt_start_tool").empty();
  return first_of_list(list, !in_the_program);
}

}  // namespace refrain::ompt
