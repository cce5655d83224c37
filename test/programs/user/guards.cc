// Events that a C++ program without OpenMP reports itself: guards that end with their block, also
// by an exception, on the main thread and on its other threads; and in a library (plugin.c) that
// it loads with RTLD_LOCAL.
//
// Usage: guards THREADS STEPS [plugin.so]
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tracer/user/refrain.h"

namespace {

double sink = 0;

void may_throw(int i) {
  REFRAIN_FUNCTION();
  REFRAIN_REGION("may throw");
  if (i % 3 == 0) throw std::runtime_error("as it should");
}

std::atomic<int> started{0};

void worker(int steps, int threads) {
  REFRAIN_REGION("worker");
  // All at a time: a thread may take over the location of one that has ended.
  for (++started; started < threads;) std::this_thread::yield();
  for (int i = 0; i < steps; ++i) {
    REFRAIN_REGION("piece of work");
    volatile double x = 0;
    for (int k = 0; k < 100; ++k) x = x + k;
  }
  REFRAIN_REGION_BEGIN("left open by the thread");
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 10;
  int caught = 0;
  for (int i = 0; i < steps; ++i) {
    REFRAIN_PHASE("step");
    try {
      may_throw(i);
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(worker, steps, threads);
  for (std::thread& each : all) each.join();
  int added = 0;
  if (argc > 3) {
    void* plugin = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return 3;
    auto* add = reinterpret_cast<int (*)(int)>(dlsym(plugin, "plugin_add"));
    if (add == nullptr) return 4;
    for (int i = 0; i < steps; ++i) added = add(added);
    dlclose(plugin);
  }
  // The lookup of the library leaves nothing that the program could notice.
  if (const char* error = dlerror()) std::printf("dlerror: %s\n", error);
  std::printf("caught=%d added=%d %.1f\n", caught, added, sink);
}
