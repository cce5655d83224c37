// Stands before the system's dlclose: code that is unloaded makes place for other code (code_address.h).
#include <dlfcn.h>

#include <atomic>

#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/modules.h"
#include "tracer/runtime/program_facts.h"

namespace {

using Close = int (*)(void*);

Close next_close() noexcept {
  static std::atomic<Close> found{nullptr};
  Close close = found.load();
  if (close == nullptr) {
    close = reinterpret_cast<Close>(dlsym(RTLD_NEXT, "dlclose"));
    found.store(close);
  }
  return close;
}

// The threads of a runtime that is unloaded with the last library that needs it run on, in code that is gone: programs that
// end at once after that survive it, and those whose archive is written meanwhile would not.
void keep_runtime_loaded() noexcept {
  static std::atomic<bool> kept{false};
  if (kept.load()) return;
  kept.store(dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr);
  dlerror();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int dlclose(void* library) noexcept {
  const Close close = next_close();
  // What Refrain opens to look into it was loaded before.
  if (refrain::recorder::OwnCode::is_here()) return close == nullptr ? -1 : close(library);
  keep_runtime_loaded();
  refrain::runtime::before_unloading();
  const int result = close == nullptr ? -1 : close(library);
  refrain::runtime::after_unloading();
  refrain::runtime::ProgramFacts::code_unloaded();
  return result;
}
