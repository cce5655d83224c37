// The gate with loops that are found by the call paths of events.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <span>
#include <vector>

#include "filters/gate_record.h"
#include "periodicity/activation/activation_detector.h"
#include "periodicity/activation/synthetic_paths.h"

namespace refrain::filters::activation_gate_test {

TEST_CASE("IterationGate: activations - all iterations are marked or summed up") {
  std::uint64_t skipped = 0;
  for (std::uint64_t seed = 0; seed != 2000; ++seed) {
    INFO("program " << seed);
    periodicity::testing::SyntheticProgram program(seed, {.trips = 12});
    periodicity::ActivationDetector detector(program);
    GateRecord record;
    IterationGate gate({.limit = 1 + seed % 4,
                        .nested = static_cast<Nested>(seed % 3),
                        .min_gap_ticks = seed % 5 == 0 ? 1'000'000u : 0,
                        .slow = {.factor = seed % 2 == 0 ? 3.0 : 0}},
                       detector, record);
    std::uint64_t next = 0;
    std::uint64_t ticks = 0;
    std::mt19937_64 random(seed);
    gate.start({0, 0});
    program.run(3000, [&](std::uint32_t path) {
      gate.on_symbol({.symbol = path,
                      .ticks = ticks += random() % 20 == 0 ? 10000 : 100,
                      .epoch = next + 1,
                      .depth = 0,
                      .at_epoch = true,
                      .communication = static_cast<Communication>(path % 3)});
      ++next;
    });
    gate.finish(ticks + 100);
    for (std::uint32_t loop = 0; loop != detector.loops(); ++loop) {
      INFO("loop " << loop);
      REQUIRE(record.loops[loop].iterations == detector.reported(loop));
      REQUIRE(record.loops[loop].visits == detector.loop(loop).visits);
    }
    REQUIRE(record.in_order);
    for (const auto& [begin, end] : record.skipped(next + 1)) skipped += end - begin;
  }
  CHECK(skipped > 100000);
}

namespace {

// Three loops in each other; path i lies in i of them.
class Nest final : public periodicity::CodeFacts {
 public:
  std::span<const periodicity::PathFrame> frames(std::uint32_t path) noexcept override {
    for (std::uint32_t i = 0; i != 3; ++i) frames_[i] = {i + 1 == path ? 10 + i : i + 1, i};
    return {frames_.data(), path};
  }
  std::span<const std::uint64_t> loops(periodicity::Place call) noexcept override {
    header_ = 100 + call % 10 + (call >= 10);
    return {&header_, 1};
  }
  std::uint64_t function(periodicity::Place call) noexcept override {
    return call % 10 + (call >= 10);
  }
  bool forward(periodicity::Place from, periodicity::Place to) noexcept override {
    return from > to;  // its own call comes before those that it makes
  }
  bool jumps(periodicity::Place, periodicity::Place, periodicity::Place) noexcept override {
    return false;
  }
  bool loops_known(periodicity::Place) noexcept override { return true; }
  unsigned stack(std::uint32_t) noexcept override { return 0; }

 private:
  std::array<periodicity::PathFrame, 3> frames_{};
  std::uint64_t header_ = 0;
};

}  // namespace

TEST_CASE(
    "IterationGate: activations - a driver's long iteration is written, but for its loops") {
  Nest program;
  periodicity::ActivationDetector detector(program);
  GateRecord record;
  IterationGate gate({.limit = 3, .long_ticks = 1'000'000, .slow = {.factor = 0}}, detector,
                     record);
  std::uint64_t next = 0;
  std::uint64_t ticks = 0;
  std::vector<std::vector<std::uint64_t>> epochs(30);  // of the driver's own events
  gate.start({0, 0});
  for (unsigned driven = 0; driven != 30; ++driven) {
    const auto event = [&](std::uint32_t path) {
      gate.on_symbol({.symbol = path,
                      .ticks = ticks += driven == 20 ? 100'000 : 100,
                      .epoch = ++next,
                      .depth = 0,
                      .at_epoch = true});
      if (path == 1) epochs[driven].push_back(next);
    };
    event(1);
    for (int i = 0; i != 20; ++i) {
      event(2);
      for (int j = 0; j != 4; ++j) event(3);
    }
  }
  gate.finish(ticks + 100);
  const auto skipped = record.skipped(next + 1);
  const auto written = [&](std::uint64_t epoch) {
    return std::none_of(skipped.begin(), skipped.end(), [&](const auto& gap) {
      return gap.first <= epoch && epoch < gap.second;
    });
  };
  for (unsigned driven = 3; driven != 29; ++driven) {
    INFO("iteration " << driven);
    CHECK(written(epochs[driven][0]) == (driven == 20));
  }
  std::uint64_t events = 0;
  for (std::uint64_t epoch = 1; epoch != next; ++epoch) events += written(epoch);
  CHECK(events < next / 10);
}

TEST_CASE(
    "IterationGate: activations - of loops that messages cross whole visits are written") {
  const bool open = GENERATE(true, false);
  Nest program;
  periodicity::ActivationDetector detector(program);
  GateRecord record;
  record.open = open;
  IterationGate gate({.limit = 3, .slow = {.factor = 0}}, detector, record);
  std::uint64_t next = 0;
  std::vector<std::vector<std::uint64_t>> inner(30);  // epochs
  gate.start({0, 0});
  for (unsigned step = 0; step != 30; ++step) {
    const auto event = [&](std::uint32_t path) {
      gate.on_symbol({.symbol = path,
                      .ticks = 100 * next,
                      .epoch = next + 1,
                      .depth = 0,
                      .at_epoch = true,
                      .communication = Communication::kCollective});
      if (path == 2) inner[step].push_back(next + 1);
      ++next;
    };
    event(1);
    // (In the first one it is not known that there is a loop around it.)
    for (int i = 0; i != 6; ++i) event(2);
  }
  gate.finish(100 * next);
  const auto skipped = record.skipped(next + 1);
  std::vector<unsigned> written(5);
  for (unsigned step = 0; step != 5; ++step)
    for (const std::uint64_t epoch : inner[step])
      written[step] += std::none_of(skipped.begin(), skipped.end(), [&](const auto& gap) {
        return gap.first <= epoch && epoch < gap.second;
      });
  if (open)
    CHECK(written == std::vector<unsigned>{6, 0, 0, 0, 0});
  else  // and one of each visit in a written iteration, and what comes before something novel
    CHECK(written == std::vector<unsigned>{4, 1, 1, 0, 0});
}

}  // namespace refrain::filters::activation_gate_test
