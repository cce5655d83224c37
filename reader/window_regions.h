// The regions that are open at each event of a window: stacks that share what they have in common.
//
// Place in the flow: private to event_window.h. Thread-safety: none. Ownership: a stack is used until it is released as
// often as it was made or used again. Memory: a node for each Enter whose stack is in use. Cost: O(1) amortised.
#pragma once

#include <cstdint>
#include <vector>

#include "reader/trace_event.h"

namespace refrain::reader {

// An event of an archive: the n-th of a location.
struct EventId {
  std::uint32_t location = kNone;
  std::uint64_t number = 0;

  bool known() const { return location != kNone; }
  bool operator==(const EventId&) const = default;
};

struct OpenRegion {
  std::uint32_t region = kNone;  // index in TraceDefinitions::regions
  EventId enter;
  std::uint64_t enter_ticks = 0;
  std::uint32_t depth = 0;  // how many regions are around it
};

class OpenRegions {
 public:
  // A stack by its innermost region; kNone: nothing is open.
  using Stack = std::uint32_t;

  // `around` and that region. The result is in use; so is `around`, as before.
  Stack enter(Stack around, std::uint32_t region, EventId enter, std::uint64_t ticks) {
    use(around);
    const OpenRegion open = {region, enter, ticks,
                             around == kNone ? 0 : nodes_[around].open.depth + 1};
    if (free_ == kNone) {
      nodes_.push_back({open, around, 1});
      return static_cast<Stack>(nodes_.size() - 1);
    }
    const Stack at = free_;
    free_ = nodes_[at].around;
    nodes_[at] = {open, around, 1};
    return at;
  }
  Stack around(Stack stack) const { return nodes_[stack].around; }
  const OpenRegion& innermost(Stack stack) const { return nodes_[stack].open; }

  void use(Stack stack) {
    if (stack != kNone) ++nodes_[stack].uses;
  }
  // Not by recursion: stacks may be deep.
  void release(Stack stack) {
    while (stack != kNone && --nodes_[stack].uses == 0) {
      const Stack around = nodes_[stack].around;
      nodes_[stack].around = free_;
      free_ = stack;
      stack = around;
    }
  }
  std::size_t memory() const { return nodes_.size(); }  // nodes

 private:
  struct Node {
    OpenRegion open;
    Stack around = kNone;  // of free ones: the next
    std::uint32_t uses = 0;
  };
  std::vector<Node> nodes_;
  Stack free_ = kNone;
};

}  // namespace refrain::reader
