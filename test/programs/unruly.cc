// Exceptions, signals, jumps and threads, between and around parallel regions.
//
// Arguments: [what = none] [iterations = 50, before and after]. What:
//   none
//   caught            thrown and caught inside of a region, by one of its threads
//   through           thrown after each region, caught further up
//   uncaught          thrown, and never caught
//   signals           a timer's signals all the time; the handler only counts
//   signal-region     a signal whose handler has its own parallel region
//   jump              siglongjmp out of a handler, while no region is open
//   roots             six threads at once, each with its own regions
//   detached          a thread that goes on with regions while the process ends
//   at-exit           a region in a function that atexit calls
//   many              2000 threads, one after another, each with a region
//   thread-exit       pthread_exit within a thread that had regions
//   cancelled         pthread_cancel of a thread that sleeps between regions
//   cancelled-busy    the same of one with 4000 more regions before its cancellation point
// The last line: `what=... regions=... checksum=...`; regions are the outermost ones that were
// certainly done (detached: without those of that thread).
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common.h"

namespace {

std::atomic<long> g_regions{0};
volatile sig_atomic_t g_signals = 0;
sigjmp_buf g_back;
std::uint64_t g_in_handler = 0;

NOINLINE std::uint64_t uncounted_region(std::uint64_t seed) {
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int i = 0; i < 64; ++i) sum += scramble(seed + static_cast<std::uint64_t>(i)) >> 8;
  return sum;
}

std::uint64_t region(std::uint64_t seed) {
  const std::uint64_t sum = uncounted_region(seed);
  ++g_regions;
  return sum;
}

std::uint64_t iterate(long iterations) {
  std::uint64_t total = 0;
  for (long k = 0; k < iterations; ++k)
    total = checksum_add(total, region(static_cast<std::uint64_t>(k)));
  return total;
}

std::uint64_t caught(long iterations) {
  std::atomic<std::uint64_t> count{0};
  for (long k = 0; k < iterations; ++k) {
#pragma omp parallel
    {
      try {
        throw std::runtime_error("in a region");
      } catch (const std::runtime_error&) {
        ++count;
      }
    }
    ++g_regions;
  }
  return count.load() % static_cast<std::uint64_t>(iterations);
}

NOINLINE std::uint64_t region_and_throw(std::uint64_t seed) { throw region(seed); }

std::uint64_t through(long iterations) {
  std::uint64_t total = 0;
  for (long k = 0; k < iterations; ++k) {
    try {
      total += region_and_throw(static_cast<std::uint64_t>(k));
    } catch (std::uint64_t sum) {
      total = checksum_add(total, sum);
    }
  }
  return total;
}

void set_timer(long microseconds) {
  const timeval every{0, microseconds};
  const itimerval timer{every, every};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

std::uint64_t signals(long iterations) {
  signal(SIGALRM, [](int) { g_signals = g_signals + 1; });
  set_timer(200);
  std::uint64_t total = 0;
  for (int k = 0; k < 200; ++k) total = checksum_add(total, iterate(iterations));
  set_timer(0);
  return total;
}

std::uint64_t signal_region(long iterations) {
  signal(SIGUSR1, [](int) { g_in_handler = checksum_add(g_in_handler, region(7)); });
  for (long k = 0; k < iterations; ++k) raise(SIGUSR1);
  return g_in_handler;
}

std::uint64_t jump(long iterations) {
  signal(SIGUSR1, [](int) { siglongjmp(g_back, 1); });
  std::uint64_t total = 0;
  static long k;  // keeps its value after the jump
  for (k = 0; k < iterations; ++k) {
    if (sigsetjmp(g_back, 1) == 0) raise(SIGUSR1);
    total = checksum_add(total, region(static_cast<std::uint64_t>(k)));
  }
  return total;
}

std::uint64_t roots(long iterations) {
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> totals(6);
  for (std::uint64_t& total : totals)
    threads.emplace_back([&total, iterations] { total = iterate(iterations); });
  for (std::thread& thread : threads) thread.join();
  std::uint64_t total = 0;
  for (const std::uint64_t one : totals) total = checksum_add(total, one);
  return total;
}

std::uint64_t many() {
  std::uint64_t total = 0;
  for (std::uint64_t k = 0; k < 2000; ++k)
    std::thread([&total, k] { total = checksum_add(total, region(k)); }).join();
  return total;
}

void* regions_and_exit(void* argument) {
  for (int k = 0; k < 5; ++k) region(1);
  pthread_exit(argument);
}

void* regions_and_sleep(void*) {
  for (int k = 0; k < 5; ++k) region(1);
  for (;;) pause();
}

// A region of one thread waits for nothing, so it is no cancellation point.
std::atomic<bool> g_cancelled{false};
void* regions_and_look(void*) {
  while (!g_cancelled) {
  }
  volatile std::uint64_t sum = 0;
  for (int k = 0; k < 4000; ++k) {
#pragma omp parallel num_threads(1)
    sum = sum + scramble(static_cast<std::uint64_t>(k));
    ++g_regions;
  }
  pthread_testcancel();
  return nullptr;
}

std::uint64_t cancelled_busy() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, regions_and_look, nullptr) != 0) std::abort();
  pthread_cancel(thread);
  g_cancelled = true;
  void* result = nullptr;
  pthread_join(thread, &result);
  return result == PTHREAD_CANCELED ? 1 : 0;
}

std::uint64_t threads_that_end(void* (*work)(void*), bool cancelled) {
  for (int k = 0; k < 20; ++k) {
    const long before = g_regions;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, nullptr) != 0) std::abort();
    while (g_regions < before + 5) usleep(100);
    if (cancelled) pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
  return 20;
}

void print_result(const std::string& what, std::uint64_t total) {
  std::printf("what=%s regions=%ld checksum=%016llx\n", what.c_str(), g_regions.load(),
              static_cast<unsigned long long>(total));
  std::fflush(stdout);
}

std::uint64_t act(const std::string& what, long iterations) {
  if (what == "caught") return caught(iterations);
  if (what == "through") return through(iterations);
  if (what == "signals") return signals(iterations);
  if (what == "signal-region") return signal_region(iterations);
  if (what == "jump") return jump(iterations);
  if (what == "roots") return roots(iterations);
  if (what == "many") return many();
  if (what == "thread-exit") return threads_that_end(regions_and_exit, false);
  if (what == "cancelled") return threads_that_end(regions_and_sleep, true);
  if (what == "cancelled-busy") return cancelled_busy();
  if (what == "at-exit") std::atexit([] { print_result("at-exit-function", iterate(5)); });
  if (what == "uncaught") {
    print_result(what, 0);
    throw std::runtime_error("not caught");
  }
  if (what == "detached") {
    std::thread([] {
      for (;;) uncounted_region(1);
    }).detach();
    usleep(50'000);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "none";
  const long iterations = argument(argc, argv, 2, 50, 1);
  std::uint64_t total = iterate(iterations);
  total = checksum_add(total, act(what, iterations));
  if (what == "detached") {
    print_result(what, total);
    std::exit(0);
  }
  total = checksum_add(total, iterate(iterations));
  print_result(what, total);
  return 0;
}
