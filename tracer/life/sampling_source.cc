// Starts the session of a program that nothing else starts: one that `refrain run --loops` has become,
// whether it is parallel or not. The main thread is recorded then, from before main on.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Children that it starts are left to their own event
// sources: a launcher or a shell makes many that nobody asked for.
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "filters/settings.h"
#include "tracer/life/lifecycle.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/session.h"
#include "tracer/runtime/this_thread.h"

namespace refrain::sampler {
namespace {

// The variable with the number of the process that is to be sampled in any case (tools/command/run_command.cc).
constexpr const char* kSampledProcess = "REFRAIN_SAMPLED_PROCESS";

// Before anything is allocated: what the C++ library keeps for exceptions without memory comes first.
bool is_meant() noexcept {
  const char* const text = std::getenv(kSampledProcess);
  if (text == nullptr || std::getenv("REFRAIN_LOOPS") == nullptr) return false;
  const std::string_view word = text;
  pid_t process = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), process);
  return read.ec == std::errc{} && process == getpid();
}

// After what the other parts of the library do when they are loaded, for theirs have a priority.
__attribute__((constructor)) void at_load() {
  if (!is_meant() || !runtime::tracing_enabled() ||
      runtime::wanted_settings().loops_hz == 0)
    return;
  const recorder::SlowPath slow_path;
  if (runtime::start_session(runtime::Source::kSamples, nullptr) != nullptr)
    runtime::attach_thread(spool::kRoleRoot, false);
}

}  // namespace
}  // namespace refrain::sampler
