// What a push costs: time of a pass over a stream, shown as nanoseconds a symbol.
#include <benchmark/benchmark.h>

#include <memory>

#include "periodicity/flat/exact_detector.h"
#include "periodicity/flat/flat_loop_detector.h"
#include "periodicity/flat/matrix_detector.h"
#include "periodicity/nested/nested_detector.h"
#include "test/support/streams.h"

namespace refrain::periodicity {
namespace {

constexpr std::size_t kSize = 1 << 16;

enum Kind : std::int64_t { kLocked, kNoise };

test::Stream stream_of(std::int64_t kind) {
  if (kind == kNoise) return test::random_stream(kSize, 64, 7);
  return test::periodic_stream(kSize / 60 * 60, test::random_stream(60, 64, 7));
}

PeriodSettings settings_of(const benchmark::State& state) {
  return {static_cast<std::uint32_t>(state.range(0)),
          static_cast<std::uint32_t>(state.range(1))};
}

void report_time(benchmark::State& state, std::size_t symbols) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(symbols));
  state.counters["ns/symbol"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(symbols) / 1e9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <typename Detector>
void BM_Periods(benchmark::State& state) {
  const auto stream = stream_of(state.range(2));
  Detector detector(settings_of(state));
  for (auto _ : state) {
    std::uint32_t sum = 0;
    for (const auto symbol : stream) sum += detector.push(symbol);
    benchmark::DoNotOptimize(sum);
  }
  report_time(state, stream.size());
}

struct Count : LoopSink {
  std::uint64_t events = 0;
  void on_loop_event(const LoopEvent&) noexcept override { ++events; }
};

void BM_FlatOverExact(benchmark::State& state) {
  const auto stream = stream_of(state.range(2));
  FlatLoopDetector flat(std::make_unique<ExactDetector>(settings_of(state)));
  LoopDetector& detector = flat;
  Count count;
  for (auto _ : state) {
    for (const auto symbol : stream) detector.push(symbol, 1, count);
    benchmark::DoNotOptimize(count.events);
  }
  report_time(state, stream.size());
}

void BM_Nested(benchmark::State& state) {
  const auto stream = stream_of(state.range(0));
  NestedDetector nested;
  LoopDetector& detector = nested;
  Count count;
  for (auto _ : state) {
    for (const auto symbol : stream) detector.push(symbol, 1, count);
    benchmark::DoNotOptimize(count.events);
  }
  report_time(state, stream.size());
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"M", "N", "noise"});
  for (const std::int64_t kind : {kLocked, kNoise}) {
    for (const auto& [m, n] : {std::pair{128, 128}, {300, 600}, {8192, 16384}}) {
      benchmark->Args({m, n, kind});
    }
  }
}

void matrix_sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"M", "N", "noise"});
  for (const std::int64_t kind : {kLocked, kNoise}) {
    benchmark->Args({128, 128, kind})->Args({300, 600, kind});
  }
}

BENCHMARK_TEMPLATE(BM_Periods, MatrixDetector)->Apply(matrix_sizes);
BENCHMARK_TEMPLATE(BM_Periods, ExactDetector)->Apply(sizes);
BENCHMARK(BM_FlatOverExact)->Apply(sizes);
BENCHMARK(BM_Nested)->ArgName("noise")->Arg(kLocked)->Arg(kNoise);

}  // namespace
}  // namespace refrain::periodicity

BENCHMARK_MAIN();
