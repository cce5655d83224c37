// Stands before the system's pthread_create, so that every thread that begins while stacks are sampled has its timer from the start, and
// one that is to be recorded its location.
//
// Part of librefrain.so, unlike what waits (stand_ins.cc). While nothing is sampled or recorded the program's call goes on unchanged.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "tracer/threads/thread_source.h"

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*),
    void* argument) noexcept {
  using refrain::threads::CreateThread;
  static std::atomic<CreateThread*> found{nullptr};
  CreateThread* next = found.load();
  if (next == nullptr) {
    next = reinterpret_cast<CreateThread*>(dlsym(RTLD_NEXT, "pthread_create"));
    found.store(next);
  }
  if (next == nullptr) return EAGAIN;
  return refrain::threads::create(
      next, thread, attributes, begin, argument,
      __builtin_extract_return_addr(__builtin_return_address(0)));
}
