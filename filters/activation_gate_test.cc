// The gate with loops that are found by the call paths of events.
#include <catch2/catch.hpp>
#include <random>

#include "filters/gate_record.h"
#include "periodicity/activation/activation_detector.h"
#include "periodicity/activation/made_up_program.h"

namespace refrain::filters::activation_gate_test {

TEST_CASE("IterationGate: activations - all iterations are marked or summed up") {
  std::uint64_t skipped = 0;
  for (std::uint64_t seed = 0; seed != 2000; ++seed) {
    INFO("program " << seed);
    periodicity::testing::MadeUpProgram program(seed, {.trips = 12});
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

}  // namespace refrain::filters::activation_gate_test
