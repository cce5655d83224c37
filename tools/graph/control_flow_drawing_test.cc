// Texts, colours and numbers of control flow graphs made by hand.
#include "tools/graph/control_flow_drawing.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "analysis/flow/synthetic_flow.h"

namespace refrain::tools::control_flow_drawing_test {
namespace {

using analysis::RunProfile;
using analysis::SyntheticProcess;
using Lines = std::vector<std::string>;

Drawing drawing_of(const RunProfile& profile,
                   const analysis::FlowViewOptions& options = {}) {
  const std::vector<bool> all(profile.locations.size(), true);
  const analysis::ControlFlow flow = analysis::control_flow(profile, all);
  return control_flow_drawing(profile, flow, *analysis::view_of(profile, flow, options),
                              all);
}

const Drawing::Node& node_of(const Drawing& drawing, const std::string& id) {
  const auto found = std::find_if(drawing.nodes.begin(), drawing.nodes.end(),
                                  [&](const Drawing::Node& node) { return node.id == id; });
  REQUIRE(found != drawing.nodes.end());
  return *found;
}

Lines label(const Drawing& drawing, const std::string& from, const std::string& to) {
  for (const Drawing::Edge& edge : drawing.edges)
    if (drawing.nodes[edge.from].id == from && drawing.nodes[edge.to].id == to)
      return edge.lines;
  return {"none"};
}

template <typename Type>
Type value(const Drawing::Values& values, const std::string& name) {
  for (const auto& [key, held] : values)
    if (key == name) return std::get<Type>(held);
  FAIL("no value " << name);
  return {};
}

}  // namespace

TEST_CASE("Control flow drawing: threads - labels are lists of threads and counts") {
  SyntheticProcess process(0, 6);
  for (const std::size_t i : {0, 1, 2, 3, 5}) process.run(i, "step (5 work . ) .");
  process.run(4, "step (3 work . ) .");
  const RunProfile profile = analysis::merge_summaries({process.summary()});
  const Drawing drawing = drawing_of(profile);
  CHECK(label(drawing, "p1", "p1") == Lines{"0-3,5|4", "4|2"});
  CHECK(label(drawing, "start", "p0") == Lines{"0-5|1"});
  CHECK(label(drawing, "end0", "end") == Lines{"0-5|1"});
  CHECK(value<std::string>(drawing.values, "alike") == "0-3,5 | 4");
  CHECK(std::any_of(drawing.legend.begin(), drawing.legend.end(), [](const auto& line) {
    return line == "did the same, each as often: 0-3,5 | 4";
  }));
  const Drawing::Node& work = node_of(drawing, "p1");
  CHECK(work.lines == Lines{"work @up.c:2", "28 visits", "28 ns (38.9 %)"});
  CHECK(value<std::uint64_t>(work.values, "visits") == 28);
  CHECK(value<std::string>(work.values, "name") == "work");
  CHECK(value<std::string>(work.values, "file") == "/made/up.c");
  CHECK(value<std::uint64_t>(work.values, "line") == 2);
  // 62 of all: 5 x 11 and 7, of which 28 inside.
  const Drawing::Node& step = node_of(drawing, "p0");
  CHECK(step.lines == Lines{"step @up.c:1", "6 visits", "62 ns (86.1 %)", "itself 34 ns"});
  CHECK(step.shape == Drawing::Shape::kHead);
  CHECK(step.weight == 1);
  CHECK(work.weight == Approx(28.0 / 62));
  CHECK(value<double>(step.values, "own_ns") == 34);
  CHECK(drawing.notes.empty());
}

TEST_CASE("Control flow drawing: edges - weights by the logarithm of the count") {
  SyntheticProcess process(0, 1);
  process.run(0, "(101 a . ) b .");
  const Drawing drawing = drawing_of(analysis::merge_summaries({process.summary()}));
  for (const Drawing::Edge& edge : drawing.edges)
    CHECK(edge.weight == (edge.from == edge.to ? 1 : 0));
  REQUIRE(drawing.edges.size() == 4);
}

TEST_CASE("Control flow drawing: processes - ranks, or ranks and threads") {
  std::vector<summary::RunSummary> summaries;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    SyntheticProcess process(rank, 1);
    process.run(0, rank == 3 ? "(2 step . )" : "(3 step . )");
    summaries.push_back(process.summary());
  }
  const Drawing ranks = drawing_of(analysis::merge_summaries(summaries));
  CHECK(label(ranks, "p0", "p0") == Lines{"0-2|2", "3|1"});
  CHECK(value<std::string>(ranks.values, "unit") == "ranks");

