// Reads the call tree of a location from its area in the spool file (call_tree_format.h): while the
// program runs, at its end, or after it was killed.
//
// Place in the flow: ARCHITECTURE.md, stage 5. Thread-safety: none, a copy. Errors: none; what does
// not fit together is left out, and `damaged` says so. Cost: linear in nodes and edges.
// Units: ticks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spool/call_tree_format.h"

namespace refrain::spool {

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

}  // namespace refrain::spool
