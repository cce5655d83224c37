// Reads the areas of spool files that are for the summary: while the program runs, at its end, or after it was killed.
// Of a location the call tree, the event flow graph and the rows of iterations; of the journal the table of loops.
//
// Place in the flow: ARCHITECTURE.md, stage 5. Thread-safety: none, a copy. Errors: none; what does
// not fit together is left out, and `damaged` says so. Cost: linear in what there is. Units: ticks, bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "spool/journal.h"
#include "spool/loop_table_format.h"
#include "spool/summary_format.h"

namespace refrain::spool {

// --- The call tree (summary_format.h) ---

struct CallTree {
  struct Node {
    CallKey key;
    std::uint32_t parent = 0;  // its number is smaller
    std::uint8_t cls = 0;      // of its own time
    bool open = false;
    std::uint64_t visits = 0;       // begins
    std::uint64_t time = 0;         // of those that have ended
    std::uint64_t enter_ticks = 0;  // of the latest visit
    std::uint64_t least = 0;        // duration of a visit that has ended
    std::uint64_t greatest = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t time_elsewhere = 0;  // of regions inside that have no node
    std::uint64_t regions_elsewhere = 0;
  };
  struct Edge {
    std::uint32_t from = 0;  // kFirstChild | parent, or the sibling before
    std::uint32_t to = 0;
    std::uint64_t count = 0;
  };
  std::vector<Node>
      nodes;  // the first is the root, which is no region; none: there is no tree
  std::vector<Edge> edges;
  bool damaged = false;

  // Ends what is open: the outermost team and what lies in it at `team_end`, the rest at `end`.
  void end_open(std::uint64_t team_end, std::uint64_t end);
  // Time of a node without that of its children; may be off by a region where the process died.
  std::vector<std::uint64_t> own_times() const;
};

CallTree read_call_tree(std::span<const std::byte> area);

// --- The event flow graph (summary_format.h) ---

struct FlowGraph {
  std::uint32_t components = 0;  // FlowComponent
  // The first two are the start and kOtherEvents; none: there is no graph.
  std::vector<FlowNode> nodes;
  std::vector<FlowEdge> edges;                    // with a count
  std::vector<std::vector<std::uint64_t>> paths;  // by FlowNode::path
  std::uint64_t nodes_elsewhere = 0;
  std::uint64_t edges_elsewhere = 0;
  bool damaged = false;
};

FlowGraph read_flow_graph(std::span<const std::byte> area);

// --- Rows of iterations (summary_format.h) ---

struct IterationRows {
  struct Row {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t loop = kNoLoopRow;  // or kMixedRow
    std::uint64_t first = 0;  // iteration of its visit; in no loop, of the meeting; 0: none
    std::uint64_t count = 0;  // iterations
    // The loop in whose first iteration it lies, which was known only later, and whether that begins with it.
    std::uint64_t around = kNoLoopRow;
    bool begins_around = false;
    // By class; below zero only where clocks of cores differ, or the process was killed.
    std::array<std::int64_t, kRowClasses> times{};
    std::vector<std::uint64_t> counters;  // values at its end
    RowUse use{};                         // what it used
  };
  unsigned counters = 0;
  std::vector<Row> rows;  // one after another, from the start of the recording to its end
  bool damaged = false;
};

// `tree` is the location's, before CallTree::end_open(). What is open ends as there.
IterationRows read_iteration_rows(std::span<const std::byte> area, const CallTree& tree,
                                  std::uint64_t team_end, std::uint64_t end);

// --- The table of loops (loop_table_format.h): for runs without events, and for `refrain watch` ---

struct LoopTable {
  struct Loop {
    std::uint32_t loop = kNoLoop;  // as in the journal; kNoLoop: several that had no place
    std::uint32_t parent = kNoLoop;
    std::uint32_t body_events = 0;
    std::uint32_t level = 0;
    std::uint64_t visits = 0;
    std::uint64_t first_ticks = 0;
    std::uint64_t iterations = 0;  // complete ones
    std::uint64_t total_ticks = 0;
    std::uint64_t least_ticks = 0;
    std::uint64_t greatest_ticks = 0;
    std::uint64_t number = 0;       // of the latest iteration, in its visit
    std::uint64_t begin_ticks = 0;  // of the one that runs; 0: none
    // Durations of the latest iterations, the last one at the end.
    std::vector<std::uint64_t> recent_ticks;
  };
  std::vector<Loop> loops;
  std::vector<std::size_t> open;  // indices, from the outermost
};

LoopTable read_loop_table(std::span<const std::byte> area);

// Where a journal has no marks (summary_only): its loops' sums, from the table.
void add_loop_sums(const LoopTable& table, Journal& journal);

// A copy of what lies in an area of a spool, which another process may be changing.
//
// Thread-safety: pure. Errors: the caller knows that the area goes that far.

template <typename T>
T copy_at(std::span<const std::byte> area, std::uint64_t offset) {
  T value;
  std::memcpy(static_cast<void*>(&value), area.data() + offset, sizeof value);
  return value;
}

}  // namespace refrain::spool
