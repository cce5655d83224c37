// What every event source knows of the calling thread, and a callback in progress on it.
//
// Place in the flow: ARCHITECTURE.md, stages 2 and 3.
//
// Reentrancy: a callback or wrapper begins with a Scope; an event that comes while one is
// open (a signal handler's) is counted as lost. Nothing on the fast path makes system calls;
// for slow paths see tracer/recorder/slow_path.h.
#pragma once

#include <cstdint>

#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/session.h"

namespace refrain::runtime {

struct ThisThread {
  recorder::ThreadRecorder* recorder = nullptr;
  recorder::ThreadRecorder* put_aside = nullptr;  // while `forks`
  // It forks the process, and has all locks of the tracer: handlers of fork that run besides ours may
  // call us, those of LLVM's runtime do, and nothing is recorded.
  bool forks = false;
  bool unrecorded = false;  // there was no room for a recorder
  std::uint32_t location = 0;
  int teams_open = 0;  // implicit tasks of OpenMP that it is in
  // Records what has happened on this thread already, where a source of events takes several together; null: nothing. Called
  // before the next event.
  void (*late)(recorder::ThreadRecorder&) noexcept = nullptr;
};

// Initial-exec: a register and an offset away, also in a library that is loaded late.
// Constinit: without it every access asks first whether the thread has made it.
// Such a variable must not be local to its file: the linker gold 1.16 gives those each the place
// of the next one (test: //tracer:thread_locals_test).
extern constinit thread_local ThisThread t_thread
    __attribute__((tls_model("initial-exec")));

// The session; null until start_session(), valid whenever a thread has a recorder.
extern Session* g_session;

// Gives the calling thread a recorder if it has none; `at_exit`: takes it back when the
// thread ends, for sources that are not notified of that. `function`: spool::Header::thread_function.
void attach_thread(spool::LocationRole role, bool at_exit,
                   std::uint64_t function = 0) noexcept;
void detach_thread() noexcept;
// The primary thread has ended: the calling one goes on in its place, if it can. Not while a Scope is open.
void take_primary_place() noexcept;

// Returns true if the thread is in a call of MPI: what it does there is MPI's.
bool is_in_mpi(const recorder::ThreadRecorder& recorder) noexcept;

// A callback in progress on this thread: false if nothing is to be recorded.
// Thread-safety: lives on one thread's stack. Cost: two stores.
class Scope {
 public:
  Scope() noexcept : recorder_(enter(mark_)) {}
  // Of the source that has something late: it sees to that itself.
  struct WithLate {};
  explicit Scope(WithLate) noexcept : recorder_(enter_with_late(mark_)) {}
  ~Scope() {
    if (recorder_ != nullptr) leave(*recorder_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  explicit operator bool() const noexcept { return recorder_ != nullptr; }
  recorder::ThreadRecorder& operator*() const noexcept { return *recorder_; }
  recorder::ThreadRecorder* operator->() const noexcept { return recorder_; }

  // The same without a block of its own: the recorder, or null; leave() must follow, in the
  // function that `mark` is in.
  __attribute__((hot)) static recorder::ThreadRecorder* enter(
      recorder::FrameMark& mark) noexcept {
    recorder::ThreadRecorder* const recorder = enter_with_late(mark);
    if (t_thread.late != nullptr && recorder != nullptr) [[unlikely]]
      t_thread.late(*recorder);
    return recorder;
  }
  __attribute__((hot)) static recorder::ThreadRecorder* enter_with_late(
      recorder::FrameMark& mark) noexcept {
    recorder::ThreadRecorder* recorder = t_thread.recorder;
    if (recorder == nullptr || !recorder->enter(mark)) return nullptr;
    // After enter(): see Session::finish().
    if (!g_session->state().recording()) [[unlikely]] {
      recorder->leave_for_good(g_session->state().stop_cause());
      return nullptr;
    }
    recorder->measure();
    return recorder;
  }
  static void leave(recorder::ThreadRecorder& recorder) noexcept { recorder.leave(); }

 private:
  recorder::FrameMark mark_;
  recorder::ThreadRecorder* recorder_;
};

}  // namespace refrain::runtime
