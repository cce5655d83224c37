// librefrain_memory.so: stands before the allocator's functions, and reports what they do to librefrain.so (memory_api.h).
//
// Place in the flow: ARCHITECTURE.md, stage 2. `refrain run --memory` preloads it after librefrain.so; without that each call goes on
// unchanged. C++'s new and delete, Fortran's allocate and the C library's own (strdup, getline) call these functions.
// It includes no header that declares what it stands for, and needs no C++ library.
//
// Any allocator may come next: the C library's, or one that is preloaded. If one comes first (linked into the program; a sanitizer's),
// nothing is counted. What is asked for while the next one is being looked for (the loader may allocate then) comes from a small
// memory of our own.
// Thread-safety and errors: as those of the functions. Cost: memory_calls.h.
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "tracer/memory/memory_api.h"

extern "C" __attribute__((weak)) const refrain::memory::Api* refrain_memory_api();

namespace {

using refrain::base::AllocationCall;
using refrain::memory::Api;
using refrain::memory::Released;

struct Next {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*usable_size)(void*);
};
constinit Next g_next{};
const Api* g_api = nullptr;
bool g_meant = false;
enum class State : std::uint8_t { kUnknown, kLooking, kKnown };
constinit std::atomic<State> g_state{State::kUnknown};

// --- While the next ones are being looked for ---

constexpr std::size_t kEarlyBytes = 32 << 10;
constexpr std::size_t kAlignment = 16;
alignas(kAlignment) constinit char g_early[kEarlyBytes]{};
constinit std::atomic<std::size_t> g_early_used{0};
unsigned g_early_freed = 0;

bool is_early(const void* block) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  const auto begin = reinterpret_cast<std::uintptr_t>(g_early);
  return at - begin < kEarlyBytes;
}

