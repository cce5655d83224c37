// Stands before the system's pthread_create, so that every thread that begins while stacks are
// sampled has its timer from the start.
//
// While nothing is sampled the program's call goes on unchanged.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "tracer/sampler/sampler.h"

namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
using Begin = void* (*)(void*);

struct Start {
  Begin begin;
  void* argument;
};

Create next_create() noexcept {
  static std::atomic<Create> found{nullptr};
  Create create = found.load();
  if (create == nullptr) {
    create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    found.store(create);
  }
  return create;
}

// The program's function comes last, and with optimisation in the place of this one: stacks look as
// without us.
void* begin_sampled(void* data) {
  auto* const given = static_cast<Start*>(data);
  const Start start = *given;
  std::free(given);
  refrain::sampler::sample_this_thread();
  return start.begin(start.argument);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, Begin begin, void* argument) {
  const Create create = next_create();
  if (create == nullptr) return EAGAIN;
  auto* const start = refrain::sampler::sampling()
                          ? static_cast<Start*>(std::malloc(sizeof(Start)))
                          : nullptr;
  if (start == nullptr) return create(thread, attributes, begin, argument);
  *start = {begin, argument};
  const int result = create(thread, attributes, begin_sampled, start);
  if (result != 0) std::free(start);
  return result;
}
