#include "tracer/mpi/call.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/hot_data.h"
#include "tracer/mpi/communicators.h"
#include "tracer/mpi/environment.h"
#include "tracer/mpi/mpi_header.h"
#include "tracer/runtime/python_places.h"

namespace refrain::mpi {

using recorder::ThreadRecorder;
using runtime::g_session;
using runtime::t_thread;

constinit REFRAIN_HOT_DATA std::atomic<bool> g_tracing{false};
constinit REFRAIN_HOT_DATA unsigned g_frames = 0;
constinit REFRAIN_HOT_DATA bool g_records_local = false;
constinit REFRAIN_HOT_DATA runtime::ProgramFacts* g_facts = nullptr;
constinit KnownCalls g_known_calls;
constinit REFRAIN_HOT_DATA std::atomic<const recorder::ThreadRecorder*> KnownCalls::g_owner{
    nullptr};
PollRun::Limits g_polls;
constinit thread_local const recorder::FrameMark* t_outermost
    __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local PollRun t_polls __attribute__((tls_model("initial-exec")));

namespace {

// Returns true if the primary thread does the same here in every run: not if it was chosen nondeterministically
// among the threads of a team.
bool in_order(const ThreadRecorder& recorder) noexcept {
  if (t_thread.teams_open == 0) return true;
  const spool::Record* top = recorder.top();
  return t_thread.teams_open == 1 && top != nullptr &&
         (top->kind == spool::kImplicitTaskBegin || top->kind == spool::kMaskedBegin);
}

// A communicator counts by its place, which is used again when it is freed, so a loop that makes and frees
// one repeats itself.
periodicity::Symbol symbol_of(std::uint64_t payload, const Communicator& comm,
                              std::uint64_t callers) noexcept {
  std::uint64_t hash =
      (payload ^ callers ^ std::uint64_t{comm.place} << 24) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u;
  return std::uint64_t{spool::kMpiEnter} << runtime::kPlaceKindShift | hash >> 6;
}

// A process alone in a communicator has no communication. What completes messages names no
// communicator.
filters::Communication communication_of(Stream stream, const Communicator& comm) noexcept {
  if (stream == Stream::kMessage && !comm.known()) return filters::Communication::kMessage;
  if (comm.peers() < 2 && comm.remote_size == 0) return filters::Communication::kNone;
  if (stream == Stream::kMessage || stream == Stream::kCompletion)
    return filters::Communication::kMessage;
  return stream == Stream::kCollective ? filters::Communication::kCollective
                                       : filters::Communication::kNone;
}

// The newest call: when it ended, 0 if something else was recorded since, but for locks that were acquired and released again.
struct NewestCall {
  std::uint64_t end = 0;
  std::size_t locks = 0;  // records of them
};

NewestCall newest_call(const ThreadRecorder& recorder) noexcept {
  NewestCall call{.locks = recorder.newest_locks()};
  const spool::Record* const record = recorder.last(call.locks);
  if (record != nullptr && record->kind == spool::kMpiLeave) call.end = record->ticks;
  return call;
}

// Of the primary thread: completions since the latest other symbol.
alignas(64) constinit REFRAIN_HOT_DATA unsigned g_completions = 0;
// Further ones in a row are symbols: they are the loops of a program that does nothing else.
constexpr unsigned kCompletionsInRow = 64;

bool is_local(Stream stream) noexcept {
  return stream == Stream::kLocal || stream == Stream::kConvert;
}

// The call may be a symbol.
bool is_symbol(Stream stream) noexcept {
  return stream != Stream::kPolling && !is_local(stream);
}

// Of a call under Python code the place is there.
std::uint64_t payload_of(Procedure procedure, const Site& site) noexcept {
  return runtime::call_address(site.returns_to) |
         std::uint64_t{static_cast<std::uint16_t>(procedure)} << spool::kMpiProcedureShift;
}

// The payload is the place, but for the kind.
periodicity::Symbol place_of(std::uint64_t payload) noexcept {
  static_assert(runtime::kPlaceDetailShift == spool::kMpiProcedureShift);
  return payload | std::uint64_t{spool::kMpiEnter} << runtime::kPlaceKindShift;
}

// The callers of a call of the primary thread: up to g_frames, from the inside. Under Python code they are functions of Python code,
// of which the innermost one is the call's place.
struct Callers {
  static constexpr unsigned kMax = 16;
  std::array<std::uint64_t, kMax> places{};
  unsigned count = 0;
  std::uint64_t hash = 0;  // 0: there are none

