#include "tracer/runtime/this_thread.h"

#include "base/hot_data.h"
#include "base/thread_end.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::runtime {

constinit thread_local ThisThread t_thread __attribute__((tls_model("initial-exec")));
constinit REFRAIN_HOT_DATA Session* g_session = nullptr;

namespace {

constinit base::ThreadEnd g_thread_end([](void*) { detach_thread(); });

}  // namespace

void attach_thread(spool::LocationRole role, bool at_exit,
                   std::uint64_t function) noexcept {
  if (t_thread.recorder != nullptr || t_thread.forks || t_thread.unrecorded) return;
  const recorder::SlowPath slow_path;
  t_thread.recorder = g_session->attach(role, function);
  if (t_thread.recorder == nullptr) return;
  t_thread.location = t_thread.recorder->header().location;
  if (at_exit) g_thread_end.set(&t_thread);
}

bool is_in_mpi(const recorder::ThreadRecorder& recorder) noexcept {
  for (std::uint32_t i = recorder.depth(); i-- > 0;)
    if (recorder.open_region(i).kind == spool::kMpiEnter) return true;
  return false;
}

void take_primary_place() noexcept {
  recorder::ThreadRecorder* const own = t_thread.recorder;
  if (own == nullptr || own->busy() || own->depth() != 0 || !g_session->state().recording())
    return;
  recorder::ThreadRecorder* const taken = g_session->take_over(own);
  if (taken == nullptr) return;
  t_thread.recorder = taken;
  t_thread.location = taken->header().location;
}

void detach_thread() noexcept {
  if (t_thread.recorder == nullptr) return;
  const recorder::SlowPath slow_path;
  if (t_thread.recorder->depth() != 0 && g_session->state().recording()) {
    if (const Scope scope; scope) scope->end_user_regions(recorder::Clock::now());
  }
  g_session->detach(t_thread.recorder);
  t_thread = ThisThread{};
}

}  // namespace refrain::runtime
