// Compiled with -finstrument-functions: exceptions, and other threads.
//
// Usage: throwing THREADS STEPS
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

std::atomic<int> started{0};

__attribute__((noinline)) void thrower(int i) {
  if (i % 2 == 0) throw std::runtime_error("as it should");
}
__attribute__((noinline)) void between(int i) { thrower(i), thrower(i); }
__attribute__((noinline)) int catcher(int i) {
  try {
    between(i);
    return 0;
  } catch (const std::runtime_error&) {
    return 1;
  }
}
__attribute__((noinline)) void work(int steps, int threads) {
  for (++started; started < threads;) std::this_thread::yield();
  for (int i = 0; i < steps; ++i) catcher(i);
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 10;
  int caught = 0;
  for (int i = 0; i < steps; ++i) caught += catcher(i);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, steps, threads);
  for (std::thread& each : all) each.join();
  std::printf("caught=%d\n", caught);
}
