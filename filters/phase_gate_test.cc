// The gate where the program names its phases, and where it pauses the recording.
#include <catch2/catch.hpp>

#include "filters/gate_record.h"
#include "periodicity/nested/nested_detector.h"
#include "periodicity/phase_detector.h"

namespace refrain::filters::phase_gate_test {
namespace {

using periodicity::PhaseDetector;

// Symbol i begins at 100 i, at epoch i + 1.
struct Bench {
  explicit Bench(GatePolicy policy)
      : detector(std::make_unique<periodicity::NestedDetector>()),
        gate(policy, detector, record) {
    gate.start({0, 0});
  }
  void symbol(periodicity::Symbol value) {
    gate.on_symbol({.symbol = value,
                    .ticks = 100 * next,
                    .epoch = next + 1,
                    .depth = 0,
                    .at_epoch = true});
    ++next;
  }
  void phase(std::uint32_t name) {
    symbol(periodicity::phase_begin(name));
    symbol(periodicity::phase_end(name));
  }
  using Skipped = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  Skipped skipped() const { return record.skipped(next + 1); }

  GateRecord record;
  PhaseDetector detector;
  IterationGate gate;
  std::uint64_t next = 0;
};

constexpr std::uint32_t kLoop = PhaseDetector::kFirstLoop;

}  // namespace

TEST_CASE(
    "IterationGate: phases - N are written, each is timed from its begin to its end") {
  Bench bench({.limit = 5});
  for (int i = 0; i < 50; ++i) {
    bench.phase(7);
    bench.symbol(1);
  }
  bench.gate.finish(100 * bench.next);
  CHECK(bench.skipped() == Bench::Skipped{{5 * 3 + 1, 49 * 3 + 1}});
  const auto& sums = bench.record.loops.at(kLoop);
  CHECK(sums.iterations == 50);
  CHECK(sums.ticks == 50 * 100);
  CHECK(sums.least == 100);
  CHECK(sums.greatest == 100);
}

TEST_CASE(
    "IterationGate: phases - a new pattern after them is written, with the last one") {
  Bench bench({.limit = 5});
  for (int i = 0; i < 50; ++i) bench.phase(7);
  bench.symbol(1);  // the first interval between phases was empty: this is something new
  bench.symbol(2);
  bench.gate.finish(100 * bench.next);
  CHECK(bench.skipped() == Bench::Skipped{{5 * 2 + 1, 49 * 2 + 1}});
}

TEST_CASE("IterationGate: phases - with marks=summary they are summed up") {
  Bench bench({.limit = 5, .marks_summary = true});
  for (int i = 0; i < 50; ++i) bench.phase(7);
  bench.gate.finish(100 * bench.next);
  const auto& sums = bench.record.loops.at(kLoop);
  CHECK(sums.iterations == 50);
  CHECK(sums.ticks == 50 * 100);
  CHECK(bench.record.marks == 5);
}

TEST_CASE("IterationGate: pause - left out, and the count goes on") {
  Bench bench({.limit = 5});
  for (int i = 0; i < 3; ++i) bench.phase(7);
  bench.gate.pause({bench.next + 1, 100 * bench.next});
  bench.gate.pause({bench.next + 1, 100 * bench.next});
  bench.phase(7);
  bench.gate.resume({bench.next + 1, 100 * bench.next});
  bench.gate.resume({bench.next + 1, 100 * bench.next});
  for (int i = 0; i < 10; ++i) bench.phase(7);
  bench.gate.finish(100 * bench.next);
  CHECK(bench.skipped() == Bench::Skipped{{7, 9}, {11, bench.next - 1}});
  CHECK(bench.record.loops.at(kLoop).iterations == 14);
}

TEST_CASE("IterationGate: pause - a break does not resume what was left out") {
  Bench bench({.limit = 2});
  for (int i = 0; i < 10; ++i) bench.phase(7);
  bench.gate.pause({bench.next + 1, 100 * bench.next});
  bench.phase(7);
  const std::uint64_t resumed = bench.next + 1;
  bench.gate.resume({resumed, 100 * bench.next});
  bench.symbol(1);  // breaks: the phase before it lies in the pause
  bench.symbol(2);
  bench.gate.finish(100 * bench.next);
  REQUIRE(bench.skipped().size() == 1);
  CHECK(bench.skipped()[0].first == 5);
  CHECK(bench.skipped()[0].second == resumed);
}

}  // namespace refrain::filters::phase_gate_test
