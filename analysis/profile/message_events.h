// The calls of MPI by partner and size, from an archive's events: what message_calls.h makes of a
// summary, for archives without one, of any tool.
//
// Place in the flow: ARCHITECTURE.md, stage 6, fed by event_summary.cc.
// A call is an MPI region; what is sent and received between its enter and its leave is its own, and
// that of its innermost one where they lie in each other. One that never leaves is not counted.
// The partner of a receive that does not block is in the event that completes it, perhaps in another
// call: the call that posted it is put into its place then. So is the root of a collective that does
// not block. What was asked for (any source, nobody) is in no event.
// Thread-safety: none. Errors: none; what an archive says wrongly is left out. Cost: a look-up for each
// call and message; memory for signatures, open calls and requests, and members of communicators used.
// Units: ticks of the archive, bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/profile/message_calls.h"
#include "reader/trace_definitions.h"
#include "reader/trace_event.h"

namespace refrain::analysis {

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
    std::vector<Call> open;
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
  std::uint32_t own_rank(std::uint32_t process, std::uint32_t group);

  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> procedures_;  // by region: index in names_, or kNone
  std::vector<Location> locations_;
  std::vector<Process> processes_;
  // Of groups: rank by process.
  std::unordered_map<std::uint32_t, std::unordered_map<std::uint32_t, std::uint32_t>>
      ranks_;
};

}  // namespace refrain::analysis
