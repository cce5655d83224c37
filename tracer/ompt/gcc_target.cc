// gcc's target constructs with nowait or depend, where LLVM's runtime has taken libgomp's place.
//
// LLVM's runtime has no such entry points, so they stay libgomp's, which makes tasks of its own of them: no taskwait,
// barrier or dependence of LLVM's ever sees these. So they are executed at once, when the tasks that they depend on are
// done; libgomp's devices may do what they like. What comes after finds them completed.
//
// Thread-safety: any thread. Cost: a look at two pointers.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "tracer/ompt/program_places.h"
#include "tracer/ompt/runtime_entries.h"

namespace refrain::ompt {
namespace {

constexpr unsigned kNowait = 1;  // GOMP_TARGET_FLAG_NOWAIT

struct Waits {
  std::atomic<bool> known{false};
  std::atomic<void (*)(void**)> for_dependences{nullptr};
  std::atomic<void (*)()> for_children{nullptr};
};
constinit Waits g_waits;

const void* file_of(const void* function) noexcept {
  Dl_info there{};
  return function != nullptr && dladdr(function, &there) != 0 ? there.dli_fbase : nullptr;
}

// Null where target constructs and tasks are the same runtime's.
const Waits* waits_of_tasks(const void* target) noexcept {
  if (!g_waits.known.load(std::memory_order_acquire)) {
    void* const children = dlsym(RTLD_NEXT, "GOMP_taskwait");
    if (children != nullptr && file_of(children) != file_of(target)) {
      g_waits.for_children.store(reinterpret_cast<void (*)()>(children));
      g_waits.for_dependences.store(
          reinterpret_cast<void (*)(void**)>(dlsym(RTLD_NEXT, "GOMP_taskwait_depend")));
    }
    dlerror();
    // Release: what was found is there before it is known; partner above.
    g_waits.known.store(true, std::memory_order_release);
  }
  return g_waits.for_children.load() == nullptr ? nullptr : &g_waits;
}

// Before the construct: the flags and dependences that are left for libgomp.
void execute_at_once(const void* target, const void* call, unsigned& flags,
                     void**& depend) noexcept {
  if ((flags & kNowait) == 0 && depend == nullptr) return;
  const Waits* const waits = waits_of_tasks(target);
  if (waits == nullptr) return;
  flags &= ~kNowait;
  if (depend == nullptr) return;
  t_own_call = call;
  if (const auto wait = waits->for_dependences.load())
    wait(depend);
  else
    waits->for_children.load()();
  t_own_call = nullptr;
  depend = nullptr;
}

template <typename Function>
Function* real(std::atomic<Function*>& known, const char* name) noexcept {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(const_cast<void*>(find_in_runtime(name)));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace
}  // namespace refrain::ompt

using Target = void(int, void (*)(void*), std::size_t, void**, std::size_t*,
                    unsigned short*, unsigned, void**, void**);
using TargetData = void(int, std::size_t, void**, std::size_t*, unsigned short*, unsigned,
                        void**);

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void GOMP_target_ext(int device, void (*code)(void*), std::size_t count,
                              void** addresses, std::size_t* sizes, unsigned short* kinds,
                              unsigned flags, void** depend, void** arguments) {
  static constinit std::atomic<Target*> known{nullptr};
  Target* const target = refrain::ompt::real(known, "GOMP_target_ext");
  refrain::ompt::execute_at_once(reinterpret_cast<const void*>(target),
                                 __builtin_return_address(0), flags, depend);
  target(device, code, count, addresses, sizes, kinds, flags, depend, arguments);
}

EXPORTED void GOMP_target_update_ext(int device, std::size_t count, void** addresses,
                                     std::size_t* sizes, unsigned short* kinds,
                                     unsigned flags, void** depend) {
  static constinit std::atomic<TargetData*> known{nullptr};
  TargetData* const target = refrain::ompt::real(known, "GOMP_target_update_ext");
  refrain::ompt::execute_at_once(reinterpret_cast<const void*>(target),
                                 __builtin_return_address(0), flags, depend);
  target(device, count, addresses, sizes, kinds, flags, depend);
}

EXPORTED void GOMP_target_enter_exit_data(int device, std::size_t count, void** addresses,
                                          std::size_t* sizes, unsigned short* kinds,
                                          unsigned flags, void** depend) {
  static constinit std::atomic<TargetData*> known{nullptr};
  TargetData* const target = refrain::ompt::real(known, "GOMP_target_enter_exit_data");
  refrain::ompt::execute_at_once(reinterpret_cast<const void*>(target),
                                 __builtin_return_address(0), flags, depend);
  target(device, count, addresses, sizes, kinds, flags, depend);
}
