// How the tracer lives in somebody else's process: one argument a section.
//
// 1. Start. An event source starts the session when its runtime starts, on the thread
//    that started it. Nothing is made before: a process that loads us and never starts a
//    runtime (a shell, a launcher) leaves nothing behind. If anything fails, one line
//    goes to stderr and the program runs untraced.
//
// 2. The orderly end. OMPT's finalize callback comes after the last thread's events, from
//    the runtime's own end (a library destructor). Where we were loaded before the runtime
//    (linked, LD_PRELOAD) our destructor comes before its: it asks the runtime to end now
//    (ompt_finalize_tool), so that the last events of its threads are told. The runtime
//    does then what it would have done a moment later, and starts anew, untraced, should a
//    later destructor use it. If it still does not say that it has ended (exit() inside a
//    parallel region, omp_pause_resource), our destructor ends the session itself.
//
// 3. Threads that still run at the end. `recording` is cleared; a thread marks itself
//    busy before it looks at it, so after a barrier in all threads (membarrier) either it
//    sees the end, or we see it busy and wait until it has left. Only then are the files
//    closed. Its later events are counted as lost ("late_thread").
//
// 4. Sudden ends: _exit, abort, a signal, a kill. Nothing of ours runs, and nothing has
//    to: all that was recorded is in the mapped files already; `refrain recover` makes
//    the archive from them. We install no signal handlers.
//
// 5. fork. The child shares the mapped files with its parent, so it must not write: the
//    child's handler lets go of them and turns recording off. exec starts afresh, with a
//    session of its own. Children made without handlers (vfork, clone) run only until
//    they exec, and call no OpenMP before.
//
// 6. dlclose. The library asks the loader never to unload it (-z nodelete): the runtime
//    holds pointers to our callbacks until the process ends.
#include "tracer/runtime/lifecycle.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>

#include "filters/settings.h"
#include "tracer/runtime/archive_at_end.h"
#include "tracer/runtime/messages.h"
#include "tracer/runtime/session.h"

namespace refrain::runtime {
namespace {

filters::Settings& settings() {
  static filters::Settings instance;
  return instance;
}

// Never destroyed: threads may look at it until the very end.
std::atomic<Session*> g_session{nullptr};
std::atomic<bool> g_ended{false};
std::atomic<void (*)()> g_end_runtime{nullptr};

void in_forked_child() {
  if (Session* session = g_session.load()) {
    session->abandon();
    g_ended.store(true);
  }
}

}  // namespace

bool wanted() noexcept {
  try {
    for (const std::string& line : filters::read_settings(
             settings(), [](const char* name) -> const char* { return getenv(name); }))
      warn(line + "; the default is used");
    return settings().enabled;
  } catch (const std::exception&) {
    return false;
  }
}

Session* start_session(const char* runtime_name) noexcept {
  if (g_session.load() != nullptr) return nullptr;  // ended before, or another runtime's
  try {
    std::string error;
    std::unique_ptr<Session> session = Session::create(settings(), runtime_name, error);
    if (session == nullptr) {
      warn(error + "; the program runs untraced");
      return nullptr;
    }
    pthread_atfork(nullptr, nullptr, in_forked_child);
    g_session.store(session.release());
    return g_session.load();
  } catch (const std::exception& problem) {
    warn(std::string("tracing cannot start (") + problem.what() +
         "); the program runs untraced");
    return nullptr;
  }
}

void set_runtime_end(void (*end_runtime)()) noexcept { g_end_runtime.store(end_runtime); }

void end_session() noexcept {
  Session* session = g_session.load();
  if (session == nullptr || g_ended.exchange(true)) return;
  session->finish();
  try {
    write_archive_at_end(*session);
  } catch (const std::exception& problem) {
    warn(std::string("the archive could not be written (") + problem.what() +
         "); 'refrain recover " + session->archive() + "' may");
  }
}

namespace {
__attribute__((destructor)) void at_unload() {
  if (g_session.load() == nullptr || g_ended.load()) return;
  if (const auto end_runtime = g_end_runtime.exchange(nullptr)) end_runtime();
  end_session();
}
}  // namespace

}  // namespace refrain::runtime
