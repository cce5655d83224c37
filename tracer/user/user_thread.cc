#include "tracer/user/user_thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/life/lifecycle.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::user {

using recorder::ThreadRecorder;
using runtime::g_session;
using runtime::t_thread;

constinit thread_local UserThread t_user __attribute__((tls_model("initial-exec")));

namespace {

bool start() noexcept {
  static const bool started =
      runtime::tracing_enabled() &&
      runtime::start_session(runtime::Source::kUser, nullptr) != nullptr;
  return started;
}

}  // namespace

bool make_ready() noexcept {
  if (t_thread.recorder != nullptr) {
    if (t_thread.teams_open == 0 && is_main_thread()) runtime::take_primary_place();
    return true;
  }
  if (t_user.starting || t_user.refused || t_thread.forks) return false;
  if (recorder::OwnCode::is_here()) return false;
  t_user.starting = true;
  // No slow path around both: the clock is chosen in the first, and times its own.
  if (start() && g_session->state().recording()) {
    const recorder::SlowPath slow_path;
    runtime::attach_thread(spool::kRoleRoot, true);
  }
  t_user.starting = false;
  t_user.refused = t_thread.recorder == nullptr;
  return !t_user.refused;
}

bool is_main_thread() noexcept {
  if (!t_user.asked) {
    t_user.asked = true;
    t_user.main = syscall(SYS_gettid) == getpid();
  }
  return t_user.main;
}

bool in_order(const ThreadRecorder& recorder) noexcept {
  if (t_thread.teams_open == 0) return true;
  if (t_thread.teams_open != 1) return false;
  for (std::uint32_t i = recorder.depth(); i-- > 0;) {
    const std::uint8_t kind = recorder.open_region(i).kind;
    if (kind == spool::kUserEnter || kind == spool::kFunctionEnter) continue;
    return kind == spool::kImplicitTaskBegin || kind == spool::kMaskedBegin;
  }
  return false;
}

bool feeds(ThreadRecorder& recorder) noexcept {
  if (t_thread.teams_open != 0)
    return g_session->primary().is(&recorder) && in_order(recorder);
  return g_session->primary().is(&recorder) ||
         (is_main_thread() && g_session->primary().claim(&recorder));
}

bool may_begin(ThreadRecorder& recorder) noexcept {
  if (recorder.depth() < spool::kMaxDepth) [[likely]]
    return true;
  ++t_user.skipped;
  recorder.count_loss(spool::kLossDepth);
  return false;
}

}  // namespace refrain::user
