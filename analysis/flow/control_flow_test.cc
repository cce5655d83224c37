// Control flow of runs made by hand.
#include "analysis/flow/control_flow.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "analysis/flow/synthetic_flow.h"

namespace refrain::analysis::control_flow_test {
namespace {

using Texts = std::vector<std::string>;

// As many transitions lead to each region as lead away, of each location.
void check_balance(const ControlFlow& flow) {
  std::map<std::pair<ControlFlow::Place, std::uint32_t>, std::int64_t> sums;
  std::size_t parts = 0;
  for (const ControlFlow::Level& level : flow.levels)
    for (const ControlFlow::Edge& edge : level.edges) {
      std::uint64_t count = 0;
      for (const ControlFlow::Part& part : edge.parts)
        for (const std::uint32_t location : part.locations) {
          ++parts;
          count += part.count;
          if (edge.to.kind == ControlFlow::Kind::kRegion)
            sums[{edge.to, location}] += static_cast<std::int64_t>(part.count);
          if (edge.from.kind == ControlFlow::Kind::kRegion)
            sums[{edge.from, location}] -= static_cast<std::int64_t>(part.count);
        }
      CHECK(edge.count == count);
    }
  CHECK(parts > 0);
  for (const auto& [where, sum] : sums) CHECK(sum == 0);
}

}  // namespace

TEST_CASE("Control flow: the example of the paper - predecessors of A are P, B and C") {
  SyntheticProcess process(0, 1);
  process.run(0, "P A . (4 B . A . ) C . A . .");
  const RunProfile profile = merge_summaries({process.summary()});
  const ControlFlow flow = control_flow(profile, {true});
  CHECK(transitions(profile, flow, "") == Texts{"P > end: 0x1", "start > P: 0x1"});
  CHECK(transitions(profile, flow, "P") == Texts{"A > B: 0x4", "A > C: 0x1", "A > end: 0x1",
                                                 "B > A: 0x4", "C > A: 0x1",
                                                 "start > A: 0x1"});
  check_balance(flow);
  CHECK(flow.unknown == 0);
  REQUIRE(flow.nodes.size() == 4);
  CHECK(flow.nodes[1].visits == 6);
  CHECK(flow.nodes[1].depth == 1);
  CHECK(flow.nodes[0].time_ns == 23);
  CHECK(flow.nodes[0].own_ns == 12);
}

TEST_CASE("Control flow: 76 = 1 + 75 - one iteration takes another path than the others") {
  SyntheticProcess process(0, 1);
  process.run(0, "make . (1 solve . norm . first . ) (75 solve . norm . next . ) check .");
  const RunProfile profile = merge_summaries({process.summary()});
  const ControlFlow flow = control_flow(profile, {true});
  CHECK(transitions(profile, flow, "") ==
        Texts{"check > end: 0x1", "first > solve: 0x1", "make > solve: 0x1",
              "next > check: 0x1", "next > solve: 0x74", "norm > first: 0x1",
              "norm > next: 0x75", "solve > norm: 0x76", "start > make: 0x1"});
  check_balance(flow);
}

TEST_CASE("Control flow: threads - those with the same counts are one part of an edge") {
  SyntheticProcess process(0, 4);
  for (const std::size_t thread : {0, 1, 3}) process.run(thread, "(5 A . B . )");
  process.run(2, "(4 A . B . )");
  const RunProfile profile = merge_summaries({process.summary()});
  const ControlFlow flow = control_flow(profile, all_of(profile));
  CHECK(transitions(profile, flow, "") == Texts{"A > B: 0,1,3x5 2x4", "B > A: 0,1,3x4 2x3",
                                                "B > end: 0,1,2,3x1",
                                                "start > A: 0,1,2,3x1"});
  CHECK(flow.alike == std::vector<std::vector<std::uint32_t>>{{0, 1, 3}, {2}});
  // Of some threads only.
  const ControlFlow two = control_flow(profile, {false, true, true, false});
  CHECK(transitions(profile, two, "") ==
        Texts{"A > B: 1x5 2x4", "B > A: 1x4 2x3", "B > end: 1,2x1", "start > A: 1,2x1"});
  CHECK(two.nodes[0].visits == 9);
  check_balance(two);
}

TEST_CASE("Control flow: a fork - master and workers did the same") {
  SyntheticProcess process(0, 2);
  process.run(0, "(3 fork:X X loop . wait . . . fork:Y Y . . ) user . ");
  process.run(1, "(3 X loop . wait . . Y . )");
  const RunProfile profile = merge_summaries({process.summary()});
  const ControlFlow flow = control_flow(profile, {true, true});
  CHECK(transitions(profile, flow, "") == Texts{"X > Y: 0,1x3", "Y > X: 0,1x2",
                                                "Y > end: 1x1", "Y > user: 0x1",
                                                "start > X: 0,1x1", "user > end: 0x1"});
  CHECK(transitions(profile, flow, "X") ==
        Texts{"loop > wait: 0,1x3", "start > loop: 0,1x3", "wait > end: 0,1x3"});
  CHECK(transitions(profile, flow, "Y").empty());
  check_balance(flow);
}

TEST_CASE(
    "Control flow: processes - equal call trees are one, visits with nothing inside") {
  SyntheticProcess first(0, 1), second(1, 1);
  first.run(0, "(3 step . ) step send . .");
  second.run(0, "(3 step . ) step receive . .");
  const RunProfile profile = merge_summaries({first.summary(), second.summary()});
  const ControlFlow flow = control_flow(profile, {true, true});
  CHECK(transitions(profile, flow, "") ==
        Texts{"start > step: 0,1x1", "step > end: 0,1x1", "step > step: 0,1x3"});
  CHECK(transitions(profile, flow, "step") ==
        Texts{"receive > end: 1x1", "send > end: 0x1", "start > end: 0,1x3",
              "start > receive: 1x1", "start > send: 0x1"});
  CHECK(flow.alike == std::vector<std::vector<std::uint32_t>>{{0}, {1}});
  check_balance(flow);
  CHECK(control_flow(profile, {false, true}).nodes[1].visited == false);
}

TEST_CASE("Control flow: missing transitions - counted, and no end is made up") {
  SyntheticProcess process(0, 1);
  process.run(0, "P (5 A . B . ) . Q A . .");
  process.forget(0, "B", 2);
  const RunProfile profile = merge_summaries({process.summary()});
  const ControlFlow flow = control_flow(profile, {true});
  CHECK(flow.unknown == 2);
  CHECK(transitions(profile, flow, "P") == Texts{"? > B: 0x2", "A > ?: 0x2", "A > B: 0x3",
                                                 "B > ?: 0x1", "B > A: 0x4",
                                                 "start > A: 0x1"});
  CHECK(transitions(profile, flow, "Q") == Texts{"A > end: 0x1", "start > A: 0x1"});
  check_balance(flow);
}

TEST_CASE("Control flow: any numbers - sums do not wrap around") {
  SyntheticProcess process(0, 2);
  for (const std::size_t thread : {0, 1}) process.run(thread, "A . B .");
  summary::RunSummary summary = process.summary();
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  for (auto& location : summary.locations)
    for (auto& edge : location.edges) edge.count = kMax - 1;
  const RunProfile profile = merge_summaries({summary});
  const ControlFlow flow = control_flow(profile, {true, true});
  REQUIRE(!flow.levels[0].edges.empty());
  for (const auto& edge : flow.levels[0].edges) CHECK(edge.count == kMax);
}

TEST_CASE("Control flow: edges as one - counts of each location are added") {
  using Part = ControlFlow::Part;
  const std::vector<Part> one = {{5, {0, 2}}, {1, {1}}}, other = {{3, {2, 4}}, {4, {1}}};
  CHECK(sum_of_parts({&one, &other}) == std::vector<Part>{{5, {0, 1}}, {8, {2}}, {3, {4}}});
  CHECK(sum_of_parts({}).empty());
}

}  // namespace refrain::analysis::control_flow_test
