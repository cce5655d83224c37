#include "tracer/runtime/this_thread.h"

#include <pthread.h>

#include "tracer/recorder/slow_path.h"

namespace refrain::runtime {

constinit thread_local ThisThread t_thread __attribute__((tls_model("initial-exec")));
Session* g_session = nullptr;

namespace {

// A key of POSIX threads, for its destructor is called at a thread's end.
pthread_key_t exit_key() noexcept {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void*) { detach_thread(); });
    return made;
  }();
  return key;
}

}  // namespace

void attach_thread(spool::LocationRole role, bool at_exit) noexcept {
  if (t_thread.recorder != nullptr || t_thread.put_aside != nullptr) return;
  const recorder::SlowPath slow_path;
  t_thread.recorder = g_session->attach(role);
  if (t_thread.recorder == nullptr) return;
  t_thread.location = t_thread.recorder->header().location;
  if (at_exit) pthread_setspecific(exit_key(), &t_thread);
}

void detach_thread() noexcept {
  if (t_thread.recorder == nullptr) return;
  const recorder::SlowPath slow_path;
  if (t_thread.recorder->depth() != 0 && g_session->recording()) {
    if (const Scope scope; scope) scope->end_user_regions(recorder::Clock::now());
  }
  g_session->detach(t_thread.recorder);
  t_thread = ThisThread{};
}

}  // namespace refrain::runtime
