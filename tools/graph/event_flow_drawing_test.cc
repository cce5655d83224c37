#include "tools/graph/event_flow_drawing.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace refrain::tools::event_flow_drawing_test {
namespace {

using summary::FlowGraph;
using summary::MergedFlow;
using Lines = std::vector<std::string>;

// Ranks 0 and 2 receive ten times, ranks 1 and 3 send; as in the paper's Fig. 3.
MergedFlow pairs() {
  MergedFlow all;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    FlowGraph graph;
    graph.components = {"partner", "size"};
    const bool sends = rank % 2 == 1;
    const FlowGraph::Partner other{FlowGraph::Partner::Kind::kRelative, sends ? -1 : 1};
    FlowGraph::Node call{.kind = FlowGraph::Kind::kCall,
                         .name = sends ? "MPI_Send" : "MPI_Recv"};
    (sends ? call.to : call.from) = other;
    call.size_least = call.size_greatest = 1000;
    graph.nodes = {{}, {.kind = FlowGraph::Kind::kCall, .name = "MPI_Init"}, call};
    graph.edges = {{.from = 0, .to = 1, .count = 1, .time = 500},
                   {.from = 1, .to = 2, .count = 1, .time = 10},
                   {.from = 2, .to = 2, .count = 9, .time = 90, .bytes_sent = 9000}};
    summary::normalize(graph);
    all = merge(std::move(all), merged_flow(graph, rank, 1e9));
  }
  return all;
}

Lines texts(const Drawing& drawing) {
  const auto join = [](const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += (text.empty() ? "" : ", ") + line;
    return text;
  };
  Lines out;
  for (const Drawing::Node& node : drawing.nodes) out.push_back(join(node.lines));
  for (const Drawing::Edge& edge : drawing.edges)
    out.push_back(drawing.nodes[edge.from].lines[0] + " > " +
                  drawing.nodes[edge.to].lines[0] + ": " + join(edge.lines));
  return out;
}

}  // namespace

TEST_CASE("EventFlowDrawing: all ranks - signatures, and edges with their ranks") {
  const MergedFlow flow = pairs();
  const Drawing drawing = *event_flow_drawing(flow, {});
  CHECK(texts(drawing) ==
        Lines{"start", "MPI_Init, 4x, 2 us", "MPI_Recv, from rank+1, 1 kB, 20x, 200 ns",
              "MPI_Send, to rank-1, 1 kB, 20x, 200 ns", "start > MPI_Init: 1x (0-3)",
              "MPI_Init > MPI_Recv: 1x (0,2)", "MPI_Init > MPI_Send: 1x (1,3)",
              "MPI_Recv > MPI_Recv: 9x (0,2)", "MPI_Send > MPI_Send: 9x (1,3)"});
  CHECK(drawing.nodes[1].weight == 1);
  CHECK(drawing.notes.empty());
}

TEST_CASE("EventFlowDrawing: some ranks - the graphs that are theirs") {
  const MergedFlow flow = pairs();
  const Drawing drawing = *event_flow_drawing(flow, {.clusters = *clusters_of(flow, "2")});
  CHECK(texts(drawing) ==
        Lines{"start", "MPI_Init, 2x, 1 us", "MPI_Recv, from rank+1, 1 kB, 20x, 200 ns",
              "start > MPI_Init: 1x (0,2)", "MPI_Init > MPI_Recv: 1x (0,2)",
              "MPI_Recv > MPI_Recv: 9x (0,2)"});
  CHECK(clusters_of(flow, "7").error() == "there is no graph of rank 7");
  CHECK(clusters_of(flow, "x").error() == "'x' is not a list of ranks, such as 0-3,7");
}

TEST_CASE("EventFlowDrawing: most - what is left out is one, with the same sums") {
  const MergedFlow flow = pairs();
  const Drawing drawing = *event_flow_drawing(flow, {.most = 1});
  CHECK(texts(drawing) ==
        Lines{"start", "MPI_Init, 4x, 2 us", "2 more signatures, 40x, 400 ns",
              "start > MPI_Init: 1x (0-3)",
              "MPI_Init > 2 more signatures: 1x (0,2), 1x (1,3)",
              "2 more signatures > 2 more signatures: 9x (0,2), 9x (1,3)"});
  CHECK(drawing.notes.size() == 1);
}

