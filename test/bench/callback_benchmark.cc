// What one event costs the program: the tracer's callbacks, called as a runtime calls
// them, in one thread. Loads the library itself, as the runtime does.
//
// REFRAIN_BENCH_LIBRARY names the library to load (default: the one built beside).
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <omp-tools.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::array<ompt_callback_t, 64> g_callbacks{};

ompt_set_result_t set_callback(ompt_callbacks_t which, ompt_callback_t callback) {
  g_callbacks.at(which) = callback;
  return ompt_set_always;
}

ompt_interface_fn_t lookup(const char* name) {
  return std::strcmp(name, "ompt_set_callback") == 0
             ? reinterpret_cast<ompt_interface_fn_t>(set_callback)
             : nullptr;
}

template <typename Function>
Function callback(ompt_callbacks_t which) {
  return reinterpret_cast<Function>(g_callbacks.at(which));
}

ompt_start_tool_result_t* start(const char* library) {
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  using Start = ompt_start_tool_result_t* (*)(unsigned, const char*);
  auto* result = reinterpret_cast<Start>(dlsym(handle, "ompt_start_tool"))(202111, "LLVM");
  if (result == nullptr || result->initialize(lookup, 0, &result->tool_data) == 0) {
    std::fprintf(stderr, "the tool does not start\n");
    std::exit(2);
  }
  return result;
}

const void* code(std::uintptr_t n) { return reinterpret_cast<const void*>(0x400000 + 16 * n); }

// One outermost region as LLVM's runtime tells it to the thread that opens it: 8
// callbacks.
void region(std::uintptr_t where) {
  ompt_data_t parallel{};
  ompt_data_t task{};
  callback<ompt_callback_parallel_begin_t>(ompt_callback_parallel_begin)(
      &task, nullptr, &parallel, 2, 0, code(where));
  callback<ompt_callback_implicit_task_t>(ompt_callback_implicit_task)(
      ompt_scope_begin, &parallel, &task, 2, 0, ompt_task_implicit);
  const auto sync = callback<ompt_callback_sync_region_t>(ompt_callback_sync_region);
  const auto wait = callback<ompt_callback_sync_region_t>(ompt_callback_sync_region_wait);
  const auto kind = ompt_sync_region_barrier_implicit_parallel;
  sync(kind, ompt_scope_begin, &parallel, &task, code(where));
  wait(kind, ompt_scope_begin, &parallel, &task, code(where));
  wait(kind, ompt_scope_end, nullptr, &task, code(where));
  sync(kind, ompt_scope_end, nullptr, &task, code(where));
  callback<ompt_callback_implicit_task_t>(ompt_callback_implicit_task)(
      ompt_scope_end, nullptr, &task, 0, 0, ompt_task_implicit);
  callback<ompt_callback_parallel_end_t>(ompt_callback_parallel_end)(&parallel, &task, 0,
                                                                     code(where));
}

// Five regions an iteration; after the first thousands the loop is found and held, if
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
  callback<ompt_callback_thread_begin_t>(ompt_callback_thread_begin)(ompt_thread_initial,
                                                                     &thread);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  tool->finalize(&tool->tool_data);
  return 0;
}
