// Stands before the system's dlclose: code that is unloaded makes place for other code (code_address.h).
#include <dlfcn.h>

#include <atomic>

#include "tracer/runtime/modules.h"

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

}  // namespace

extern "C" __attribute__((visibility("default"))) int dlclose(void* library) noexcept {
  refrain::runtime::before_unloading();
  const Close close = next_close();
  const int result = close == nullptr ? -1 : close(library);
  refrain::runtime::after_unloading();
  return result;
}
