// What is chosen to be drawn of a control flow graph made by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "analysis/flow/control_flow.h"
#include "analysis/flow/synthetic_flow.h"

namespace refrain::analysis::flow_view_test {
namespace {

using Texts = std::vector<std::string>;
using Kind = FlowView::Kind;

struct Made {
  RunProfile profile;
  ControlFlow flow;

  explicit Made(const std::string& text) {
    SyntheticProcess process(0, 1);
    process.run(0, text);
    profile = merge_summaries({process.summary()});
    flow = control_flow(profile, {true});
  }

  std::string name(const FlowView::Node& node) const {
    const std::string region = node.path == FlowView::kNone
                                   ? "program"
                                   : profile.regions[profile.paths[node.path].region].name;
    switch (node.kind) {
      case Kind::kStart:
        return "start of " + region;
      case Kind::kEnd:
        return "end of " + region;
      case Kind::kUnknown:
        return "unknown in " + region;
      case Kind::kRest:
        return std::to_string(node.regions) + " more in " + region;
      default:
        return region + (node.open ? "*" : "");
    }
  }
  // "A -> B 3", dotted "A .. B 3".
  Texts edges(const FlowView& view) const {
    Texts out;
    for (const FlowView::Edge& edge : view.edges) {
      std::string text = name(view.nodes[edge.from]);
      text += edge.dotted ? " .. " : " -> ";
      out.push_back(text.append(name(view.nodes[edge.to])) + " " +
                    std::to_string(edge.count));
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  Texts nodes(const FlowView& view) const {
    Texts out;
    for (const FlowView::Node& node : view.nodes) {
      std::string text = (node.dotted ? "." : "") + name(node);
      if (node.cluster != FlowView::kNone) {
        const std::uint32_t path = view.clusters[node.cluster].path;
        text += " in " + profile.regions[profile.paths[path].region].name;
      }
      out.push_back(text);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  FlowView view(const FlowViewOptions& options) const {
    return *view_of(profile, flow, options);
  }
};

// Like Fig. 6 of Fuerlinger and Skinner: foo() calls MPI itself, and bar(), which does.
constexpr const char* kProgram =
    "init . main (2 foo send . bar recv . wait . . send . . ) out . . finish .";

}  // namespace

TEST_CASE("Flow view: all - what lies in a region is between its node and its end") {
  const Made made(kProgram);
  const FlowView view = made.view({});
  CHECK(made.nodes(view) == Texts{"bar* in bar", "end of bar in bar", "end of foo in foo",
                                  "end of main in main", "end of program", "finish",
                                  "foo* in foo", "init", "main* in main", "out in main",
                                  "recv in bar", "send in foo", "start of program",
                                  "wait in bar"});
  CHECK(made.edges(view) == Texts{"bar* -> recv 2", "end of bar -> send 2",
                                  "end of foo -> foo* 1", "end of foo -> out 1",
                                  "end of main -> finish 1", "finish -> end of program 1",
                                  "foo* -> send 2", "init -> main* 1", "main* -> foo* 1",
                                  "out -> end of main 1", "recv -> wait 2",
                                  "send -> bar* 2", "send -> end of foo 2",
                                  "start of program -> init 1", "wait -> end of bar 2"});
  REQUIRE(view.clusters.size() == 3);
  CHECK(view.clusters[0].parent == FlowView::kNone);
  CHECK(view.clusters[1].parent == 0);
  CHECK(view.clusters[2].parent == 1);
  CHECK(view.regions == 9);
  CHECK(view.left_out == 0);
}

TEST_CASE("Flow view: level by level - each stands for what lies in it") {
  const Made made(kProgram);
  CHECK(made.edges(made.view({.level = 0})) == Texts{"finish -> end of program 1",
                                                     "init -> main 1", "main -> finish 1",
                                                     "start of program -> init 1"});
  CHECK(made.edges(made.view({.level = 1})) ==
        Texts{"foo -> foo 1", "foo -> out 1", "main* -> foo 1", "out -> end of main 1"});
  CHECK(made.edges(made.view({.level = 2})) ==
        Texts{"bar -> send 2", "foo* -> send 2", "send -> bar 2", "send -> end of foo 2"});
  CHECK(made.edges(made.view({.level = 3})) ==
        Texts{"bar* -> recv 2", "recv -> wait 2", "wait -> end of bar 2"});
  CHECK(view_of(made.profile, made.flow, {.level = 4}).error() ==
        "no level 4: the deepest is 3");
  CHECK(view_of(made.profile, made.flow, {.level = 4000000000u}).error() ==
        "no level 4000000000: the deepest is 3");
}

TEST_CASE("Flow view: a region - itself, children for what they call, neighbours dotted") {
  const Made made(kProgram);
  const FlowView view = made.view({.region = "foo"});
  CHECK(made.nodes(view) == Texts{".main", ".out", "bar in foo", "end of foo in foo",
                                  "foo* in foo", "send in foo"});
  CHECK(made.edges(view) == Texts{"bar -> send 2", "end of foo -> foo* 1",
                                  "end of foo .. out 1", "foo* -> send 2", "main .. foo* 1",
                                  "send -> bar 2", "send -> end of foo 2"});
  // Without anything inside: itself and its neighbours. Those of the program are its ends.
  CHECK(made.edges(made.view({.region = "wait"})) ==
        Texts{"recv .. wait 2", "wait .. end of bar 2"});
  CHECK(made.edges(made.view({.region = "init"})) ==
        Texts{"init .. main 1", "start of program .. init 1"});
}

TEST_CASE("Flow view: names - whole ones before parts, places, call paths") {
  const Made made("send . (2 resend . ) P send . .");
  const auto edges = [&](const char* name) {
    return made.edges(made.view({.region = name}));
  };
  const Texts both = {"P .. send 1", "send .. end of P 1", "send .. resend 1",
                      "start of program .. send 1"};
  CHECK(edges("send") == both);
  CHECK(edges("send @up.c:1") == both);
  CHECK(edges("P @up.c:3 > send @up.c:1") == Texts{"P .. send 1", "send .. end of P 1"});
  CHECK(edges("resen") == Texts{"resend -> resend 1", "resend .. P 1", "send .. resend 1"});
  CHECK(view_of(made.profile, made.flow, {.region = "Send"})
            .error()
            .starts_with("no region 'Send'"));
}

TEST_CASE("Flow view: one in another, both chosen") {
  const Made made("work1 mid work2 . . .");
  const FlowView view = made.view({.region = "work"});
  CHECK(made.nodes(view) == Texts{".end of mid", ".end of program", ".start of program",
                                  "end of work1 in work1", "mid in work1",
                                  "work1* in work1", "work2"});
  CHECK(made.edges(view) ==
        Texts{"end of work1 .. end of program 1", "mid -> end of work1 1", "mid .. work2 1",
              "start of program .. work1* 1", "work1* -> mid 1", "work2 .. end of mid 1"});
}

TEST_CASE("Flow view: at most so many - the others of a level are one node") {
  SyntheticProcess process(0, 1);
  process.run(0, "a x . . b . c .", 1);
  process.run(0, "d y . . a x . . e .", 10);
  Made made("a .");
  made.profile = merge_summaries({process.summary()});
  made.flow = control_flow(made.profile, {true});
  const FlowView view = made.view({.most = 3});
  // Times: a 33, d 30; x 11, y 10, e 10 and b and c 1.
  Texts expected = {"1 more in d -> end of d 1",
                    "3 more in program -> 3 more in program 1",
                    "3 more in program -> d* 1",
                    "3 more in program -> end of program 1",
                    "a* -> x 2",
                    "d* -> 1 more in d 1",
                    "end of a -> 3 more in program 2",
                    "end of d -> a* 1",
                    "start of program -> a* 1",
                    "x -> end of a 2"};
  std::sort(expected.begin(), expected.end());
  CHECK(made.edges(view) == expected);
  CHECK(view.regions == 7);
  CHECK(view.left_out == 4);
  for (const FlowView::Node& node : view.nodes) {
    if (node.kind != Kind::kRest || node.path != FlowView::kNone) continue;
    CHECK(node.visits == 3);
    CHECK(node.time_ns == 12);
  }
  // Not without what it lies in.
  CHECK(made.view({.most = 1}).left_out == 6);
  CHECK(made.nodes(made.view({.most = 1})) == Texts{"1 more in a in a", "4 more in program",
                                                    "a* in a", "end of a in a",
                                                    "end of program", "start of program"});
}

TEST_CASE("Flow view: no visits - one line") {
  SyntheticProcess process(0, 1);
  const RunProfile profile = merge_summaries({process.summary()});
  const ControlFlow flow = control_flow(profile, {true});
  CHECK(view_of(profile, flow, {}).error() == "no region was visited");
  CHECK(view_of(profile, flow, {.level = 0}).error() == "no region was visited");
  CHECK(view_of(profile, flow, {.level = 1}).error() != "");
}

}  // namespace refrain::analysis::flow_view_test
