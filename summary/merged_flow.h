// The event flow graph of a job: those of all its ranks as one, of ranks with equal graphs one each.
//
// Place in the flow: ARCHITECTURE.md, stage 5 (merged in the tree of processes, and written) and 6
// (read). The file is ARCHIVE/summary/graph.json; its format is in docs/reference/summary.md.
// Source: Fürlinger/Skinner, section 3.1: nodes are one if their signatures are (Fig. 2); edges of
// equal weight are drawn as one, with the ranks that have it; section 6: ranks with equal graphs
// form clusters.
// Shape: a *cluster* has the ranks whose nodes, edges and numbers of times are all equal. So memory
// grows with the number of different graphs, not of ranks.
// Units: nanoseconds (clocks of ranks differ in their rates), bytes. Thread-safety: plain values.
// Cost of merge(): linear in nodes and edges of both, and a comparison of graphs for each cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "exchange/bytes.h"
#include "summary/flow_graph.h"
#include "summary/rank_set.h"

namespace refrain::summary {

struct MergedFlow {
  struct Cluster {
    RankSet ranks;
    // As FlowGraph's, of `nodes`; `count` is that of each rank, sums are those of all ranks
    // together, minima and maxima those of all.
    std::vector<FlowGraph::Edge> edges;
    std::uint64_t nodes_elsewhere = 0;  // of all ranks together
    std::uint64_t edges_elsewhere = 0;
    bool operator==(const Cluster&) const = default;
  };
  std::vector<std::string> components;
  std::vector<FlowGraph::Node> nodes;  // as FlowGraph's; none: there is no graph
  std::vector<Cluster> clusters;       // in the order of their first ranks

  bool operator==(const MergedFlow&) const = default;
};

// Of one rank: its locations' graphs together.
MergedFlow merged_flow(const FlowGraph& graph, std::uint32_t rank, double ticks_per_second);
// Associative and commutative.
MergedFlow merge(MergedFlow a, const MergedFlow& b);

// An edge of the whole job: who took it how often.
struct FlowLink {
  struct Weight {
    std::uint64_t count = 0;  // of each rank
    RankSet ranks;
    bool operator==(const Weight&) const = default;
  };
  // All ranks together: `sums.count` as well.
  FlowGraph::Edge sums;
  std::vector<Weight> weights;  // largest first
  bool operator==(const FlowLink&) const = default;
};
// Sorted by `from` and `to`. `only`: of clusters, by their index; all if empty.
std::vector<FlowLink> links(const MergedFlow& flow,
                            const std::vector<std::size_t>& only = {});
// "9x (0,2)"; several with a blank between.
std::string label(const FlowLink& link);

// As the file has it.
std::string to_text(const MergedFlow& flow);
base::Result<MergedFlow> merged_flow_from_text(const std::string& text);

// Where it lies in an archive's directory.
std::string merged_flow_path(const std::string& archive);
// Makes the file.
base::Result<> write_merged_flow(const std::string& archive, const MergedFlow& flow);
// None if there is no such file.
base::Result<std::optional<MergedFlow>> read_merged_flow(const std::string& archive);

// --- The event flow graph of a job as bytes, for the tree of processes: its merge() is that of
// summary/merged_flow.h.
//
// Place in the flow: ARCHITECTURE.md, stage 5, last; part of JobFacts (process_facts.h).
// Thread-safety: pure. Errors: as exchange/tree.h has them. Cost: bytes grow with nodes and with
// the number of different graphs, not of ranks; figures are in docs/reference/summary.md.

void put(exchange::ByteWriter& out, const MergedFlow& flow);
void take(exchange::ByteReader& in, MergedFlow& flow);
// Of a set that is not empty.
void put(exchange::ByteWriter& out, const RankSet& ranks);
void take(exchange::ByteReader& in, RankSet& ranks);

}  // namespace refrain::summary
