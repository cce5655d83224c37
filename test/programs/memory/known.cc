// Allocates what it knows, and prints it: lines "name number", then of each call path that it allocates large blocks by
// "path FUNCTION calls=... bytes=... frees=... current_bytes=... high_water_bytes=...".
//
//     known [kill]
//
// Blocks of 64 KiB and more are followed in any test, those of 100 bytes in none. By malloc, calloc, realloc, the aligned
// functions, new and delete; before main, in threads that free each other's, in a handler of a signal, in a child. It checks itself that what
// the functions promise holds (alignment, errno, zeros, what realloc keeps), and ends with status 3 if it does not.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr std::size_t kBlock = 64 << 10;

[[noreturn]] void fail(const char* what) {
  static_cast<void>(write(2, what, std::strlen(what)));
  _exit(3);
}
void check(bool holds, const char* what) {
  if (!holds) fail(what);
}

// The compiler must not leave a pair of calls out.
void* volatile g_kept_alive = nullptr;
void* used(void* block) {
  g_kept_alive = block;
  return block;
}

// Two of the same code would be one function.
#define APART __attribute__((noinline))
#define UNLIKE_OTHERS asm volatile("" : : "i"(__LINE__))

// --- Each a call path of its own ---

void* g_before_main = nullptr;
__attribute__((constructor)) APART void before_main() {
  UNLIKE_OTHERS;
  g_before_main = used(std::malloc(3 * kBlock));
}

APART void* never_freed(std::size_t bytes) {
  UNLIKE_OTHERS;
  return used(std::malloc(bytes));
}
APART void* held_at_the_peak(std::size_t bytes) {
  UNLIKE_OTHERS;
  return used(std::calloc(1, bytes));
}
APART void* after_the_peak(std::size_t bytes) {
  UNLIKE_OTHERS;
  return used(std::malloc(bytes));
}
APART void churn(int rounds) {
  for (int i = 0; i < rounds; ++i) std::free(used(std::malloc(kBlock)));
}
APART char* grown() {
  char* block = static_cast<char*>(used(std::malloc(kBlock)));
  for (std::size_t i = 0; i < kBlock; ++i) block[i] = static_cast<char>(i);
  block = static_cast<char*>(used(std::realloc(block, 4 * kBlock)));
  for (std::size_t i = 0; i < kBlock; ++i)
    check(block[i] == static_cast<char>(i), "realloc");
  return block;
}
APART double* by_new(std::size_t count) {
  return static_cast<double*>(used(new double[count]));
}

APART void aligned() {
  void* block = nullptr;
  errno = 77;
  check(posix_memalign(&block, 4096, kBlock) == 0 && errno == 77, "posix_memalign");
  check(reinterpret_cast<std::uintptr_t>(block) % 4096 == 0, "its alignment");
  std::free(used(block));
  block = std::aligned_alloc(256, kBlock);
  check(reinterpret_cast<std::uintptr_t>(block) % 256 == 0, "aligned_alloc");
  std::free(used(block));
  block = memalign(1024, kBlock);
  check(reinterpret_cast<std::uintptr_t>(block) % 1024 == 0, "memalign");
  std::free(used(block));
  block = valloc(kBlock);
  check(reinterpret_cast<std::uintptr_t>(block) % 4096 == 0, "valloc");
  std::free(used(block));
  check(posix_memalign(&block, 3, kBlock) == EINVAL, "an alignment that is none");
}

void promises() {
  errno = 77;
  void* block = used(std::malloc(100));
  check(block != nullptr && errno == 77, "errno of malloc");
  std::free(block);
  check(errno == 77, "errno of free");
  std::free(nullptr);
  block = used(std::malloc(0));
  std::free(block);
  block = used(std::calloc(10, 10));
  for (int i = 0; i < 100; ++i) check(static_cast<char*>(block)[i] == 0, "calloc");
  check(std::realloc(block, 0) == nullptr, "realloc to nothing");
  volatile std::size_t too_many = SIZE_MAX / 4;
  errno = 0;
  // By a pointer: clang believes that malloc leaves errno as it is.
  void* (*volatile allocate)(std::size_t) = std::malloc;
  check(used(allocate(too_many)) == nullptr && errno == ENOMEM, "too much");
  check(used(std::calloc(too_many, 16)) == nullptr, "an overflow");
  block = used(std::malloc(2 * kBlock));
  check(used(std::realloc(block, too_many)) == nullptr, "realloc to too much");
  check(used(reallocarray(block, too_many, 16)) == nullptr, "reallocarray to too much");
  // What is there stays, and is never freed.
  check(used(std::realloc(used(std::malloc(6 * kBlock)), too_many)) == nullptr, "another");
  block = reallocarray(block, 2, kBlock / 2);
  std::free(used(block));
}

