// Stands before the system's pthread_create, so that every thread that begins while stacks are sampled has its timer from the start, and
// one that is to be recorded its location.
//
// Part of librefrain.so, unlike what waits (stand_ins.cc). While nothing is sampled or recorded the program's call goes on unchanged.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "tracer/threads/thread_source.h"

extern "C" __attribute__((weak)) void __tsan_init();

namespace {

using refrain::threads::CreateThread;

constinit std::atomic<CreateThread*> g_next{nullptr};

// When the library is loaded: later the loader's lock may be another thread's, which waits for this one in a constructor.
__attribute__((constructor)) void find_next() noexcept {
  g_next.store(reinterpret_cast<CreateThread*>(dlsym(RTLD_NEXT, "pthread_create")));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*),
    void* argument) noexcept {
  if (g_next.load(std::memory_order_relaxed) == nullptr) find_next();
  CreateThread* const next = g_next.load(std::memory_order_relaxed);
  if (next == nullptr) return EAGAIN;
  // ThreadSanitizer makes a thread its own in the function that it gives us: nothing may run before that.
  if (&__tsan_init != nullptr) return next(thread, attributes, begin, argument);
  return refrain::threads::create(
      next, thread, attributes, begin, argument,
      __builtin_extract_return_addr(__builtin_return_address(0)));
}
