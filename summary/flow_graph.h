// The event flow graph of one location or rank: which call of MPI came after which in the whole run,
// with counts, times and bytes.
//
// Place in the flow: ARCHITECTURE.md, stage 5 (written) and 6 (read); part of run_summary.h. The
// format is in docs/reference/summary.md.
// Source: Fürlinger/Skinner, *Capturing and Visualizing Event Flow Graphs of MPI Applications*, section
// 3. A node is a signature (their Fig. 1), the same on all ranks where their Fig. 2 says so: ranks of
// partners are relative, places are lines of the source.
// Units: ticks of the process' clock, bytes. Thread-safety: plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::summary {

struct FlowGraph {
  enum class Kind : std::uint32_t {
    kStart = 0,
    kCall = 1,    // of an MPI procedure
    kRegion = 2,  // an outermost parallel region
    kOther = 3,   // events that found no place
  };
  struct Partner {
    enum class Kind : std::uint32_t {
      kNone = 0,
      kRelative = 1,  // `rank` is that in the communicator less the own one
      kAny = 2,       // MPI_ANY_SOURCE
      kNobody = 3,    // MPI_PROC_NULL
      kRoot = 4,      // `rank` in the communicator is the root
      kSeveral = 5,   // several in one call
    };
    Kind kind = Kind::kNone;
    std::int32_t rank = 0;
    auto operator<=>(const Partner&) const = default;
  };
  struct Node {
    Kind kind = Kind::kStart;
    std::string name = {};                  // of the procedure or region
    std::string site = {};                  // "file:line"; empty: not known, or not chosen
    std::vector<std::string> callers = {};  // from the inside
    Partner to = {};                        // of what is sent; or the root
    Partner from = {};                      // of what is received
    // The larger of bytes sent and received: from, to.
    std::uint64_t size_least = 0;
    std::uint64_t size_greatest = 0;
    auto operator<=>(const Node&) const = default;
  };
  struct Edge {
    std::uint32_t from = 0;  // indices of nodes
    std::uint32_t to = 0;
    std::uint64_t count = 0;
    std::uint64_t time = 0;  // of the events of `to` that came this way
    std::uint64_t least = 0;
    std::uint64_t greatest = 0;
    std::uint64_t gap = 0;  // between the end of the event before and the start of this one
    std::uint64_t gap_least = 0;
    std::uint64_t gap_greatest = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    bool operator==(const Edge&) const = default;
  };

  // Chosen for signatures besides the call: "site", "callers", "partner", "size".
  std::vector<std::string> components;
  // Sorted, without duplicates: the start is the first. None: there is no graph.
  std::vector<Node> nodes;
  // Sorted by `from` and `to`, one for each pair.
  std::vector<Edge> edges;
  // Of the events of kOther: those whose node, and whose edge found no place.
  std::uint64_t nodes_elsewhere = 0;
  std::uint64_t edges_elsewhere = 0;

  bool operator==(const FlowGraph&) const = default;
};

// Adds what came on the same way; `to` has a count already.
void add(FlowGraph::Edge& to, const FlowGraph::Edge& edge);
// Sorts nodes and edges, unites equal ones. Indices of edges are of `graph.nodes` as given.
void normalize(FlowGraph& graph);
// The sum of two, both normalized: of the locations of a process.
FlowGraph sum(const FlowGraph& a, const FlowGraph& b);

// "MPI_Recv (ring.c:12)"; a region's name has its place. Empty: events that found no place.
std::string event_text(const FlowGraph::Node& node);
// "between MPI_Send (ring.c:9) and MPI_Recv (ring.c:12)"; empty: one of them found no place.
std::string between_text(const FlowGraph::Node& from, const FlowGraph::Node& to);
// "to rank+1, from rank-1", "to several", "from any", "root 0", "to itself"; empty: none.
std::string partners_text(const FlowGraph::Partner& to, const FlowGraph::Partner& from);

}  // namespace refrain::summary