// --- Threads free what others have allocated ---

constexpr int kThreads = 4, kRounds = 2000;
std::array<void*, kThreads * 4> g_exchange{};
pthread_barrier_t g_barrier;

APART void* by_thread(std::size_t bytes) {
  UNLIKE_OTHERS;
  return used(std::malloc(bytes));
}

void* in_thread(void* argument) {
  const auto own = reinterpret_cast<std::intptr_t>(argument);
  // The C library allocates in it, with a lock in its hands.
  pthread_attr_t attributes;
  check(pthread_getattr_np(pthread_self(), &attributes) == 0, "pthread_getattr_np");
  pthread_attr_destroy(&attributes);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 4; ++i) {
      const auto at = static_cast<std::size_t>(own * 4 + i);
      g_exchange[at] = by_thread(i % 2 == 0 ? kBlock : 100);
      std::memset(g_exchange[at], static_cast<int>(at), 100);
    }
    pthread_barrier_wait(&g_barrier);
    for (int i = 0; i < 4; ++i) {
      const auto at = static_cast<std::size_t>((own + 1) % kThreads * 4 + i);
      check(static_cast<unsigned char*>(g_exchange[at])[99] == at, "what a block has");
      std::free(g_exchange[at]);
    }
    pthread_barrier_wait(&g_barrier);
  }
  return nullptr;
}

void threads() {
  pthread_barrier_init(&g_barrier, nullptr, kThreads);
  std::array<pthread_t, kThreads> all;
  for (std::intptr_t i = 0; i < kThreads; ++i)
    check(pthread_create(&all[static_cast<std::size_t>(i)], nullptr, in_thread,
                         reinterpret_cast<void*>(i)) == 0,
          "pthread_create");
  for (const pthread_t thread : all) pthread_join(thread, nullptr);
}

APART void in_handler(int) { std::free(used(std::malloc(5 * kBlock))); }

APART void in_child() {
  for (int i = 0; i < 7; ++i) used(std::malloc(kBlock));
  _exit(0);
}

void print(const char* name, long number) { std::printf("%s %ld\n", name, number); }

void path(const char* function, long calls, long blocks, long frees, long left,
          long at_peak) {
  constexpr auto kBytes = static_cast<long>(kBlock);
  std::printf(
      "path %s calls=%ld bytes=%ld frees=%ld current_bytes=%ld high_water_bytes=%ld\n",
      function, calls, blocks * kBytes, frees, left * kBytes, at_peak * kBytes);
}

}  // namespace

int main(int count, char** words) {
  // Its buffer belongs to nobody.
  static char output[1 << 14];
  std::setvbuf(stdout, output, _IOFBF, sizeof output);
  used(never_freed(2 * kBlock));
  for (int i = 0; i < 100; ++i) used(std::malloc(100));
  promises();
  aligned();
  churn(1000);
  char* const block = grown();
  double* const numbers = by_new(kBlock / sizeof(double) * 10);
  threads();
  signal(SIGUSR1, in_handler);
  raise(SIGUSR1);
  const pid_t child = fork();
  if (child == 0) in_child();
  int status = 0;
  check(waitpid(child, &status, 0) == child && status == 0, "a child");
  // The high-water mark: of threads there are 8 blocks at most at a time.
  void* const peak = held_at_the_peak(100 * kBlock);
  std::free(peak);
  void* const later = after_the_peak(50 * kBlock);
  delete[] numbers;

  path("before_main", 1, 3, 0, 3, 3);
  path("never_freed", 1, 2, 0, 2, 2);
  path("churn", 1000, 1000, 1000, 0, 0);
  path("by_new", 1, 10, 1, 0, 10);
  path("held_at_the_peak", 1, 100, 1, 0, 100);
  path("after_the_peak", 1, 50, 0, 50, 0);
  path("by_thread", kThreads * kRounds * 2, kThreads * kRounds * 2, kThreads * kRounds * 2,
       0, 0);
  path("in_handler", 1, 5, 1, 0, 0);
  // realloc is an allocation of its own.
  path("grown", 2, 5, 1, 4, 4);
  path("aligned", 4, 4, 4, 0, 0);
  // malloc, and realloc to half of it; those that fail take nothing.
  path("promises", 3, 3 + 6, 2, 6, 6);
  print("aligned_calls", 5);
  print("failed", 5);
  print("high_water_blocks", 3 + 2 + 10 + 100 + 4 + 6);
  std::fflush(stdout);
  if (count > 1 && std::strcmp(words[1], "kill") == 0) raise(SIGKILL);
  static_cast<void>(block), static_cast<void>(later), static_cast<void>(g_before_main);
  return 0;
}
