// librefrain_threads.so: stands before the C library's calls that wait for threads, and reports those that do wait to librefrain.so
// (threads_api.h).
//
// Place in the flow: ARCHITECTURE.md, stage 2. `refrain run --threads` preloads it after librefrain.so. A lock is tried first: one that is
// free is taken so, and nobody hears of it.
// Thread-safety and errors: as those of the calls. A thread that is cancelled in one, or leaves it by a jump, leaves its region open until
// the thread ends. Cost: of a free lock that of the C library's call that tries it, and some 2 ns.
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <threads.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "base/next_function.h"
#include "tracer/threads/threads_api.h"

extern "C" {
__attribute__((weak)) const refrain::threads::Api* refrain_threads_api();
__attribute__((weak)) void __tsan_init();
}

namespace {

using refrain::base::NextFunction;
using refrain::spool::ThreadCall;
using refrain::threads::Api;

const Api* api() noexcept {
  static std::atomic<const Api*> found{nullptr};
  const Api* known = found.load(std::memory_order_relaxed);
  // ThreadSanitizer stands before the same calls, and nothing of ours may run in them.
  if (known == nullptr && &refrain_threads_api != nullptr && &__tsan_init == nullptr) {
    known = refrain_threads_api();
    found.store(known, std::memory_order_relaxed);
  }
  return known;
}

// A call that waits, on its thread's stack.
class Wait {
 public:
  Wait(ThreadCall call, const void* returns_to, std::uint32_t holder = 0)
      : on_(api() != nullptr && api()->begin(call, returns_to, holder)) {}
  // For the end of a thread. Its number is asked for first: another thread may be the next with this `pthread_t`.
  Wait(ThreadCall call, const void* returns_to, pthread_t thread)
      : thread_(api() == nullptr ? 0 : api()->number_of(thread)),
        on_(api() != nullptr && api()->begin(call, returns_to, 0)) {}
  int end(int result) {
    if (on_) api()->end(result == 0 ? thread_ : 0);
    return result;
  }

 private:
  std::uint64_t thread_ = 0;
  bool on_;
};

// The thread that has it, as far as the C library notes that.
std::uint32_t holder_of(const pthread_mutex_t* mutex) noexcept {
  return static_cast<std::uint32_t>(
      __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED));
}
std::uint32_t holder_of(const pthread_rwlock_t* lock) noexcept {
  return static_cast<std::uint32_t>(
      __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED));
}

}  // namespace

// What comes after NAME: g_next_NAME. Looked for when the library is loaded: later the loader's lock may be another thread's, which waits for
// this one in a constructor.
#define REFRAIN_NEXT(result, name, ...)                                             \
  constinit NextFunction<result(__VA_ARGS__)> g_next_##name{#name};                 \
  __attribute__((constructor)) void find_##name() noexcept { g_next_##name.get(); } \
  static_assert(true)
#define REFRAIN_STAND_IN(name) extern "C" __attribute__((visibility("default"))) int name
#define REFRAIN_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

