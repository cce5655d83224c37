// What the linker puts in the place of malloc and its kin in the library's own code, libotf2's
// above all (tracer/BUILD, --wrap): see memory_reserve.h. They may be the program's, whose functions may be
// instrumented: what they call is our own code.
#include <cstddef>

#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/slow_path.h"

namespace {

// What is larger than a piece fails.
template <typename Allocate>
void* retried(std::size_t bytes, const Allocate& allocate) noexcept {
  const refrain::recorder::OwnCode own_code;
  void* memory = allocate();
  while (memory == nullptr && bytes != 0 && bytes <= refrain::recorder::kMemoryPiece &&
         refrain::recorder::give_back_memory())
    memory = allocate();
  return memory;
}

}  // namespace

extern "C" {

void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* memory, std::size_t bytes);
void __real_free(void* memory);

void* __wrap_malloc(std::size_t bytes) {
  return retried(bytes, [=] { return __real_malloc(bytes); });
}

void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return nullptr;
  return retried(all, [=] { return __real_calloc(count, bytes); });
}

void* __wrap_realloc(void* memory, std::size_t bytes) {
  return retried(bytes, [=] { return __real_realloc(memory, bytes); });
}

void __wrap_free(void* memory) {
  const refrain::recorder::OwnCode own_code;
  __real_free(memory);
}

}  // extern "C"