// Zeros; its size is in front of it. Never given back.
void* early(std::size_t bytes) noexcept {
  if (bytes >= kEarlyBytes) return errno = ENOMEM, nullptr;
  const std::size_t needed =
      kAlignment + (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t at = g_early_used.fetch_add(needed);
  if (at + needed > kEarlyBytes) return errno = ENOMEM, nullptr;
  *reinterpret_cast<std::size_t*>(g_early + at) = bytes;
  return g_early + at + kAlignment;
}

std::size_t early_size(const void* block) noexcept {
  return *reinterpret_cast<const std::size_t*>(static_cast<const char*>(block) -
                                               kAlignment);
}

template <typename Function>
void find(Function*& to, const char* name) noexcept {
  to = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

const void* object_of(const void* code) noexcept {
  Dl_info info{};
  return dladdr(code, &info) != 0 ? info.dli_fbase : nullptr;
}

// What the program calls by this name.
template <typename Function>
Function* called(Function*, const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// The functions of an allocator belong together: a program that has a malloc of its own does not come here with all blocks. Whether it comes
// here is tried, for what a program has under such a name may be no more than its way to ours. While the next ones are being looked
// for, ours give early memory.
bool all_are_ours() noexcept {
  if (g_next.malloc == nullptr || g_next.usable_size == nullptr ||
      object_of(reinterpret_cast<void*>(g_next.malloc)) !=
          object_of(reinterpret_cast<void*>(g_next.usable_size)))
    return false;
  const auto a_free = called(g_next.free, "free");
  const auto comes = [&](void* block) {
    const bool ours = is_early(block);
    const unsigned before = g_early_freed;
    a_free(block);
    return ours && g_early_freed != before;
  };
  return a_free != nullptr && comes(called(g_next.malloc, "malloc")(1)) &&
         comes(called(g_next.calloc, "calloc")(1, 1)) &&
         comes(called(g_next.realloc, "realloc")(nullptr, 1));
}

__attribute__((noinline, cold)) bool look() noexcept {
  State before = State::kUnknown;
  if (!g_state.compare_exchange_strong(before, State::kLooking))
    return before == State::kKnown;
  const int kept = errno;
  find(g_next.malloc, "malloc");
  find(g_next.calloc, "calloc");
  find(g_next.realloc, "realloc");
  find(g_next.free, "free");
  find(g_next.posix_memalign, "posix_memalign");
  find(g_next.aligned_alloc, "aligned_alloc");
  find(g_next.memalign, "memalign");
  find(g_next.valloc, "valloc");
  find(g_next.pvalloc, "pvalloc");
  find(g_next.usable_size, "malloc_usable_size");
  if (&refrain_memory_api != nullptr) g_api = refrain_memory_api();
  g_meant = g_api != nullptr && all_are_ours();
  if (g_meant) g_api->attach();
  errno = kept;
  g_state.store(State::kKnown, std::memory_order_release);
  return true;
}

// False: the next ones are not known yet.
inline bool known() noexcept {
  return g_state.load(std::memory_order_acquire) == State::kKnown || look();
}

// --- Calls ---

// One of the allocator's functions may call another, which is part of it.
constinit thread_local unsigned t_inside __attribute__((tls_model("initial-exec"))) = 0;

inline bool counting() noexcept {
  if (!g_meant) return false;
  const auto state = g_api->state->load(std::memory_order_relaxed);
  return state == refrain::memory::State::kOn ||
         (state == refrain::memory::State::kNotAsked && g_api->ask());
}
inline bool counted() noexcept { return t_inside == 0 && counting(); }

inline void* report(AllocationCall call, void* block, std::size_t bytes,
                    const void* returns_to) noexcept {
  if (block == nullptr)
    g_api->failed(call);
  else
    g_api->allocated(call, block, bytes, g_next.usable_size(block), returns_to);
  return block;
}

// `asked`: bytes. `next`: the call itself.
template <typename Function>
inline void* allocate(AllocationCall call, std::size_t asked, const void* returns_to,
                      const Function& next) noexcept {
  if (!counted()) return next();
  ++t_inside;
  void* const block = next();
  --t_inside;
  return report(call, block, asked, returns_to);
}

__attribute__((noinline, cold)) void* moved_from_early(const void* block,
                                                       std::size_t bytes) noexcept {
  void* const to = known() ? g_next.malloc(bytes) : early(bytes);
  if (to == nullptr) return nullptr;
  const std::size_t all = early_size(block);
  const auto* const from = static_cast<const char*>(block);
  for (std::size_t i = 0; i < (bytes < all ? bytes : all); ++i)
    static_cast<char*>(to)[i] = from[i];
  return to;
}

inline void* resized(void* block, std::size_t bytes, const void* returns_to) noexcept {
  if (is_early(block)) [[unlikely]]
    return moved_from_early(block, bytes);
  if (!known()) return block == nullptr ? early(bytes) : (errno = ENOMEM, nullptr);
  if (!counted()) return g_next.realloc(block, bytes);
  Released before;
  if (block != nullptr)
    g_api->released(AllocationCall::kRealloc, block, g_next.usable_size(block), &before);
  ++t_inside;
  void* const result = g_next.realloc(block, bytes);
  --t_inside;
  // Of 0 bytes: it has gone back.
  if (result == nullptr && bytes == 0 && block != nullptr) return nullptr;
  if (result == nullptr && block != nullptr) g_api->kept(block, &before);
  return report(AllocationCall::kRealloc, result, bytes, returns_to);
}

}  // namespace

#define REFRAIN_ALLOCATOR(result, name, ...)          \
  extern "C" __attribute__((visibility("default")))   \
  result stand_in_##name(__VA_ARGS__) __asm__(#name); \
  result stand_in_##name

#define REFRAIN_CALLER __builtin_return_address(0)

REFRAIN_ALLOCATOR(void*, malloc, std::size_t)
(std::size_t bytes) {
  if (!known()) [[unlikely]]
    return early(bytes);
  return allocate(AllocationCall::kMalloc, bytes, REFRAIN_CALLER,
                  [=] { return g_next.malloc(bytes); });
}

REFRAIN_ALLOCATOR(void*, calloc, std::size_t, std::size_t)
(std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  const bool too_large = __builtin_mul_overflow(count, bytes, &all);
  if (!known()) [[unlikely]]
    return too_large ? (errno = ENOMEM, nullptr) : early(all);
  return allocate(AllocationCall::kCalloc, all, REFRAIN_CALLER,
                  [=] { return g_next.calloc(count, bytes); });
}

REFRAIN_ALLOCATOR(void*, realloc, void*, std::size_t)
(void* block, std::size_t bytes) { return resized(block, bytes, REFRAIN_CALLER); }

// As the C library's, which calls realloc().
REFRAIN_ALLOCATOR(void*, reallocarray, void*, std::size_t, std::size_t)
(void* block, std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return errno = ENOMEM, nullptr;
  return resized(block, all, REFRAIN_CALLER);
}

REFRAIN_ALLOCATOR(void, free, void*)
(void* block) {
  if (block == nullptr) return;
  if (is_early(block)) [[unlikely]] {
    ++g_early_freed;
    return;
  }
  if (!known()) [[unlikely]]
    return;
  if (counting()) {
    Released what;
    g_api->released(AllocationCall::kFree, block, g_next.usable_size(block), &what);
  }
  g_next.free(block);
}

REFRAIN_ALLOCATOR(int, posix_memalign, void**, std::size_t, std::size_t)
(void** to, std::size_t alignment, std::size_t bytes) {
  if (!known() || g_next.posix_memalign == nullptr) [[unlikely]]
    return ENOMEM;
  if (!counted()) return g_next.posix_memalign(to, alignment, bytes);
  ++t_inside;
  const int result = g_next.posix_memalign(to, alignment, bytes);
  --t_inside;
  report(AllocationCall::kAligned, result == 0 ? *to : nullptr, bytes, REFRAIN_CALLER);
  return result;
}

#define REFRAIN_ALIGNED(name)                                        \
  REFRAIN_ALLOCATOR(void*, name, std::size_t, std::size_t)           \
  (std::size_t alignment, std::size_t bytes) {                       \
    if (!known() || g_next.name == nullptr) [[unlikely]]             \
      return errno = ENOMEM, nullptr;                                \
    return allocate(AllocationCall::kAligned, bytes, REFRAIN_CALLER, \
                    [=] { return g_next.name(alignment, bytes); });  \
  }
REFRAIN_ALIGNED(aligned_alloc)
REFRAIN_ALIGNED(memalign)

#define REFRAIN_OF_PAGES(name)                                       \
  REFRAIN_ALLOCATOR(void*, name, std::size_t)                        \
  (std::size_t bytes) {                                              \
    if (!known() || g_next.name == nullptr) [[unlikely]]             \
      return errno = ENOMEM, nullptr;                                \
    return allocate(AllocationCall::kAligned, bytes, REFRAIN_CALLER, \
                    [=] { return g_next.name(bytes); });             \
  }
REFRAIN_OF_PAGES(valloc)
REFRAIN_OF_PAGES(pvalloc)

namespace {

// Before there are threads.
__attribute__((constructor)) void at_load() { known(); }

}  // namespace