  explicit Callers(std::uint32_t path) noexcept {
    if (path == 0) return;
    const auto frames = g_facts->paths().frames(path);
    const std::size_t most = std::min(std::size_t{g_frames}, places.size());
    if (runtime::any_python() && add_python(frames, most)) [[unlikely]]
      return;
    for (std::size_t i = frames.size() - 1; i-- != 0 && count != most;)
      if (runtime::ProgramFacts::is_address(frames[i].place)) add(frames[i].place);
  }

 private:
  __attribute__((noinline, cold)) bool add_python(
      std::span<const runtime::Paths::Frame> frames, std::size_t most) noexcept {
    bool python = false;
    for (std::size_t i = frames.size(); i-- != 0 && count != most;) {
      if (!runtime::ProgramFacts::is_python(frames[i].place)) continue;
      const std::uint64_t call = g_facts->python_call(frames[i].place);
      if (call != 0 && std::exchange(python, true)) add(call);
    }
    return python;
  }
  void add(std::uint64_t place) noexcept {
    places[count++] = place;
    hash = mix(hash, place);
  }
};

// The primary thread's.
__attribute__((hot)) std::uint32_t path_at(const Site& site, Procedure procedure) noexcept {
  return g_facts == nullptr
             ? 0
             : g_facts->find(site,
                             std::uint64_t{static_cast<std::uint16_t>(procedure)} + 1);
}
std::uint32_t path_at(const Site& site, std::uint64_t payload) noexcept {
  return path_at(site, static_cast<Procedure>(payload >> spool::kMpiProcedureShift));
}

// All calls that come this way have one place: the path has it.
bool has_one_place(std::uint32_t path, std::uint64_t payload) noexcept {
  return !runtime::is_python_address(payload & spool::kAddressMask) ||
         g_facts->paths().frames(path).size() < runtime::Paths::kMaxFrames;
}

// The number of the callers in the recorder's flow graph; they are known of the primary thread's
// calls only.
std::uint32_t flow_path_of(ThreadRecorder& recorder, const Site& site,
                           std::uint64_t payload) noexcept {
  if (g_frames == 0 || !recorder.keeps_callers() || !g_session->primary().is(&recorder))
    return spool::kNoPath;
  const std::uint32_t path = path_at(site, payload);
  const bool keeps = path != 0 && g_known_calls.owner() == &recorder &&
                     !runtime::any_python();  // which may be known later only
  if (keeps && g_known_calls.flow_path(path) != 0) return g_known_calls.flow_path(path);
  const Callers callers(path);
  if (callers.hash == 0) return spool::kNoPath;
  const std::uint32_t number =
      recorder.caller_path<Callers::kMax>(callers.hash, [&callers](std::uint64_t* frames) {
        std::copy_n(callers.places.begin(), callers.count, frames);
        return callers.count;
      });
  if (keeps && number != spool::kNoPath) g_known_calls.learn_flow_path(path, number);
  return number;
}

__attribute__((noinline, cold)) void attach() noexcept {
  runtime::attach_thread(spool::kRoleRoot, true);
}

}  // namespace

Call::Call(Procedure procedure, Stream stream, Site site, Handle handle) noexcept {
  if (t_outermost != nullptr && is_inner()) [[unlikely]]
    return;
  mark_.set(&t_outermost);
  t_outermost = &mark_;
  if (is_local(stream) && !g_records_local) {
    enter_counted(procedure, site);
    return;
  }
  ThreadRecorder* const recorder = t_thread.recorder;
  // The owner's: the primary thread's. What is known are symbols.
  if (recorder != nullptr && g_known_calls.owner() == recorder &&
      t_thread.teams_open == 0 && g_tracing.load(std::memory_order_relaxed)) [[likely]] {
    const bool timed = recorder->tracing_time().begins_early();
    const KnownCall* const known =
        g_known_calls.find(path_at(site, procedure), handle, g_communicators.generation());
    if (known != nullptr) [[likely]] {
      payload_ = known->payload;
      enter_known(*recorder, *known);
    } else {
      enter_slow(procedure, stream, site, handle);
    }
    if (timed) [[unlikely]]
      recorder->tracing_time().cancel();
    return;
  }
  enter_slow(procedure, stream, site, handle);
}

// As enter(), where everything it would look up is known.
__attribute__((always_inline)) inline void Call::enter_known(
    ThreadRecorder& recorder, const KnownCall& known) noexcept {
  comm_ = known.comm;
  g_completions = 0;
  const runtime::Scope scope;
  if (!scope) [[unlikely]]
    return;
  ticks_ = recorder::Clock::now();
  if (!g_session->primary().is(&recorder)) [[unlikely]]  // set aside, for a moment
    return enter_plainly(recorder, known.path);
  const std::uint8_t cut = g_session->begin_epoch(recorder, ticks_);
  const std::uint64_t epoch = recorder.epoch();
  g_session->on_known_symbol(recorder, known.number, place_of(payload_), ticks_,
                             known.communication);
  fed_ = true;
  recorder.begin_call(spool::record_words(spool::kMpiEnter, ticks_, payload_, cut, epoch),
                      payload_, known.path);
}

__attribute__((noinline, cold)) void Call::enter_plainly(ThreadRecorder& recorder,
                                                         std::uint32_t path) noexcept {
  recorder.begin_call(spool::record_words(spool::kMpiEnter, ticks_, payload_), payload_,
                      path);
}

// A local call: no walk of the stack, no record.
void Call::enter_counted(Procedure procedure, Site site) noexcept {
  if (!g_tracing.load(std::memory_order_relaxed)) [[unlikely]]
    return;
  if (in_fortran_library(site.returns_to)) [[unlikely]] {
    site = fortran_site(procedure);
    if (site.returns_to == nullptr) return;
  }
  if (t_thread.recorder == nullptr) [[unlikely]]
    attach();
  counted_ = true;
  payload_ = payload_of(procedure, site);
  ticks_ = recorder::Clock::now();
}

void Call::leave_counted() noexcept {
  const std::uint64_t ticks = recorder::Clock::now();
  const runtime::Scope scope;
  if (!scope) [[unlikely]]
    return;
  scope->uncount_event();
  scope->count_call(payload_, ticks_, ticks);
}

__attribute__((noinline)) void Call::enter_slow(Procedure procedure, Stream stream,
                                                Site site, Handle handle) noexcept {
  if (!g_tracing.load(std::memory_order_relaxed)) [[unlikely]] {
    if (stream != Stream::kStart || !start_tracing()) return;
  }
  if (in_fortran_library(site.returns_to)) [[unlikely]] {
    site = fortran_site(procedure);
    if (site.returns_to == nullptr) return;
  }
  if (t_thread.recorder == nullptr) [[unlikely]]
    attach();
  if (g_session->primary().vacant() && t_thread.teams_open == 0 && is_symbol(stream) &&
      stream != Stream::kCompletion) [[unlikely]]
    runtime::take_primary_place();
  comm_ = find_communicator(handle);
  python_ = runtime::any_python();
  payload_ = payload_of(procedure, site);
  enter(stream, site, handle);
}

// Made inside another call, and not after a jump of a signal handler out of that one.
__attribute__((noinline, cold)) bool Call::is_inner() noexcept {
  if (!recorder::FrameMark::is_gone(t_outermost, &t_outermost, &mark_)) return true;
  // Calls left by a jump end here.
  const runtime::Scope scope;
  if (!scope) return false;
  scope->uncount_event();
  const std::uint64_t now = recorder::Clock::now();
  while (scope->top() != nullptr && scope->top()->kind == spool::kMpiEnter) {
    scope->count_event();
    scope->end_call(spool::record_words(spool::kMpiLeave, now, scope->top()->payload));
  }
  return false;
}

// Of the primary thread's call. If not, it may still be the last of an iteration.
inline bool Call::gives_symbol(Stream stream) noexcept {
  if (stream != Stream::kCompletion) {
    g_completions = 0;
    return true;
  }
  fed_ = true;
  return ++g_completions > kCompletionsInRow;
}

// In enter_slow(), and feed() in it: one function a call.
__attribute__((always_inline)) inline void Call::enter(Stream stream, const Site& site,
                                                       Handle handle) noexcept {
  const runtime::Scope scope;
  if (!scope) return;
  ThreadRecorder& recorder = *scope;
  ticks_ = recorder::Clock::now();
  const std::uint64_t called = payload_;  // polls of several procedures share a region
  if (stream == Stream::kPolling && poll_extends(recorder)) {
    return recorder.begin_poll(called, flow_path_of(recorder, site, called), ticks_);
  }
  const bool outside = t_thread.teams_open == 0;
  std::uint8_t cut = 0;
  std::uint64_t epoch = 0;
  if (is_symbol(stream) && g_session->auto_symbols() &&
      (outside && stream != Stream::kCompletion ? g_session->primary().claim(&recorder)
                                                : g_session->primary().is(&recorder)) &&
      in_order(recorder) && gives_symbol(stream)) {
    if (outside) {
      cut = g_session->begin_epoch(recorder, ticks_);
      epoch = recorder.epoch();
    }
    feed(recorder, stream, site, handle);
  }
  const std::uint32_t path = flow_path_of(recorder, site, called);
  recorder.begin_call(spool::record_words(spool::kMpiEnter, ticks_, payload_, cut, epoch),
                      called, path);
}

__attribute__((always_inline)) inline void Call::feed(ThreadRecorder& recorder,
                                                      Stream stream, const Site& site,
                                                      Handle handle) noexcept {
  const std::uint32_t path = path_at(site, payload_);
  const filters::Communication communication = communication_of(stream, *comm_);
  runtime::SymbolStream& symbols = g_session->stream();
  const periodicity::Symbol number =
      symbols.by_paths()
          ? symbols.marked(path, communication)
          : symbols.number(symbol_of(payload_, *comm_, Callers(path).hash), communication);
  const bool counts =
      g_session->on_number(recorder, number, place_of(payload_), ticks_, communication);
  fed_ = true;
  if (!counts || t_thread.teams_open != 0) return;
  if (stream == Stream::kCompletion) return;  // not always one
  // Read before the look-up, so that what is remembered is valid for it.
  const std::uint64_t generation = g_communicators.generation();
  if (find_communicator(handle) != comm_ || !has_one_place(path, payload_)) return;
  // An interpreter that this call has made known would have named it.
  if (runtime::any_python() != python_) return;
  g_known_calls.learn(recorder, path,
                      {.generation = generation,
                       .handle = handle,
                       .communication = communication,
                       .path = flow_path_of(recorder, site, payload_),
                       .comm = comm_,
                       .number = number,
                       .payload = payload_});
}

// A poll begins: whether it extends the region of those before it.
__attribute__((noinline)) bool Call::poll_extends(ThreadRecorder& recorder) noexcept {
  const auto procedure = static_cast<std::uint16_t>(payload_ >> spool::kMpiProcedureShift);
  const PollRun::Begin begin =
      t_polls.begin(ticks_, newest_call(recorder).end, procedure, g_polls);
  polls_ = true;
  extends_ = begin == PollRun::Begin::kExtends;
  if (begin == PollRun::Begin::kTogether && t_polls.mixed())
    payload_ = (payload_ & spool::kAddressMask) | std::uint64_t{kProcedureNumbers}
                                                      << spool::kMpiProcedureShift;
  return extends_;
}

// It has found something after all, or something else was recorded meanwhile.
void Call::begin_late(ThreadRecorder& recorder) noexcept {
  extends_ = false;
  recorder.put_begin(
      spool::record_words(spool::kMpiEnter, begin_ticks(recorder), payload_));
}

// As the flow graph has it.
std::uint64_t Call::partner(int rank) const noexcept {
  using spool::FlowPartner;
  if (rank == MPI_PROC_NULL) return FlowPartner::pack(FlowPartner::kNobody);
  if (rank == MPI_ANY_SOURCE) return FlowPartner::pack(FlowPartner::kAny);
  if (!comm_->known()) return FlowPartner::pack(FlowPartner::kNone);
  return FlowPartner::pack(FlowPartner::kRelative, comm_->relative(rank));
}

void Call::leave() noexcept {
  ThreadRecorder* recorder = after_procedure();
  if (recorder == nullptr) return;
  if (polls_) [[unlikely]] {
    leave_poll(*recorder);
  } else if (ticks_ != 0) {  // else it was not entered
    const std::uint64_t ticks = leave_ticks();
    recorder->end_call(spool::record_words(spool::kMpiLeave, ticks, payload_));
    if (fed_ && g_session->primary().is(recorder)) {
      const std::uint32_t next = g_session->on_symbol_end(ticks, recorder->depth());
      if (next != 0) [[unlikely]]
        g_known_calls.expect(next);
    }
  }
  runtime::Scope::leave(*recorder);
}

// Polls are no symbols.
__attribute__((noinline)) void Call::leave_poll(ThreadRecorder& recorder) noexcept {
  const std::uint64_t ticks = leave_ticks();
  bool extended = false;
  if (extends_) {
    const NewestCall call = newest_call(recorder);
    extended = t_polls.goes_on(call.end) && recorder.extend_end(ticks, call.locks);
  }
  const bool late = extends_ && !extended;
  if (late) begin_late(recorder);
  if (!extended) recorder.put_end(spool::record_words(spool::kMpiLeave, ticks, payload_));
  recorder.end_poll(ticks);
  if (reported_ || late)
    t_polls.ends_row();
  else
    t_polls.in_vain(ticks, !extended);
}

}  // namespace refrain::mpi
