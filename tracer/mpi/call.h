// A call of an MPI procedure by the program, from its enter to its leave.
//
// Place in the flow: ARCHITECTURE.md, stage 2: what the generated wrappers (wrapper.tmpl) make
// first. The region's records and the agent's symbol are made here, what the call means in the
// headers that meanings.h lists.
//
// Nothing is recorded, and the object is false, where a call is made inside another (MPI
// libraries are built on themselves, callbacks of the program run inside calls), before MPI is
// started and after it has ended, and for calls that the Fortran library makes for itself.
// While the procedure itself runs the thread's recorder is free: callbacks may record.
// Thread-safety: lives on one thread's stack. Cost: two time stamps and two records, of the
// primary thread's symbols what detector and gate take (docs/lab/mpi.md has figures); a thread's
// first call makes its recorder.
#pragma once

#include <atomic>
#include <cstdint>

#include "spool/mpi_format.h"
#include "tracer/mpi/communicators.h"
#include "tracer/mpi/fortran.h"
#include "tracer/mpi/known_calls.h"
#include "tracer/mpi/poll_run.h"
#include "tracer/mpi/procedures.h"
#include "tracer/recorder/clock.h"
#include "tracer/recorder/frame_mark.h"
#include "tracer/runtime/program_facts.h"
#include "tracer/runtime/this_thread.h"

