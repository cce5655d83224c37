// What of an event flow graph is drawn: every signature, or what a caller has inside.
//
// Place in the flow: ARCHITECTURE.md, stage 7, between summary/merged_flow.h and event_flow_drawing.h.
// Source: Fuerlinger/Skinner, section 4 and Fig. 6. Thread-safety: pure. Cost: nodes and edges x log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "summary/merged_flow.h"

namespace refrain::tools {

struct EventFlowChoice {
  static constexpr std::uint32_t kNone = 0xffffffff;

  struct Group {
    std::vector<std::uint32_t> nodes;  // of the graph
    std::string caller;   // that stands for them; empty: one node, drawn itself
    bool dotted = false;  // not in what was chosen, but next to it
  };
  std::string error;                  // one line
  std::vector<Group> groups;          // in the order of their first nodes
  std::vector<std::uint32_t> places;  // by node: its group, or kNone
};

// Of the nodes that these edges have. `caller`: "file:line", as a whole, or else a part of it; in recursion the
// outermost. Empty: a group for each node.
EventFlowChoice choose_events(const summary::MergedFlow& flow,
                              const std::vector<summary::FlowLink>& links,
                              const std::string& caller);

}  // namespace refrain::tools
