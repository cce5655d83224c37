// The call tree that a location keeps of all its regions, written or not: the third area of its
// spool file (format.h), in memory of fixed size.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (kept by tracer/recorder/call_tree.h) and 5 (read by
// summary_areas.h, also after the process was killed).
//
//     0                 kCallTreeHeaderBytes                              end of the area
//     +-----------------+-----------------------+-------------------------+
//     | CallTreeHeader  | CallNode[nodes]       | CallEdge[edges]         |
//     +-----------------+-----------------------+-------------------------+
//
// A node is a region in the context of those around it (Furlinger/Moore, section 2). An edge leads
// to a node from its predecessor on the same level, a sibling or, for the first region in a
// parent, the start of the parent; its count is how often that happened. A node's visits are the
// counts of the edges to it, and `visits_elsewhere`.
//
// Nodes and edges are only added: both are complete before the number that counts them is stored.
// A visit changes a node by two stores, so that a process that dies between them leaves one region
// that was counted and has no time, or the reverse. Own time is that of a node less that of its
// children, and less `time_elsewhere`.
//
// Units: ticks of the location's clock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "spool/format.h"

namespace refrain::spool {

inline constexpr std::size_t kCallTreeHeaderBytes = 256;
inline constexpr std::uint32_t kRootNode = 0;   // the location itself: no region
inline constexpr std::uint32_t kNoEdge = 0;     // leads to the root; nothing predicts it
inline constexpr std::uint32_t kStrayEdge = 1;  // of visits whose edge had no place
inline constexpr std::uint32_t kFirstEdge = 2;

// What a node is: the kind and `sub` of the records that open it, and their payload without what
// differs from visit to visit. CallKey::of() of a start says which.
struct CallKey {
  std::uint16_t what = 0;  // kind | sub << 8; 0: no region
  std::uint64_t payload = 0;

  constexpr std::uint8_t kind() const noexcept { return static_cast<std::uint8_t>(what); }
  constexpr std::uint8_t sub() const noexcept {
    return static_cast<std::uint8_t>(what >> 8);
  }
  constexpr bool operator==(const CallKey&) const noexcept = default;

  static constexpr CallKey make(std::uint8_t kind, std::uint8_t sub,
                                std::uint64_t payload) noexcept {
    return {static_cast<std::uint16_t>(kind | sub << 8), payload};
  }
  // Of an implicit task the payload is the address of its parallel region, which the record does
  // not have: with_payload() of this.
  static constexpr CallKey of(const RecordWords& begin) noexcept {
    const RecordKind& row = kind_row(begin.kind());
    const auto sub = static_cast<std::uint8_t>(begin.meta >> RecordWords::kSubShift);
    return make(row.kind, sub & row.key_sub, begin.payload & row.key_payload);
  }
  constexpr CallKey with_payload(std::uint64_t other) const noexcept {
    return {what, other};
  }
};

// Regions that found no place in their parent: their visits and times together.
inline constexpr std::uint16_t kOtherRegions = 0xffff;

struct CallNode {
  std::uint64_t payload;
  std::uint16_t what;
  std::uint8_t cls;     // of its own time (iteration_rows_format.h)
  std::uint8_t around;  // that of its parent
  std::uint32_t parent;
  // Ends less begins, times two, plus one while the region is open: one word, so that it is
  // always true.
  std::uint64_t time;
  std::uint64_t enter_ticks;  // of the latest visit
  std::uint64_t least;        // duration of a visit; meaningless before the first has ended
  std::uint64_t greatest;
  std::uint64_t reserved;
  std::uint64_t visits_elsewhere;  // by edges that had no place

  std::uint64_t bytes_sent;  // of MPI: what a process gave to others, or got from them, in
  std::uint64_t
      bytes_received;  // messages and collectives; of target constructs: to, from devices
  std::uint64_t messages_sent;
  std::uint64_t messages_received;
  // Regions inside whose node had no place, not even as kOtherRegions of this one.
  std::uint64_t time_elsewhere;
  std::uint64_t regions_elsewhere;
  std::uint64_t reserved2[2];
};
static_assert(sizeof(CallNode) == 128);

struct CallEdge {
  std::uint32_t to;
  // The node before it on its level; kFirstChild | its parent where there is none.
  std::uint32_t from;
  std::uint64_t count;
};
static_assert(sizeof(CallEdge) == 16);
inline constexpr std::uint32_t kFirstChild = 0x80000000;
inline constexpr std::uint32_t kUnknownPlace = 0xffffffff;  // as `from`: it was not kept

struct CallTreeHeader {
  std::uint32_t node_capacity;
  std::uint32_t edge_capacity;
  std::atomic<std::uint32_t> nodes;
  std::atomic<std::uint32_t> edges;
  std::atomic<std::uint64_t> regions_elsewhere;  // that have no node of their own
  std::atomic<std::uint64_t> visits_elsewhere;   // that have no edge of their own
};
static_assert(sizeof(CallTreeHeader) <= kCallTreeHeaderBytes);

// Where things lie. Edges begin with a page, for pages are made ahead of both.
inline constexpr std::uint64_t kCallTreePage = 4096;
constexpr std::uint64_t call_node_offset(std::uint32_t node) noexcept {
  return kCallTreeHeaderBytes + std::uint64_t{node} * sizeof(CallNode);
}
constexpr std::uint64_t call_edge_offset(std::uint32_t nodes, std::uint32_t edge) noexcept {
  return (call_node_offset(nodes) + kCallTreePage - 1) / kCallTreePage * kCallTreePage +
         std::uint64_t{edge} * sizeof(CallEdge);
}
// How an area of so many bytes is divided: there are three edges for each node.
inline constexpr std::uint32_t kEdgesPerNode = 3;
constexpr std::uint32_t call_tree_nodes(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kFixed = kCallTreeHeaderBytes + kCallTreePage;
  constexpr std::uint64_t kEach = sizeof(CallNode) + kEdgesPerNode * sizeof(CallEdge);
  return bytes < kFixed ? 0 : static_cast<std::uint32_t>((bytes - kFixed) / kEach);
}

}  // namespace refrain::spool
