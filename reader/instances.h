// Which events of different locations belong together: members of a collective operation, of a team, of a barrier.
//
// Place in the flow: private to event_window.h, which gives its events these instances. Thread-safety: none.
// A communicator's operations are numbered on each of its processes, as MPI requires them to be called in one order. A
// thread belongs to the team whose fork is open and has its communicator; the n-th barrier that a member enters is the
// team's n-th. Collective operations of windows, and those that do not block, are not put together here.
// Units: ticks of the archive. Ownership: shared with the events that belong to an instance.
// Memory: open instances, of a communicator kMostPending at most, then the oldest ones remain incomplete.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "reader/trace_definitions.h"
#include "reader/window_regions.h"

namespace refrain::reader {

struct CollectiveInstance {
  struct Member {
    std::uint32_t rank = kNone;  // in the communicator
    EventId enter;               // of the call
    EventId end;                 // the event MpiCollectiveEnd
    std::uint64_t enter_ticks = 0;
    std::uint64_t end_ticks = 0;
  };
  std::uint32_t comm = kNone;  // index
  std::uint32_t op = 0;        // OTF2_CollectiveOp, as the first member says
  std::uint32_t root = kNone;  // rank
  std::uint64_t number = 0;    // on its communicator
  std::size_t size = 0;        // of the communicator
  std::vector<Member> members;

  bool complete() const { return members.size() == size; }
  const Member* root_member() const;  // nullptr: there is none, or it is not known yet
};

struct TeamInstance {
  EventId fork;
  std::uint64_t fork_ticks = 0;
  std::uint32_t comm = kNone;
  std::vector<EventId> members;  // ThreadTeamBegin of each
  EventId join;                  // unknown: it is open
};

struct BarrierInstance {
  struct Member {
    EventId enter, leave;  // leave: unknown until then
    std::uint64_t enter_ticks = 0;
    std::uint64_t leave_ticks = 0;
  };
  std::shared_ptr<const TeamInstance> team;
  std::uint64_t number = 0;  // in the team
  std::vector<Member> members;
};

class Collectives {
 public:
  static constexpr std::size_t kMostPending = 1 << 14;
  using Instance = std::shared_ptr<const CollectiveInstance>;

  explicit Collectives(const TraceDefinitions& definitions)
      : definitions_(definitions), comms_(definitions.comms.size()) {}
  // nullptr: the process is no member of such a communicator.
  Instance end(const TraceEvent& event, EventId id, const OpenRegion& call);

 private:
  struct Comm {
    bool known = false;
    std::unordered_map<std::uint32_t, std::uint32_t> ranks;  // by process
    std::vector<std::uint64_t> next;                         // by rank
    std::uint64_t front = 0;                                 // its number
    std::deque<std::shared_ptr<CollectiveInstance>> open;
  };
  void know(Comm& comm, const CommInfo& info);

  const TraceDefinitions& definitions_;
  std::vector<Comm> comms_;
};

class Teams {
 public:
  explicit Teams(const TraceDefinitions& definitions)
      : open_(definitions.processes.size() + 1), threads_(definitions.locations.size()) {}

  using Instance = std::shared_ptr<const TeamInstance>;
  using Barrier = std::shared_ptr<const BarrierInstance>;

  Instance fork(std::uint32_t process, EventId id, std::uint64_t ticks);
  Instance join(std::uint32_t process, EventId id);
  Instance begin(std::uint32_t process, EventId id, std::uint32_t comm);
  Instance end(std::uint32_t location);
  Instance of(std::uint32_t location) const;  // nullptr: none
  Barrier enter_barrier(EventId id, std::uint64_t ticks);
  // Of the barrier that the location has entered last.
  Barrier leave_barrier(EventId id, std::uint64_t ticks);

 private:
  struct OpenBarrier {
    std::shared_ptr<BarrierInstance> instance = std::make_shared<BarrierInstance>();
    std::size_t left = 0;
  };
  struct Team {
    std::shared_ptr<TeamInstance> instance = std::make_shared<TeamInstance>();
    std::uint32_t master = kNone;
    std::uint64_t first = 0;  // number of the front of
    std::deque<OpenBarrier> barriers;
  };
  struct Membership {
    std::shared_ptr<Team> team;
    std::uint64_t barriers = 0;  // that it has entered
    std::shared_ptr<BarrierInstance> in;
    std::size_t member = 0;  // of it
  };
  std::vector<std::vector<std::shared_ptr<Team>>> open_;  // by process
  std::vector<std::vector<Membership>> threads_;          // by location
};

}  // namespace refrain::reader
