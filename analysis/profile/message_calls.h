// The calls of MPI of a process by procedure, partner and size: how often, how long, how many bytes.
//
// Place in the flow: ARCHITECTURE.md, stage 6: of the event flow graphs in the summary of a process
// (summary/flow_graph.h), or made of events (MessageEvents); MessageTables adds them up.
// A *size* is the larger of the bytes that the process sent and received in the call. *Partners* are
// ranks in the communicator less the own one, or the root; what else they may be: FlowGraph::Partner.
// Thread-safety: pure. Units: ticks of the process' clock, bytes. Cost: nodes and edges of the graphs.
// Source: Fuerlinger and Skinner, Capturing and Visualizing Event Flow Graphs of MPI Applications, Fig. 1.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/region_stack.h"
#include "reader/communicators.h"
#include "reader/trace.h"
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

// The calls of MPI by partner and size, from an archive's events: what is made of a
// summary, for archives without one, of any tool.
//
// A call is an MPI region; what is sent and received between its enter and its leave is its own, and that of its
// innermost one where they lie in each other. One that never leaves is not counted. The partner of a receive that
// does not block is in the event that completes it, perhaps in another call: the call that posted it is put into its
// place then. So is the root of a collective that does not block. What was asked for (any source, nobody) is in no
// event. Thread-safety: none. Errors: none; what an archive says wrongly is left out. Cost: a look-up for each call
// and message; memory for signatures, open calls and requests, and members of communicators used. Units: ticks of the
// archive, bytes.

class MessageEvents {
 public:
  // `definitions` must outlive this.
  void begin(const reader::TraceDefinitions& definitions);
  // In the order of times on each location.
  void event(const reader::TraceEvent& event);
  // Of all processes, by their index in the definitions.
  std::vector<ProcessMessages> take();

 private:
  using Partner = summary::FlowGraph::Partner;

  struct Key {
    std::uint32_t procedure = 0;  // index in names_
    Partner to{}, from{};
    unsigned cls = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Sums {
    std::uint64_t size_least = 0, size_greatest = 0;
    CallSums sums{};
  };
  struct Call {
    std::uint32_t region = 0;
    std::uint32_t procedure = 0;
    Partner to{}, from{};
    CallSums sums{};
    std::uint64_t begin = 0;
    std::vector<std::uint64_t> requests{};  // made in it, whose partner is not known yet
  };
  // A call that has left while a partner is still unknown.
  struct Waiting {
    Call call{};
    std::size_t requests = 0;  // of these, still open
  };
  struct Location {
    base::RegionStack<Call> open;
    std::map<std::uint64_t, std::uint64_t> waits_for;  // request: number of one that waits
    std::map<std::uint64_t, Waiting> waiting;          // by number
    std::uint64_t next = 0;
  };
  struct Process {
    std::map<Key, Sums> calls;
    CallSums outside;
  };

  void enter(Location& location, const reader::TraceEvent& event);
  void leave(Location& location, std::uint32_t process, const reader::TraceEvent& event);
  void moved(Location& location, std::uint32_t process, std::uint64_t sent,
             std::uint64_t received);
  void resolve(Location& location, std::uint32_t process, std::uint64_t request, Partner to,
               Partner from);
  void end(Location& location, std::uint32_t process, Call call, std::uint64_t ticks);
  void count(std::uint32_t process, const Call& call);
  Partner relative(std::uint32_t process, std::uint32_t comm, std::uint32_t peer);
  summary::FlowGraph::Partner root_of(std::uint32_t process,
                                      const reader::TraceEvent& event);
  std::uint32_t own_rank(std::uint32_t process, std::uint32_t comm);

  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> procedures_;  // by region: index in names_, or kNone
  std::vector<Location> locations_;
  std::vector<Process> processes_;
  std::unordered_map<std::uint32_t, reader::CommMembers> members_;  // by communicator
};

// Where the time in MPI goes by size of messages and by partner, of all processes of a run.
//
// Definitions: docs/reference/profile.md. Thread-safety: pure. Units: nanoseconds, but of parts, which are in ticks of their
// process, so that sums are exact; bytes. Shapes: rows have the largest time first, and at least one call; parts are
// in the order of processes, of those that made such calls. All three tables have the same calls, so that their sums
// are equal. Cost: calls of all processes x log.

struct MessageTables {
  using Partner = summary::FlowGraph::Partner;
  static constexpr std::uint32_t kNone = summary::RunSummary::kNone;

  struct Process {
    std::uint32_t number = 0;
    std::uint32_t rank = kNone;
    double ticks_per_second = 1e9;
  };
  struct Part {
    std::uint32_t process = 0;  // index in `processes`
    CallSums sums{};            // ticks
  };
  struct Row {
    std::string procedure;
    Partner to{}, from{};  // none in `by_size`
    // The smallest and the largest; of graphs that do not know single sizes, at least and at most.
    std::uint64_t size_least = 0;
    std::uint64_t size_greatest = 0;
    std::uint64_t calls = 0;
    double time_ns = 0;
    double minimum_ns = 0;  // of one call
    double maximum_ns = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    // Time of the process with the minimum and the maximum, of those that made such calls.
    double process_minimum_ns = 0;
    double process_maximum_ns = 0;
    std::uint32_t slowest = 0;  // index of the process with the most
    std::vector<Part> parts;

    double mean_ns() const;
    // Bytes sent and received in a second of these calls; 0 without time.
    double bytes_per_second() const;
  };

  bool sizes = true;     // are known: if not, `by_size` is empty
  bool partners = true;  // likewise
  std::vector<Process> processes;
  std::vector<Row> by_size;       // by procedure and size_class()
  std::vector<Row> by_partner;    // by procedure and partners
  std::vector<Row> by_signature;  // by all of them
  // Of all processes, as ProcessMessages.
  std::uint64_t calls_elsewhere = 0;
  double elsewhere_ns = 0;
  std::uint64_t elsewhere_bytes = 0;
  std::uint64_t messages_outside = 0;
  std::uint64_t outside_bytes = 0;

  bool complete() const { return sizes && partners; }
};

MessageTables message_tables(const std::vector<ProcessMessages>& processes);

}  // namespace refrain::analysis
