#include "base/thread_end.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
// Of the C library, for what C++ compilers make of thread_local objects.
int __cxa_thread_atexit_impl(void (*function)(void*), void* argument,  // NOLINT
                             void* library);
extern void* __dso_handle;  // NOLINT
}

namespace refrain::base {
namespace {

constexpr long kNone = -1;

}  // namespace

long ThreadEnd::key() noexcept {
  const long known = __atomic_load_n(&key_, __ATOMIC_ACQUIRE);
  if (known != 0) return known;
  pthread_key_t made{};
  const bool there_is = pthread_key_create(&made, function_) == 0;
  const long wanted = there_is ? static_cast<long>(made) + 1 : kNone;
  long first = 0;
  if (__atomic_compare_exchange_n(&key_, &first, wanted, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return wanted;
  if (there_is) pthread_key_delete(made);  // another thread was faster
  return first;
}

void ThreadEnd::set(void* value) noexcept {
  const long key = this->key();
  if (key != kNone && pthread_setspecific(static_cast<pthread_key_t>(key - 1), value) == 0)
    return;
  // There the main thread's would be called by exit(), before its handlers.
  if (syscall(SYS_gettid) != getpid())
    __cxa_thread_atexit_impl(function_, value, &__dso_handle);
}

}  // namespace refrain::base
