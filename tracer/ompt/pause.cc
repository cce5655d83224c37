// Stands before OpenMP's procedures that pause its runtime.
//
// LLVM's runtime parts with its tool when it is paused "hard" (all its threads end), and asks for none when it goes on: the
// rest of the run would not be traced. While the program is traced it is paused "soft" instead: what the program may rely on
// afterwards is the same, but the threads are there, asleep, and what omp_set_num_threads() and its kin have set stays.
// Where the runtime is found before us (OMP_TOOL_LIBRARIES) its own procedures are called, and nothing of this happens.
#include "base/loaded_symbols.h"
#include "tracer/ompt/callbacks.h"
#include "tracer/ompt/helper_threads.h"
#include "tracer/ompt/runtime_entries.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::ompt {
namespace {

constexpr int kHard = 2;  // omp_pause_resource_t
constexpr int kSoft = 1;
constexpr int kFailed = 1;

// The runtime's own.
template <typename Function>
Function* runtimes(const char* name) noexcept {
  const recorder::SlowPath slow_path;
  const void* symbol = base::symbol_in(runtime_code(), name);
  if (symbol == nullptr)
    symbol = base::symbol_after(reinterpret_cast<const void*>(&find_in_runtime), name);
  return reinterpret_cast<Function*>(const_cast<void*>(symbol));
}

int kind_for(int kind) noexcept {
  const bool traced =
      runtime_code() != nullptr && g_session != nullptr && g_session->state().recording();
  return traced && kind == kHard ? kSoft : kind;
}

int pause(int kind, int device) noexcept {
  auto* const pause = runtimes<int(int, int)>("omp_pause_resource");
  auto* const host = runtimes<int()>("omp_get_initial_device");
  if (pause == nullptr) return kFailed;
  return pause(host != nullptr && device == host() ? kind_for(kind) : kind, device);
}

int pause_all(int kind) noexcept {
  auto* const pause = runtimes<int(int)>("omp_pause_resource_all");
  return pause == nullptr ? kFailed : pause(kind_for(kind));
}

}  // namespace
}  // namespace refrain::ompt

#define REFRAIN_VISIBLE __attribute__((visibility("default")))

extern "C" {

REFRAIN_VISIBLE int omp_pause_resource(int kind, int device) {
  return refrain::ompt::pause(kind, device);
}
REFRAIN_VISIBLE int omp_pause_resource_all(int kind) {
  return refrain::ompt::pause_all(kind);
}
// Of Fortran.
REFRAIN_VISIBLE int omp_pause_resource_(const int* kind, const int* device) {
  return refrain::ompt::pause(*kind, *device);
}
REFRAIN_VISIBLE int omp_pause_resource_all_(const int* kind) {
  return refrain::ompt::pause_all(*kind);
}

}  // extern "C"
