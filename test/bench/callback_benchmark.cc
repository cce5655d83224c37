// Cost of one event for the program: the tracer's callbacks, called as a runtime calls
// them, in one thread. Loads the library itself, as the runtime does.
//
// REFRAIN_BENCH_LIBRARY names the library to load (default: the one built next to this).
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "test/support/fake_runtime.h"

namespace {

using refrain::test::callback;

ompt_start_tool_result_t* start(const char* library) {
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  auto* tool = refrain::test::start_tool(
      reinterpret_cast<refrain::test::StartTool>(dlsym(handle, "ompt_start_tool")));
  if (tool == nullptr) {
    std::fprintf(stderr, "the tool does not start\n");
    std::exit(2);
  }
  return tool;
}

const void* code(std::uintptr_t n) {
  return reinterpret_cast<const void*>(0x400000 + 16 * n);
}

// One outermost region as LLVM's runtime reports it to the thread that opens it: 8
// callbacks.
void region(std::uintptr_t where) {
  ompt_data_t parallel{};
  refrain::test::parallel_region(parallel, 2, code(where), [&](ompt_data_t& task) {
    const auto sync = callback<ompt_callback_sync_region_t>(ompt_callback_sync_region);
    const auto wait = callback<ompt_callback_sync_region_t>(ompt_callback_sync_region_wait);
    const auto kind = ompt_sync_region_barrier_implicit_parallel;
    sync(kind, ompt_scope_begin, &parallel, &task, code(where));
    wait(kind, ompt_scope_begin, &parallel, &task, code(where));
    wait(kind, ompt_scope_end, nullptr, &task, code(where));
    sync(kind, ompt_scope_end, nullptr, &task, code(where));
  });
}

// Five regions an iteration; after the first thousands the loop is detected and skipped, if
// the limit is not 0.
void five_regions(benchmark::State& state) {
  for (int i = 0; i < 5000; ++i)
    for (std::uintptr_t r = 0; r < 5; ++r) region(r);
  for (auto _ : state)
    for (std::uintptr_t r = 0; r < 5; ++r) region(r);
  state.counters["ns_per_event"] = benchmark::Counter(
      40, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
// Few enough that the disk plays no part (25 MB).
BENCHMARK(five_regions)->Iterations(20000);

// The smallest event: one record, no stack, no agent.
void flush_event(benchmark::State& state) {
  const auto flush = callback<ompt_callback_flush_t>(ompt_callback_flush);
  ompt_data_t thread{};
  for (auto _ : state) flush(&thread, code(9));
}
BENCHMARK(flush_event)->Iterations(200000);

}  // namespace

int main(int argc, char** argv) {
  const char* library = std::getenv("REFRAIN_BENCH_LIBRARY");
  auto* tool = start(library != nullptr ? library : "tracer/librefrain.so");
  ompt_data_t thread{};
  refrain::test::thread_begins(thread);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  tool->finalize(&tool->tool_data);
  return 0;
}
