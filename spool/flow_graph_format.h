// The event flow graph that a location keeps of all its calls of MPI and its outermost parallel
// regions, written or not: the fourth area of its spool file (format.h), in memory of fixed size.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (kept by tracer/recorder/thread_flow.h) and 5 (read by
// summary_areas.h, also after the process was killed).
// Source: Fürlinger/Skinner, section 3. A node is a signature, an edge the pair of one and the one
// before it, with sums of all events that came that way.
//
//     0                 kFlowHeaderBytes       (pages begin)        (pages begin)      end
//     +-----------------+----------------------+--------------------+-------------------+
//     | FlowHeader      | FlowNode[nodes]      | FlowEdge[edges]    | FlowPath[paths]   |
//     +-----------------+----------------------+--------------------+-------------------+
//
// Nodes, edges and paths are only added: each is complete before the number that counts it is
// stored. An event changes one edge, by a store for each sum, the count first: a process that dies
// between them leaves one event that was counted in part.
//
// Units: ticks of the location's clock, bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "spool/format.h"

namespace refrain::spool {

inline constexpr std::size_t kFlowHeaderBytes = 256;
inline constexpr std::uint32_t kStartNode = 0;    // before the first event
inline constexpr std::uint32_t kOtherEvents = 1;  // whose node or edge found no place
inline constexpr std::uint32_t kNoFlowEdge = 0;   // leads to the start; nothing predicts it
inline constexpr std::uint32_t kOtherAfterOther = 1;
inline constexpr std::uint32_t kNoPath = 0;  // callers are not known, or not part of it
inline constexpr std::size_t kMaxPathFrames = 16;

enum class FlowKind : std::uint32_t { kStart = 0, kCall = 1, kRegion = 2, kOther = 3 };

// Components of a signature besides the procedure, as bits (setting `graph`).
enum FlowComponent : std::uint32_t {
  kFlowSite = 1,
  kFlowCallers = 2,
  kFlowPartner = 4,
  kFlowSize = 8,
};

// The other side: what kind of answer, and a rank.
struct FlowPartner {
  enum Kind : std::uint32_t {
    kNone = 0,
    kRelative = 1,  // rank in the communicator less the own one
    kAny = 2,       // MPI_ANY_SOURCE
    kNobody = 3,    // MPI_PROC_NULL
    kRoot = 4,      // rank of the root in the communicator
    kSeveral = 5,   // one call, several partners
  };
  static constexpr std::uint64_t pack(Kind kind, std::int32_t value = 0) noexcept {
    return std::uint64_t{kind} << 32 | static_cast<std::uint32_t>(value);
  }
};

struct FlowNode {
  std::uint64_t payload;  // of a call as kMpiEnter; of a region its address
  FlowKind kind;
  std::uint32_t path;           // of the callers
  std::uint64_t to;             // packed FlowPartner: of what is sent, or the root
  std::uint64_t from;           // likewise, of what is received
  std::uint64_t size_least;     // the larger of bytes sent and received, from here
  std::uint64_t size_greatest;  // to here
  std::uint32_t reserved[4];
};
static_assert(sizeof(FlowNode) == 64);

struct FlowEdge {
  std::uint32_t to;
  std::uint32_t from;
  std::uint64_t reserved;
  std::uint64_t count;
  std::uint64_t time;  // of the events of `to`
  std::uint64_t least;
  std::uint64_t greatest;
  std::uint64_t gap;  // between the end of `from` and the start of `to`
  std::uint64_t gap_least;
  std::uint64_t gap_greatest;
  std::uint64_t bytes_sent;
  std::uint64_t bytes_received;
  std::uint64_t reserved2;
};
static_assert(sizeof(FlowEdge) == 96);

// Return addresses above the place of a call, from the inside.
struct FlowPath {
  std::uint64_t hash;
  std::uint32_t count;
  std::uint32_t reserved;
  std::uint64_t frames[kMaxPathFrames];
};
static_assert(sizeof(FlowPath) == 144);

struct FlowHeader {
  std::uint32_t node_capacity;
  std::uint32_t components;  // FlowComponent
  std::atomic<std::uint32_t> nodes;
  std::atomic<std::uint32_t> edges;
  std::atomic<std::uint32_t> paths;
  std::uint32_t reserved;
  // Events of kOtherEvents: those whose node found no place, and whose edge.
  std::atomic<std::uint64_t> nodes_elsewhere;
  std::atomic<std::uint64_t> edges_elsewhere;
};
static_assert(sizeof(FlowHeader) <= kFlowHeaderBytes);

// Where things lie: there are two edges for each node, and a path for each fourth.
inline constexpr std::uint32_t kFlowEdgesPerNode = 2;
inline constexpr std::uint32_t kNodesPerFlowPath = 4;
constexpr std::uint32_t flow_paths(std::uint32_t nodes) noexcept {
  return nodes / kNodesPerFlowPath + 1;
}
constexpr std::uint64_t flow_page(std::uint64_t offset) noexcept {
  constexpr std::uint64_t kPage = 4096;
  return (offset + kPage - 1) / kPage * kPage;
}
constexpr std::uint64_t flow_node_offset(std::uint32_t node) noexcept {
  return kFlowHeaderBytes + std::uint64_t{node} * sizeof(FlowNode);
}
constexpr std::uint64_t flow_edge_offset(std::uint32_t nodes, std::uint32_t edge) noexcept {
  return flow_page(flow_node_offset(nodes)) + std::uint64_t{edge} * sizeof(FlowEdge);
}
constexpr std::uint64_t flow_path_offset(std::uint32_t nodes, std::uint32_t path) noexcept {
  return flow_page(flow_edge_offset(nodes, kFlowEdgesPerNode * nodes)) +
         std::uint64_t{path} * sizeof(FlowPath);
}
// How an area of so many bytes is divided.
constexpr std::uint32_t flow_graph_nodes(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kFixed = flow_page(1) * 2 + kFlowHeaderBytes + sizeof(FlowPath);
  constexpr std::uint64_t kEach = sizeof(FlowNode) + kFlowEdgesPerNode * sizeof(FlowEdge) +
                                  sizeof(FlowPath) / kNodesPerFlowPath;
  return bytes < kFixed ? 0 : static_cast<std::uint32_t>((bytes - kFixed) / kEach);
}

}  // namespace refrain::spool
