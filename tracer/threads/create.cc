// Stands before the system's pthread_create and C11's thrd_create, so that every thread that begins while stacks are sampled has its timer from the start, and
// one that is to be recorded its location.
//
// Part of librefrain.so, unlike what waits (stand_ins.cc). While nothing is sampled or recorded the program's call goes on unchanged.
#include <pthread.h>
#include <threads.h>

#include <cerrno>

#include "base/next_function.h"
#include "tracer/threads/thread_source.h"

extern "C" __attribute__((weak)) void __tsan_init();

namespace {

using refrain::threads::CreateC11Thread;
using refrain::threads::CreateThread;

constinit refrain::base::NextFunction<CreateThread> g_next{"pthread_create"};
constinit refrain::base::NextFunction<CreateC11Thread> g_next_c11{"thrd_create"};

__attribute__((constructor)) void find_next() noexcept {
  g_next.get();
  g_next_c11.get();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*),
    void* argument) noexcept {
  CreateThread* const next = g_next.get();
  if (next == nullptr) return EAGAIN;
  // ThreadSanitizer makes a thread its own in the function that it gives us: nothing may run before that.
  if (&__tsan_init != nullptr) return next(thread, attributes, begin, argument);
  return refrain::threads::create(
      next, thread, attributes, begin, argument,
      __builtin_extract_return_addr(__builtin_return_address(0)));
}

extern "C" __attribute__((visibility("default"))) int thrd_create(thrd_t* thread,
                                                                  int (*begin)(void*),
                                                                  void* argument) {
  CreateC11Thread* const next = g_next_c11.get();
  if (next == nullptr) return thrd_error;
  if (&__tsan_init != nullptr) return next(thread, begin, argument);
  return refrain::threads::create(
      next, thread, begin, argument,
      __builtin_extract_return_addr(__builtin_return_address(0)));
}
