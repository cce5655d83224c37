// The controlled logical clock, on artificial clocks.
#include "writer/agree/logical_clock.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace refrain::writer::logical_clock_test {
namespace {

using Times = std::vector<std::vector<std::uint64_t>>;

constexpr LogicalClockOptions kPlain{.gamma = 0.99, .latency = 10, .spread = 50};

// Returns true if every effect comes after its cause, and no location goes backwards.
bool consistent(const Times& times, const std::vector<ClockEdge>& edges,
                std::uint64_t latency) {
  for (const auto& location : times)
    if (!std::is_sorted(location.begin(), location.end())) return false;
  return std::all_of(edges.begin(), edges.end(), [&](const ClockEdge& e) {
    return times[e.from.location][e.from.event] + latency <=
           times[e.to.location][e.to.event];
  });
}

// Processes with one true time, random messages, and wrong clocks.
struct World {
  Times times;
  std::vector<ClockEdge> edges;

  World(std::uint64_t seed, std::uint32_t processes, int messages, std::uint64_t wrong) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> now(processes, 1000000), error(processes);
    for (auto& e : error) e = random() % (wrong + 1);
    times.resize(processes);
    const auto event = [&](std::uint32_t p, std::uint64_t true_time) {
      times[p].push_back(true_time + error[p]);
      return ClockNode{p, static_cast<std::uint32_t>(times[p].size() - 1)};
    };
    for (int i = 0; i < messages; ++i) {
      const auto from = static_cast<std::uint32_t>(random() % processes);
      const auto to = static_cast<std::uint32_t>(random() % processes);
      now[from] += 1 + random() % 200;
      const ClockNode send = event(from, now[from]);
      if (from == to) continue;
      now[to] = std::max(now[to] + 1 + random() % 200, now[from] + 10 + random() % 50);
      edges.push_back({send, event(to, now[to])});
    }
  }
};

}  // namespace

TEST_CASE("Logical clock: right clocks - nothing is changed") {
  const World world(1, 4, 2000, 0);
  const auto result = correct_times(world.times, world.edges, 0, kPlain);
  CHECK(result.times == world.times);
  CHECK(result.violations == 0);
  CHECK(result.cyclic == 0);
}

TEST_CASE("Logical clock: a receive before its send - moved after it with its neighbours") {
  // Process 1's clock is 100 behind.
  const Times times = {{1000, 1100, 9000}, {700, 900, 1020, 1030, 1040, 9000}};
  const std::vector<ClockEdge> edges = {{{0, 1}, {1, 2}}};
  const auto result = correct_times(times, edges, 0, kPlain);
  CHECK(result.violations == 1);
  CHECK(result.times[0] == times[0]);
  const auto& moved = result.times[1];
  CHECK(moved[2] == 1110);
  CHECK(moved[3] == 1119);  // 0.99 of 10 later
  CHECK(moved[4] == 1128);
  CHECK(moved[5] == 9008);  // 0.99 of 7960 later: nearly caught up
  CHECK(moved[1] > 900);    // part of the leap of 90
  CHECK(moved[1] < 1020);
  CHECK(moved[0] > 700);
  CHECK(moved[0] < moved[1]);
}

TEST_CASE("Logical clock: backward - a send is not moved after its receive") {
  const Times times = {{1000, 1100}, {1000, 1015}, {1009, 2000}};
  // 1 sends at 1000 to 2, which has it at 1010; then 1 gets a message sent at 1100.
  const std::vector<ClockEdge> edges = {{{1, 0}, {2, 0}}, {{0, 1}, {1, 1}}};
  const auto result = correct_times(times, edges, 0, kPlain);
  CHECK(result.times[1][1] == 1110);
  CHECK(result.times[1][0] == 1000);  // may not move: its receive is 10 later
  CHECK(result.times[2][0] == 1010);
  CHECK(result.violations == 2);
}

TEST_CASE("Logical clock: backward - intervals before a fixed send are not squeezed") {
  // Location 0 receives twice, each time too early, and sends in between: the send's
  // receive keeps it where it is.
  const Times times = {{100, 180, 200}, {1000, 1600}, {1020}};
  const std::vector<ClockEdge> edges = {
      {{1, 0}, {0, 0}}, {{0, 1}, {2, 0}}, {{1, 1}, {0, 2}}};
  const auto result = correct_times(times, edges, 0, kPlain);
  CHECK(consistent(result.times, edges, kPlain.latency));
  const auto& moved = result.times[0];
  CHECK(moved[1] - moved[0] >= 79);
  CHECK(moved[2] - moved[1] >= 19);
}

TEST_CASE("Logical clock: hubs - all ends of a barrier come after all its begins") {
  const Times times = {{100, 200}, {500, 505}, {300, 310}};
  std::vector<ClockEdge> edges;
  for (std::uint32_t i = 0; i < 3; ++i) {
    edges.push_back({{i, 0}, {ClockEdge::kHub, 0}});
    edges.push_back({{ClockEdge::kHub, 0}, {i, 1}});
  }
  const auto result = correct_times(times, edges, 1, kPlain);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(result.times[i][1] == 510);
    CHECK(result.times[i][0] <= 500);
    CHECK(result.times[i][0] >= times[i][0]);
  }
  CHECK(result.violations == 3);
}

TEST_CASE("Logical clock: a cycle - is reported, and terminates") {
  const Times times = {{100, 200}, {100, 200}};
  // Each receives first what the other sends later.
  const std::vector<ClockEdge> edges = {{{0, 1}, {1, 0}}, {{1, 1}, {0, 0}}};
  const auto result = correct_times(times, edges, 0, kPlain);
  CHECK(result.cyclic == 1);
  for (const auto& location : result.times)
    CHECK(std::is_sorted(location.begin(), location.end()));
}

TEST_CASE(
    "Logical clock: random worlds - consistent afterwards, with the violations counted") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const World world(seed, 2 + static_cast<std::uint32_t>(seed % 9), 1500, 400);
    INFO("seed " << seed);
    const auto result = correct_times(world.times, world.edges, 0, kPlain);
    CHECK(consistent(result.times, world.edges, kPlain.latency));
    CHECK(result.cyclic == 0);
    CHECK(result.violations > 0);
    for (std::size_t p = 0; p < world.times.size(); ++p)
      for (std::size_t i = 0; i < world.times[p].size(); ++i)
        CHECK(result.times[p][i] >= world.times[p][i]);
  }
}

}  // namespace refrain::writer::logical_clock_test
