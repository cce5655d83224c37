#include <catch2/catch.hpp>

#include "code_profile/samples/sampled_profile.h"

namespace refrain::code_profile::detected_loops_test {
namespace {

using Kind = SamplePlace::Kind;

enum Place : std::uint32_t { kMain, kSteps, kSolve, kSweep, kCopy };

// main's loop at line 5, of which there are two copies, calls solve, which has a loop.
PlacedSamples process(std::uint32_t number) {
  PlacedSamples out;
  out.process = number;
  out.period_ns = 10'000'000;
  const auto add = [&](Kind kind, const char* function, std::uint32_t line,
                       std::uint64_t address) {
    out.places.push_back({.kind = kind,
                          .function = function,
                          .file = "/src/app.c",
                          .line = line,
                          .module = "/bin/app",
                          .address = address});
  };
  add(Kind::kFunction, "main", 1, 0x100);
  add(Kind::kLoop, "main", 5, 0x110);
  add(Kind::kFunction, "solve", 10, 0x200);
  add(Kind::kLoop, "solve", 11, 0x210);
  add(Kind::kLoop, "main", 5, 0x120);
  return out;
}

// A stack, and so many samples in its innermost place.
void add(PlacedSamples& to, const std::vector<std::uint32_t>& stack,
         std::uint64_t samples) {
  to.nodes.push_back({SampleNode::kThread, 0, 0});
  for (const std::uint32_t place : stack)
    to.nodes.push_back({static_cast<std::uint32_t>(to.nodes.size() - 1), place, 0});
  to.nodes.back().samples = samples;
}

DetectedLoop found(std::uint32_t line, double elapsed_ns = 1e9) {
  return {.number = 1,
          .name = "loop 1",
          .file = "/src/app.c",
          .line = line,
          .iterations = 10,
          .elapsed_ns = elapsed_ns};
}

std::uint64_t samples_at(const LoopProfile& profile, const DetectedLoop& loop,
                         std::uint64_t address) {
  std::uint64_t samples = 0;
  for (const DetectedLoop::Part& part : loop.parts)
    if (profile.nodes[part.node].address == address) samples += part.samples;
  return samples;
}

TEST_CASE(
    "Detected loops: parts - of samples with the loop on the stack, of all processes") {
  PlacedSamples first = process(0), second = process(1);
  add(first, {kMain, kSteps}, 1);
  add(first, {kMain, kSteps, kSolve}, 2);
  add(first, {kMain, kSteps, kSolve, kSweep}, 4);
  add(first, {kMain, kSolve, kSweep}, 100);  // not in the loop
  add(second, {kMain, kCopy, kSolve, kSweep}, 8);
  const std::vector<PlacedSamples> both = {first, second};
  const LoopProfile profile = *sampled_profile(both);
  const std::vector<DetectedLoop> joined = joined_loops(profile, both, {found(5)});
  REQUIRE(joined.size() == 1);
  CHECK(samples_at(profile, joined[0], 0x110) == 7);
  CHECK(samples_at(profile, joined[0], 0x120) == 8);
  CHECK(samples_at(profile, joined[0], 0x200) == 14);
  CHECK(samples_at(profile, joined[0], 0x210) == 12);
  CHECK(samples_at(profile, joined[0], 0x100) == 0);
  CHECK(joined[0].samples == 15);
  CHECK(joined[0].parts.front().samples == 14);
}

TEST_CASE("Detected loops: recursion - counts once") {
  PlacedSamples samples = process(0);
  add(samples, {kMain, kSteps, kSolve, kSweep, kSolve, kSweep, kSteps, kSolve}, 3);
  const LoopProfile profile = *sampled_profile({samples});
  const std::vector<DetectedLoop> joined = joined_loops(profile, {samples}, {found(5)});
  REQUIRE(joined.size() == 1);
  for (const std::uint64_t address : {0x110, 0x200, 0x210})
    CHECK(samples_at(profile, joined[0], address) == 3);
  CHECK(joined[0].samples == 3);
}

TEST_CASE("Detected loops: order - by time; those without samples are left out") {
  PlacedSamples samples = process(0);
  add(samples, {kMain, kSteps, kSolve, kSweep}, 5);
  const LoopProfile profile = *sampled_profile({samples});
  const std::vector<DetectedLoop> joined =
      joined_loops(profile, {samples}, {found(11, 2e9), found(7, 9e9), found(5, 3e9)});
  REQUIRE(joined.size() == 2);
  CHECK(joined[0].line == 5);
  CHECK(joined[1].line == 11);
  CHECK(joined[1].parts.size() == 1);
  CHECK(joined_loops(profile, {}, {found(5)}).empty());
}

}  // namespace
}  // namespace refrain::code_profile::detected_loops_test