  summaries.clear();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    SyntheticProcess process(rank, rank == 2 ? 3 : 2);
    for (std::size_t i = 0; i < (rank == 2 ? 3u : 2u); ++i) process.run(i, "step .");
    summaries.push_back(process.summary());
  }
  const Drawing both = drawing_of(analysis::merge_summaries(summaries));
  CHECK(label(both, "start", "p0") == Lines{"0-1.0-1, 2.0-2|1"});
  CHECK(value<std::string>(both.values, "unit") == "ranks.threads");
}

TEST_CASE("Control flow drawing: what is left out or not known is said") {
  SyntheticProcess process(0, 1);
  process.run(0, "a . b . c . (3 d . e . )");
  process.forget(0, "e", 2);
  const Drawing drawing =
      drawing_of(analysis::merge_summaries({process.summary()}), {.most = 2});
  CHECK(node_of(drawing, "rest").lines.front() == "3 more regions");
  CHECK(node_of(drawing, "unknown").lines == Lines{"unknown"});
  REQUIRE(drawing.notes.size() == 2);
  CHECK(
      drawing.notes[0] ==
      "3 of 5 regions, those with the least time, are not drawn one by one (--max-nodes)");
  CHECK(drawing.notes[1].starts_with("the predecessors of 2 visits are unknown"));
}

TEST_CASE("Control flow drawing: a region - dotted neighbours, and what is around") {
  SyntheticProcess process(0, 1);
  process.run(0, "main (2 before . step work . . after . ) .");
  const RunProfile profile = analysis::merge_summaries({process.summary()});
  const Drawing drawing = drawing_of(profile, {.region = "step"});
  CHECK(node_of(drawing, "p1").dotted);
  CHECK(node_of(drawing, "p1").lines.front() == "before @up.c:2");
  CHECK(!node_of(drawing, "p3").dotted);
  REQUIRE(drawing.clusters.size() == 1);
  CHECK(drawing.clusters[0].label == "in main @up.c:1");
  CHECK(node_of(drawing, "end2").lines == Lines{"end"});
  const Drawing last = drawing_of(profile, {.region = "after"});
  CHECK(node_of(last, "end0").lines == Lines{"end of main @up.c:1"});
  CHECK(node_of(last, "end0").dotted);
}

TEST_CASE("Control flow drawing: names that are long or no text") {
  SyntheticProcess process(0, 1);
  const std::string name = std::string(60, 'a') + "\xff\x01" + std::string(60, 'b');
  process.run(0, name + " .");
  const Drawing drawing = drawing_of(analysis::merge_summaries({process.summary()}));
  const Drawing::Node& node = node_of(drawing, "p0");
  CHECK(node.lines.front().starts_with("aaaaaaaaaaa"));
  CHECK(node.lines.front().ends_with("bbbb @up.c:1"));
  CHECK(node.lines.front().size() <= 48);
  // Not within a character.
  CHECK(clean_text(node.lines.front()) == node.lines.front());
  CHECK(value<std::string>(node.values, "name") ==
        std::string(60, 'a') + "\xef\xbf\xbd?" + std::string(60, 'b'));
}

TEST_CASE("Ranks: a choice, and what is wrong with one") {
  std::vector<summary::RunSummary> summaries;
  for (const std::uint32_t rank : {0, 1, 2, 5}) {
    SyntheticProcess process(rank, rank == 1 ? 2 : 1);
    process.run(0, "step .");
    summaries.push_back(process.summary());
  }
  const RunProfile profile = analysis::merge_summaries(summaries);
  const auto chosen = [&](const std::string& ranks, const std::string& error) {
    const auto out = locations_of(profile, ranks);
    CHECK(out.error() == error);
    return out ? *out : std::vector<bool>();
  };
  CHECK(chosen("", "") == std::vector<bool>{true, true, true, true, true});
  CHECK(chosen("1", "") == std::vector<bool>{false, true, true, false, false});
  CHECK(chosen("5,0-1", "") == std::vector<bool>{true, true, true, false, true});
  chosen("0-3", "not all ranks of '0-3' are in this run, which has 0-2,5");
  chosen("7", "not all ranks of '7' are in this run, which has 0-2,5");
  chosen("0-4294967295",
         "not all ranks of '0-4294967295' are in this run, which has 0-2,5");
  chosen("x", "'x' is not a list of ranks, such as 0-3,7");
}

}  // namespace refrain::tools::control_flow_drawing_test
