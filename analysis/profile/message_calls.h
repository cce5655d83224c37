// The calls of MPI of a process by procedure, partner and size: how often, how long, how many bytes.
//
// Place in the flow: ARCHITECTURE.md, stage 6: of the event flow graphs in the summary of a process
// (summary/flow_graph.h), or made of events by message_events.h; before message_tables.h.
// A *size* is the larger of the bytes that the process sent and received in the call. *Partners* are
// ranks in the communicator less the own one, or the root; what else they may be: FlowGraph::Partner.
// Thread-safety: pure. Units: ticks of the process' clock, bytes. Cost: nodes and edges of the graphs.
// Source: Fuerlinger and Skinner, Capturing and Visualizing Event Flow Graphs of MPI Applications, Fig. 1.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "summary/flow_graph.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

// The class of a size: 0 of nothing, else 1 + n from 2^n on.
constexpr unsigned size_class(std::uint64_t size) noexcept {
  return static_cast<unsigned>(std::bit_width(size));
}

struct CallSums {
  std::uint64_t calls = 0;
  std::uint64_t time = 0;
  std::uint64_t minimum = 0;  // of one call; 0 if there is none
  std::uint64_t maximum = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;

  void add(const CallSums& other) noexcept;
  bool operator==(const CallSums&) const = default;
};

struct MessageCalls {
  using Partner = summary::FlowGraph::Partner;

  std::string procedure;
  Partner to{};    // of what is sent; or the root
  Partner from{};  // of what is received
  // The smallest and the largest size, of one size_class().
  std::uint64_t size_least = 0;
  std::uint64_t size_greatest = 0;
  CallSums sums{};

  bool operator==(const MessageCalls&) const = default;
};

struct ProcessMessages {
  std::uint32_t process = 0;                        // its number
  std::uint32_t rank = summary::RunSummary::kNone;  // in MPI_COMM_WORLD
  double ticks_per_second = 1e9;
  bool sizes = true;     // are known; if not, all are 0
  bool partners = true;  // are known
  // One for each procedure, pair of partners and class of sizes, in their order.
  std::vector<MessageCalls> calls{};
  // Calls and parallel regions of which only this is known, for the graph's memory was full.
  CallSums elsewhere{};
  // Messages that no call of MPI has: of events only. `calls` are messages; without times.
  CallSums outside{};

  bool operator==(const ProcessMessages&) const = default;
};

// Sorts, and unites calls that are one.
void unite(std::vector<MessageCalls>& calls);

// Of all locations of a process. Neither sizes nor partners are known if one that called MPI has no
// graph, for it was not wanted or there was no memory.
ProcessMessages messages_of(const summary::RunSummary& summary);

}  // namespace refrain::analysis
