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

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/thread_use.h"
#include "spool/format.h"
#include "summary/time_class.h"

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
  std::uint8_t cls;     // of its own time
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

// What a location spends its time for, iteration by iteration: the fifth area of its spool file
// (format.h), in memory of fixed size.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (kept by tracer/recorder/thread_rows.h) and 5 (read
// by summary_areas.h, also after the process was killed).
// Source: K. Furlinger and S. Moore, Detection and Analysis of Iterative Behavior in Parallel
// Applications, section 3.
//
//     0                     row_bytes()                                  end of the area
//     +---------------------+------------------------------------------+
//     | IterationRowsHeader | IterationRow and its counters [capacity] |
//     +---------------------+------------------------------------------+
//
// Sums run on from the start of the recording. A row has what they were when it began; what belongs
// to it is the difference to the next row. So sums of all rows are those of the run, whatever rows
// are merged: a row less is a start less.
//
// The time of a class is a sum of ends less begins; the class that a thread is in has one start
// more than ends, so its sum is below zero by about the time stamp of that, and no other is. A
// process that dies between the two stores of a change leaves none below zero.
//
// A row is complete before `state` counts it. While rows are merged `state` says how far that has
// come: the first `merged` rows are what came out, the others begin with row `next`.
//
// Units: ticks of the location's clock.

// Classes of summary::TimeClass, and time outside of all regions.
inline constexpr std::size_t kOutsideClass = summary::kTimeClasses;
inline constexpr std::size_t kRowClasses = summary::kTimeClasses + 1;
using ClassSums = std::array<std::uint64_t, kRowClasses>;

inline constexpr unsigned kMaxRowCounters = 32;
// What the thread has used of the machine, as base::kRowUse.
using RowUse = std::array<std::uint64_t, base::kRowUse.size()>;

inline constexpr std::uint64_t kNoLoopRow = 0xffff;   // in no loop
inline constexpr std::uint64_t kMixedRow = 0xfffe;    // in several
inline constexpr std::uint64_t kMaxRowLoop = 0xfffd;  // numbers above it count as several

enum RowBegin : std::uint64_t {
  kRowIteration = 0,  // an iteration began, not the first of its visit
  kRowVisit = 1,      // the first iteration of a visit, or what follows a visit
  kRowBetween = 2,    // what lies between two phases of a loop
  kRowMeeting = 3,    // outside of loops, all processes have met
};

// A loop that came round later, whose first iteration a row lies in: its number and 1; 0: none.
inline constexpr unsigned kAroundShift = 48;
inline constexpr std::uint64_t kRowKindMask = (std::uint64_t{1} << (kAroundShift - 1)) - 1;
inline constexpr std::uint64_t kBeginsAround =
    std::uint64_t{1} << (kAroundShift - 1);  // and which it begins
constexpr std::uint64_t row_around(std::uint64_t loop) noexcept {
  return (loop + 1) << kAroundShift;
}
constexpr std::uint64_t around_of_row(std::uint64_t kind) noexcept {
  return kind >> kAroundShift == 0 ? kNoLoopRow : (kind >> kAroundShift) - 1;
}

struct IterationRow {
  std::uint64_t begin;
  std::uint64_t place;  // number of the first iteration, or of the meeting << 16 | loop
  std::uint64_t total;  // iterations of all loops before it
  std::uint64_t
      kind;  // number of the visit's begin or end << 2 | RowBegin; and what it lies in, above kRowKindMask
  // Of all classes but the first: what is missing to the time since the start is that one's.
  std::uint64_t times[kRowClasses - 1];
  RowUse use;  // when it was last looked at before
  // The values of the counters follow.
};
static_assert(sizeof(IterationRow) == 192);

struct IterationRowsHeader {
  std::uint32_t capacity;  // rows
  std::uint32_t counters;
  std::uint64_t begin;                // of the recording
  std::atomic<std::uint64_t> state;   // rows | merged << 21 | next << 42
  std::atomic<std::uint64_t> merges;  // how often rows were merged
  std::atomic<std::uint64_t> total;   // iterations of all loops so far
  // As they are now.
  alignas(64) std::uint64_t times[kRowClasses];
  std::uint64_t counter_values[kMaxRowCounters];
  RowUse use;
};
inline constexpr std::uint64_t kIterationRowsHeaderBytes = 4096;
static_assert(sizeof(IterationRowsHeader) <= kIterationRowsHeaderBytes);

inline constexpr unsigned kRowStateBits = 21;
inline constexpr std::uint64_t kMaxRows = (std::uint64_t{1} << kRowStateBits) - 1;
inline constexpr std::uint64_t kMinRows = 16;

struct RowState {
  std::uint64_t rows;    // in all
  std::uint64_t merged;  // 0: none are being merged
  std::uint64_t next;

  static constexpr RowState of(std::uint64_t word) noexcept {
    return {word & kMaxRows, word >> kRowStateBits & kMaxRows,
            word >> (2 * kRowStateBits) & kMaxRows};
  }
  constexpr std::uint64_t word() const noexcept {
    return rows | merged << kRowStateBits | next << (2 * kRowStateBits);
  }
};

constexpr std::uint64_t row_place(std::uint64_t loop, std::uint64_t first) noexcept {
  return first << 16 | loop;
}
constexpr std::uint64_t loop_of_row(std::uint64_t place) noexcept { return place & 0xffff; }
// Of two rows that become one.
constexpr std::uint64_t merged_place(std::uint64_t first, std::uint64_t second) noexcept {
  if (loop_of_row(second) == kNoLoopRow) return first;
  if (loop_of_row(first) == kNoLoopRow || first == second) return second;
  return loop_of_row(first) == loop_of_row(second) ? first : row_place(kMixedRow, 0);
}

constexpr std::uint64_t row_bytes(unsigned counters) noexcept {
  return sizeof(IterationRow) + counters * sizeof(std::uint64_t);
}
constexpr std::uint64_t row_offset(std::uint64_t row, unsigned counters) noexcept {
  return kIterationRowsHeaderBytes + row * row_bytes(counters);
}

}  // namespace refrain::spool