namespace {

// One rank: main calls MPI_Init, then, in solve (called at main.c:9), a norm by MPI_Allreduce and an
// exchange (exchange called at solve.c:5) of a send and a receive, three times each; MPI_Finalize.
MergedFlow nested_calls() {
  using Callers = std::vector<std::string>;
  const auto call = [](const char* name, const char* site, Callers callers) {
    return FlowGraph::Node{.kind = FlowGraph::Kind::kCall,
                           .name = name,
                           .site = site,
                           .callers = std::move(callers)};
  };
  FlowGraph graph;
  graph.components = {"site", "callers"};
  graph.nodes = {{},
                 call("MPI_Init", "main.c:3", {}),
                 call("MPI_Allreduce", "solve.c:8", {"main.c:9"}),
                 call("MPI_Send", "exchange.c:4", {"solve.c:5", "main.c:9"}),
                 call("MPI_Recv", "exchange.c:5", {"solve.c:5", "main.c:9"}),
                 call("MPI_Finalize", "main.c:12", {})};
  graph.edges = {{.from = 0, .to = 1, .count = 1, .time = 500},
                 {.from = 1, .to = 3, .count = 1, .time = 10},
                 {.from = 3, .to = 4, .count = 3, .time = 90},
                 {.from = 4, .to = 2, .count = 3, .time = 60},
                 {.from = 2, .to = 3, .count = 2, .time = 20},
                 {.from = 2, .to = 5, .count = 1, .time = 5}};
  summary::normalize(graph);
  return summary::merged_flow(graph, 0, 1e9);
}

Lines dotted(const Drawing& drawing) {
  Lines out;
  for (const Drawing::Node& node : drawing.nodes)
    if (node.dotted) out.push_back(node.lines[0]);
  for (const Drawing::Edge& edge : drawing.edges)
    if (edge.dotted)
      out.push_back(drawing.nodes[edge.from].lines[0] + " > " +
                    drawing.nodes[edge.to].lines[0]);
  return out;
}

}  // namespace

TEST_CASE("EventFlowDrawing: a caller - what is called from there, and deeper as one") {
  const MergedFlow flow = nested_calls();
  const Drawing solve = *event_flow_drawing(flow, {.caller = "main.c:9"});
  CHECK(texts(solve) == Lines{"MPI_Allreduce, solve.c:8, 3x, 60 ns",
                              "MPI_Finalize, main.c:12, 1x, 5 ns",
                              "MPI_Init, main.c:3, 1x, 500 ns",
                              "calls from solve.c:5, 2 signatures, 6x, 120 ns",
                              "MPI_Allreduce > MPI_Finalize: 1x (0)",
                              "MPI_Allreduce > calls from solve.c:5: 2x (0)",
                              "MPI_Init > calls from solve.c:5: 1x (0)",
                              "calls from solve.c:5 > MPI_Allreduce: 3x (0)",
                              "calls from solve.c:5 > calls from solve.c:5: 3x (0)"});
  CHECK(dotted(solve) == Lines{"MPI_Finalize", "MPI_Init", "MPI_Allreduce > MPI_Finalize",
                               "MPI_Init > calls from solve.c:5"});
  // The colour is that of the part.
  CHECK(solve.nodes[3].weight == 1);

  const Drawing exchange = *event_flow_drawing(flow, {.caller = "solve.c"});
  CHECK(dotted(exchange) == Lines{"MPI_Allreduce", "MPI_Init", "MPI_Allreduce > MPI_Send",
                                  "MPI_Init > MPI_Send", "MPI_Recv > MPI_Allreduce"});
  CHECK(exchange.edges.size() == 4);
}

TEST_CASE("EventFlowDrawing: a caller - the dotted ones are left out first") {
  const MergedFlow flow = nested_calls();
  const Drawing solve = *event_flow_drawing(flow, {.caller = "main.c:9", .most = 2});
  CHECK(texts(solve) == Lines{"MPI_Allreduce, solve.c:8, 3x, 60 ns",
                              "calls from solve.c:5, 2 signatures, 6x, 120 ns",
                              "2 more signatures, 2x, 505 ns",
                              "MPI_Allreduce > calls from solve.c:5: 2x (0)",
                              "MPI_Allreduce > 2 more signatures: 1x (0)",
                              "calls from solve.c:5 > MPI_Allreduce: 3x (0)",
                              "calls from solve.c:5 > calls from solve.c:5: 3x (0)",
                              "2 more signatures > calls from solve.c:5: 1x (0)"});
}

TEST_CASE("EventFlowDrawing: a caller - in recursion the outermost") {
  FlowGraph graph;
  graph.components = {"callers"};
  graph.nodes = {{},
                 {.kind = FlowGraph::Kind::kCall,
                  .name = "MPI_Send",
                  .callers = {"tree.c:7", "tree.c:7", "main.c:2"}}};
  graph.edges = {{.from = 0, .to = 1, .count = 1}};
  const Drawing drawing =
      *event_flow_drawing(summary::merged_flow(graph, 0, 1e9), {.caller = "tree.c:7"});
  CHECK(texts(drawing) == Lines{"start", "calls from tree.c:7, 1 signature, 1x, 0 ns",
                                "start > calls from tree.c:7: 1x (0)"});
}

TEST_CASE("EventFlowDrawing: a caller - one that is not there") {
  CHECK(event_flow_drawing(nested_calls(), {.caller = "solver.f"}).error() ==
        "no caller 'solver.f'; callers are main.c:9, solve.c:5");
  CHECK(event_flow_drawing(pairs(), {.caller = "main.c:9"}).error() ==
        "the graph has no callers: record with --mpi-frames 4 or more");
}

}  // namespace refrain::tools::event_flow_drawing_test
