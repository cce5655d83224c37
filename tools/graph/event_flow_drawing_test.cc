#include "tools/graph/event_flow_drawing.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace refrain::tools {
namespace {

using base::FlowGraph;
using base::MergedFlow;
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
    base::normalize(graph);
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
  std::string error;
  const MergedFlow flow = pairs();
  const Drawing drawing = event_flow_drawing(flow, clusters_of(flow, "", error), 0);
  CHECK(error.empty());
  CHECK(texts(drawing) ==
        Lines{"start", "MPI_Init, 4x, 2 us", "MPI_Recv, from rank+1, 1 kB, 20x, 200 ns",
              "MPI_Send, to rank-1, 1 kB, 20x, 200 ns", "start > MPI_Init: 1x (0-3)",
              "MPI_Init > MPI_Recv: 1x (0,2)", "MPI_Init > MPI_Send: 1x (1,3)",
              "MPI_Recv > MPI_Recv: 9x (0,2)", "MPI_Send > MPI_Send: 9x (1,3)"});
  CHECK(drawing.nodes[1].weight == 1);
  CHECK(drawing.notes.empty());
}

TEST_CASE("EventFlowDrawing: some ranks - the graphs that are theirs") {
  std::string error;
  const MergedFlow flow = pairs();
  const Drawing drawing = event_flow_drawing(flow, clusters_of(flow, "2", error), 0);
  CHECK(error.empty());
  CHECK(texts(drawing) ==
        Lines{"start", "MPI_Init, 2x, 1 us", "MPI_Recv, from rank+1, 1 kB, 20x, 200 ns",
              "start > MPI_Init: 1x (0,2)", "MPI_Init > MPI_Recv: 1x (0,2)",
              "MPI_Recv > MPI_Recv: 9x (0,2)"});
  CHECK(clusters_of(flow, "7", error).empty());
  CHECK(error == "there is no graph of rank 7");
  clusters_of(flow, "x", error);
  CHECK(error == "'x' is no list of ranks, as 0-3,7");
}

TEST_CASE("EventFlowDrawing: most - what is left out is one, with the same sums") {
  std::string error;
  const MergedFlow flow = pairs();
  const Drawing drawing = event_flow_drawing(flow, clusters_of(flow, "", error), 1);
  CHECK(texts(drawing) ==
        Lines{"start", "MPI_Init, 4x, 2 us", "2 more signatures, 40x, 400 ns",
              "start > MPI_Init: 1x (0-3)",
              "MPI_Init > 2 more signatures: 1x (0,2), 1x (1,3)",
              "2 more signatures > 2 more signatures: 9x (0,2), 9x (1,3)"});
  CHECK(drawing.notes.size() == 1);
}

}  // namespace refrain::tools