namespace refrain::mpi {

// kSymbol: the call is a symbol of the agent's stream; kMessage: and communicates with one other
// process; kCollective: and all processes of a communicator make it. kStart: recording may start here.
// kCompletion: whether it is called may depend on timing (a test before it may have succeeded),
// so it decides nothing about loops, unless so many come in a row that there is nothing else.
// Others are no symbols and begin no epoch. kPolling: the number of calls is nondeterministic. kLocal: it
// reads or sets something in this process and says nothing about the program: it is counted, unless the setting
// local_calls wants it recorded. kConvert: as kLocal, and the Fortran library uses it.
enum class Stream : std::uint8_t {
  kSymbol,
  kMessage,
  kCollective,
  kCompletion,
  kPolling,
  kLocal,
  kConvert,
  kStart
};

// True while calls are recorded: between the start and the end of MPI.
extern std::atomic<bool> g_tracing;
// How many frames above a call site are part of the symbol, and of a node of the event flow graph. Set once, before the first call.
extern unsigned g_frames;
// Local calls are recorded as others are. Likewise.
extern bool g_records_local;
// The primary thread's call paths. Likewise; null: none are looked at.
extern runtime::ProgramFacts* g_facts;
extern KnownCalls g_known_calls;
// How many polls in a row are recorded one by one. Set once, too.
extern PollRun::Limits g_polls;
// The thread's outermost call in progress.
extern constinit thread_local const recorder::FrameMark* t_outermost
    __attribute__((tls_model("initial-exec")));
extern constinit thread_local PollRun t_polls __attribute__((tls_model("initial-exec")));

class Call {
 public:
  __attribute__((hot))
  Call(Procedure procedure, Stream stream, Site site, Handle handle) noexcept;
  ~Call() {
    if (t_outermost == &mark_) t_outermost = nullptr;
    if (comm_ != nullptr) leave();
    if (counted_) leave_counted();
  }
  // The leave, earlier than the object's end; nothing is recorded after it.
  void end() noexcept {
    if (comm_ != nullptr) leave();
    comm_ = nullptr;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The call is one of the program's, to be recorded. (Counters count also where the thread has
  // no recorder.)
  explicit operator bool() const noexcept { return comm_ != nullptr; }
  // The communicator of the handle; not null if the call is to be recorded.
  const Communicator* comm() const noexcept { return comm_; }
  // Appends a record of what the call meant, with its kMpiAmount if it has one (`amount_a48`
  // and `amount_payload`); a48 and payload are those of the first record. Its time is that of
  // the call's enter (for what begins with it: a send) or leave.
  void put_at_enter(spool::Kind kind, std::uint64_t payload, std::uint8_t sub = 0,
                    std::uint64_t a48 = 0) noexcept {
    if (auto* recorder = recorder_for_meaning())
      recorder->append(
          spool::record_words(kind, begin_ticks(*recorder), payload, sub, a48));
  }
  void put_at_enter(spool::Kind kind, std::uint64_t payload, std::uint8_t sub,
                    std::uint64_t a48, std::uint64_t amount_a48,
                    std::uint64_t amount_payload) noexcept {
    if (auto* recorder = recorder_for_meaning())
      recorder->transfer(
          spool::record_words(kind, begin_ticks(*recorder), payload, sub, a48), amount_a48,
          amount_payload);
  }
  void put_at_leave(spool::Kind kind, std::uint64_t payload, std::uint8_t sub = 0,
                    std::uint64_t a48 = 0) noexcept {
    if (auto* recorder = recorder_for_meaning())
      recorder->append(spool::record_words(kind, leave_ticks(), payload, sub, a48));
  }
  void put_at_leave(spool::Kind kind, std::uint64_t payload, std::uint8_t sub,
                    std::uint64_t a48, std::uint64_t amount_a48,
                    std::uint64_t amount_payload) noexcept {
    if (auto* recorder = recorder_for_meaning())
      recorder->transfer(spool::record_words(kind, leave_ticks(), payload, sub, a48),
                         amount_a48, amount_payload);
  }

  // What a collective has moved that this call completes.
  void count_moved(std::uint64_t sent, std::uint64_t received) noexcept {
    if (auto* recorder = recorder_for_meaning()) recorder->moved(sent, received);
  }
  // Whom the call sends to or receives from, by rank in its communicator, for the event flow
  // graph; also MPI_PROC_NULL and MPI_ANY_SOURCE.
  __attribute__((hot)) void sends_to(int rank) noexcept {
    if (auto* recorder = after_procedure()) recorder->sends_to(partner(rank));
  }
  __attribute__((hot)) void receives_from(int rank) noexcept {
    if (auto* recorder = after_procedure()) recorder->receives_from(partner(rank));
  }
  void has_root(int rank) noexcept {
    using spool::FlowPartner;
    if (auto* recorder = after_procedure())
      recorder->sends_to(FlowPartner::pack(FlowPartner::kRoot, rank));
  }

  // It is the primary thread's, whose recorder is in use from here to the leave. False after the end of the recording: another
  // thread may be closing it.
  bool is_primary() noexcept {
    const recorder::ThreadRecorder* const recorder = after_procedure();
    return recorder != nullptr && runtime::g_session->primary().is(recorder);
  }

  // When it ends.
  std::uint64_t leave_ticks() noexcept {
    if (leave_ticks_ == 0) leave_ticks_ = recorder::Clock::now();
    return leave_ticks_;
  }

  // The call has tested a request without success.
  void put_unsuccessful(std::uint64_t request) noexcept {
    if (extends_) return;
    if (auto* recorder = after_procedure())
      recorder->append(spool::record_words(spool::kMpiTested, leave_ticks(), request));
  }

 private:
  // The thread's recorder from the procedure's end to the leave: entered once for all that is
  // recorded there, which is one event. Null if there is none.
  recorder::ThreadRecorder* after_procedure() noexcept {
    if (!after_) {
      after_ = true;
      recorder_ = runtime::Scope::enter(recording_);
    }
    return recorder_;
  }
  // The same for something that the call has done or found.
  __attribute__((hot)) recorder::ThreadRecorder* recorder_for_meaning() noexcept {
    reported_ = true;
    recorder::ThreadRecorder* const recorder = after_procedure();
    if (extends_ && recorder != nullptr) [[unlikely]]
      begin_late(*recorder);
    return recorder;
  }
  __attribute__((hot)) std::uint64_t partner(int rank) const noexcept;

  // That of the enter, unless something of a later time was recorded since.
  std::uint64_t begin_ticks(recorder::ThreadRecorder& recorder) noexcept {
    const spool::Record* last = recorder.last();
    return last == nullptr || last->ticks <= ticks_ ? ticks_ : leave_ticks();
  }
  bool is_inner() noexcept;
  void enter_known(recorder::ThreadRecorder& recorder, const KnownCall& known) noexcept;
  void enter_plainly(recorder::ThreadRecorder& recorder, std::uint32_t path) noexcept;
  __attribute__((hot)) void enter_counted(Procedure procedure, Site site) noexcept;
  void enter_slow(Procedure procedure, Stream stream, Site site, Handle handle) noexcept;
  void enter(Stream stream, const Site& site, Handle handle) noexcept;
  void feed(recorder::ThreadRecorder& recorder, Stream stream, const Site& site,
            Handle handle) noexcept;
  bool gives_symbol(Stream stream) noexcept;
  __attribute__((hot)) void leave() noexcept;
  __attribute__((hot)) void leave_counted() noexcept;
  void leave_poll(recorder::ThreadRecorder& recorder) noexcept;
  bool poll_extends(recorder::ThreadRecorder& recorder) noexcept;
  void begin_late(recorder::ThreadRecorder& recorder) noexcept;

  recorder::FrameMark mark_;       // of the call
  recorder::FrameMark recording_;  // of the recorder's use after the procedure
  const Communicator* comm_ = nullptr;
  std::uint64_t payload_ = 0;
  std::uint64_t ticks_ = 0;
  std::uint64_t leave_ticks_ = 0;
  recorder::ThreadRecorder* recorder_ = nullptr;
  bool after_ = false;
  bool fed_ = false;
  bool polls_ = false;
  bool extends_ = false;  // a poll that extends the region of those before it
  bool reported_ = false;
  bool python_ = false;   // an interpreter was known at the enter
  bool counted_ = false;  // a local call, which is counted and not recorded
};

}  // namespace refrain::mpi