// A lock that is free is taken by the call that tries it; whatever else that says is what the lock itself would say.
#define REFRAIN_LOCK(call, type, lock, try_lock)                  \
  namespace {                                                     \
  REFRAIN_NEXT(int, lock, type);                                  \
  }                                                               \
  REFRAIN_STAND_IN(lock)(type what) noexcept {                    \
    const int tried = g_next_##try_lock.get()(what);              \
    if (tried != EBUSY) [[likely]]                                \
      return tried;                                               \
    Wait wait(ThreadCall::call, REFRAIN_CALLER, holder_of(what)); \
    return wait.end(g_next_##lock.get()(what));                   \
  }

#define REFRAIN_TIMED_LOCK(call, type, lock, try_lock)                \
  namespace {                                                         \
  REFRAIN_NEXT(int, lock, type, const timespec*);                     \
  }                                                                   \
  REFRAIN_STAND_IN(lock)(type what, const timespec* until) noexcept { \
    const int tried = g_next_##try_lock.get()(what);                  \
    if (tried != EBUSY) [[likely]]                                    \
      return tried;                                                   \
    Wait wait(ThreadCall::call, REFRAIN_CALLER, holder_of(what));     \
    return wait.end(g_next_##lock.get()(what, until));                \
  }

#define REFRAIN_CLOCK_LOCK(call, type, lock, try_lock)                                 \
  namespace {                                                                          \
  REFRAIN_NEXT(int, lock, type, clockid_t, const timespec*);                           \
  }                                                                                    \
  REFRAIN_STAND_IN(lock)(type what, clockid_t clock, const timespec* until) noexcept { \
    const int tried = g_next_##try_lock.get()(what);                                   \
    if (tried != EBUSY) [[likely]]                                                     \
      return tried;                                                                    \
    Wait wait(ThreadCall::call, REFRAIN_CALLER, holder_of(what));                      \
    return wait.end(g_next_##lock.get()(what, clock, until));                          \
  }

namespace {
REFRAIN_NEXT(int, pthread_mutex_trylock, pthread_mutex_t*);
REFRAIN_NEXT(int, pthread_rwlock_tryrdlock, pthread_rwlock_t*);
REFRAIN_NEXT(int, pthread_rwlock_trywrlock, pthread_rwlock_t*);
REFRAIN_NEXT(int, pthread_spin_trylock, pthread_spinlock_t*);
REFRAIN_NEXT(int, sem_trywait, sem_t*);
}  // namespace

REFRAIN_LOCK(kMutex, pthread_mutex_t*, pthread_mutex_lock, pthread_mutex_trylock)
REFRAIN_TIMED_LOCK(kMutex, pthread_mutex_t*, pthread_mutex_timedlock, pthread_mutex_trylock)
REFRAIN_CLOCK_LOCK(kMutex, pthread_mutex_t*, pthread_mutex_clocklock, pthread_mutex_trylock)
REFRAIN_LOCK(kRead, pthread_rwlock_t*, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock)
REFRAIN_TIMED_LOCK(kRead, pthread_rwlock_t*, pthread_rwlock_timedrdlock,
                   pthread_rwlock_tryrdlock)
REFRAIN_CLOCK_LOCK(kRead, pthread_rwlock_t*, pthread_rwlock_clockrdlock,
                   pthread_rwlock_tryrdlock)
REFRAIN_LOCK(kWrite, pthread_rwlock_t*, pthread_rwlock_wrlock, pthread_rwlock_trywrlock)
REFRAIN_TIMED_LOCK(kWrite, pthread_rwlock_t*, pthread_rwlock_timedwrlock,
                   pthread_rwlock_trywrlock)
REFRAIN_CLOCK_LOCK(kWrite, pthread_rwlock_t*, pthread_rwlock_clockwrlock,
                   pthread_rwlock_trywrlock)

namespace {
REFRAIN_NEXT(int, pthread_spin_lock, pthread_spinlock_t*);
}
REFRAIN_STAND_IN(pthread_spin_lock)(pthread_spinlock_t* lock) noexcept {
  if (g_next_pthread_spin_trylock.get()(lock) == 0) [[likely]]
    return 0;
  Wait wait(ThreadCall::kSpin, REFRAIN_CALLER);
  return wait.end(g_next_pthread_spin_lock.get()(lock));
}

// --- Semaphores: errno says why not ---

namespace {

REFRAIN_NEXT(int, sem_wait, sem_t*);
REFRAIN_NEXT(int, sem_timedwait, sem_t*, const timespec*);
REFRAIN_NEXT(int, sem_clockwait, sem_t*, clockid_t, const timespec*);

bool takes(sem_t* semaphore) noexcept {
  const int kept = errno;
  if (g_next_sem_trywait.get()(semaphore) == 0) return true;
  errno = kept;
  return false;
}

}  // namespace

REFRAIN_STAND_IN(sem_wait)(sem_t* semaphore) {
  if (takes(semaphore)) return 0;
  Wait wait(ThreadCall::kSemaphore, REFRAIN_CALLER);
  return wait.end(g_next_sem_wait.get()(semaphore));
}
REFRAIN_STAND_IN(sem_timedwait)(sem_t* semaphore, const timespec* until) {
  if (takes(semaphore)) return 0;
  Wait wait(ThreadCall::kSemaphore, REFRAIN_CALLER);
  return wait.end(g_next_sem_timedwait.get()(semaphore, until));
}
REFRAIN_STAND_IN(sem_clockwait)(sem_t* semaphore, clockid_t clock, const timespec* until) {
  if (takes(semaphore)) return 0;
  Wait wait(ThreadCall::kSemaphore, REFRAIN_CALLER);
  return wait.end(g_next_sem_clockwait.get()(semaphore, clock, until));
}

// --- What waits in any case ---

namespace {
REFRAIN_NEXT(int, pthread_cond_wait, pthread_cond_t*, pthread_mutex_t*);
REFRAIN_NEXT(int, pthread_cond_timedwait, pthread_cond_t*, pthread_mutex_t*,
             const timespec*);
REFRAIN_NEXT(int, pthread_cond_clockwait, pthread_cond_t*, pthread_mutex_t*, clockid_t,
             const timespec*);
REFRAIN_NEXT(int, pthread_barrier_wait, pthread_barrier_t*);
REFRAIN_NEXT(int, pthread_join, pthread_t, void**);
REFRAIN_NEXT(int, pthread_timedjoin_np, pthread_t, void**, const timespec*);
REFRAIN_NEXT(int, pthread_clockjoin_np, pthread_t, void**, clockid_t, const timespec*);
}  // namespace

REFRAIN_STAND_IN(pthread_cond_wait)(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Wait wait(ThreadCall::kCondition, REFRAIN_CALLER);
  return wait.end(g_next_pthread_cond_wait.get()(condition, mutex));
}
REFRAIN_STAND_IN(pthread_cond_timedwait)
(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  Wait wait(ThreadCall::kCondition, REFRAIN_CALLER);
  return wait.end(g_next_pthread_cond_timedwait.get()(condition, mutex, until));
}
REFRAIN_STAND_IN(pthread_cond_clockwait)
(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
 const timespec* until) {
  Wait wait(ThreadCall::kCondition, REFRAIN_CALLER);
  return wait.end(g_next_pthread_cond_clockwait.get()(condition, mutex, clock, until));
}
REFRAIN_STAND_IN(pthread_barrier_wait)(pthread_barrier_t* barrier) noexcept {
  Wait wait(ThreadCall::kBarrier, REFRAIN_CALLER);
  return wait.end(g_next_pthread_barrier_wait.get()(barrier));
}
REFRAIN_STAND_IN(pthread_join)(pthread_t thread, void** result) {
  Wait wait(ThreadCall::kJoin, REFRAIN_CALLER, thread);
  return wait.end(g_next_pthread_join.get()(thread, result));
}
REFRAIN_STAND_IN(pthread_timedjoin_np)
(pthread_t thread, void** result, const timespec* until) {
  Wait wait(ThreadCall::kJoin, REFRAIN_CALLER, thread);
  return wait.end(g_next_pthread_timedjoin_np.get()(thread, result, until));
}
REFRAIN_STAND_IN(pthread_clockjoin_np)
(pthread_t thread, void** result, clockid_t clock, const timespec* until) {
  Wait wait(ThreadCall::kJoin, REFRAIN_CALLER, thread);
  return wait.end(g_next_pthread_clockjoin_np.get()(thread, result, clock, until));
}

// --- Names ---

namespace {

REFRAIN_NEXT(int, pthread_setname_np, pthread_t, const char*);
REFRAIN_NEXT(int, prctl, int, unsigned long, unsigned long, unsigned long, unsigned long);

void named(pthread_t thread, const char* name) noexcept {
  if (api() != nullptr) api()->named(thread, name);
}

}  // namespace

REFRAIN_STAND_IN(pthread_setname_np)(pthread_t thread, const char* name) noexcept {
  const int result = g_next_pthread_setname_np.get()(thread, name);
  if (result == 0) named(thread, name);
  return result;
}
// Takes as many arguments as there may be, as the C library's does.
REFRAIN_STAND_IN(prctl)(int option, ...) noexcept {
  std::array<unsigned long, 4> given;
  va_list arguments;
  va_start(arguments, option);
  for (unsigned long& each : given) each = va_arg(arguments, unsigned long);
  va_end(arguments);
  const int result = g_next_prctl.get()(option, given[0], given[1], given[2], given[3]);
  if (option == PR_SET_NAME && result == 0)
    named(pthread_self(), reinterpret_cast<const char*>(given[0]));
  return result;
}

// --- C11 ---

namespace {

REFRAIN_NEXT(int, mtx_lock, mtx_t*);
REFRAIN_NEXT(int, mtx_timedlock, mtx_t*, const timespec*);
REFRAIN_NEXT(int, mtx_trylock, mtx_t*);
REFRAIN_NEXT(int, cnd_wait, cnd_t*, mtx_t*);
REFRAIN_NEXT(int, cnd_timedwait, cnd_t*, mtx_t*, const timespec*);
REFRAIN_NEXT(int, thrd_join, thrd_t, int*);

// The C library's are those of POSIX under another name.
std::uint32_t holder_of(const mtx_t* mutex) noexcept {
  static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t));
  return holder_of(reinterpret_cast<const pthread_mutex_t*>(mutex));
}

}  // namespace

REFRAIN_STAND_IN(mtx_lock)(mtx_t* mutex) {
  const int tried = g_next_mtx_trylock.get()(mutex);
  if (tried != thrd_busy) [[likely]]
    return tried;
  Wait wait(ThreadCall::kC11Mutex, REFRAIN_CALLER, holder_of(mutex));
  return wait.end(g_next_mtx_lock.get()(mutex));
}
REFRAIN_STAND_IN(mtx_timedlock)(mtx_t* mutex, const timespec* until) {
  const int tried = g_next_mtx_trylock.get()(mutex);
  if (tried != thrd_busy) [[likely]]
    return tried;
  Wait wait(ThreadCall::kC11Mutex, REFRAIN_CALLER, holder_of(mutex));
  return wait.end(g_next_mtx_timedlock.get()(mutex, until));
}
REFRAIN_STAND_IN(cnd_wait)(cnd_t* condition, mtx_t* mutex) {
  Wait wait(ThreadCall::kC11Condition, REFRAIN_CALLER);
  return wait.end(g_next_cnd_wait.get()(condition, mutex));
}
REFRAIN_STAND_IN(cnd_timedwait)
(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  Wait wait(ThreadCall::kC11Condition, REFRAIN_CALLER);
  return wait.end(g_next_cnd_timedwait.get()(condition, mutex, until));
}
REFRAIN_STAND_IN(thrd_join)(thrd_t thread, int* result) {
  Wait wait(ThreadCall::kC11Join, REFRAIN_CALLER, thread);
  return wait.end(g_next_thrd_join.get()(thread, result));
}
