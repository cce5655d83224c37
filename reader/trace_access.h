// Reads the events of an archive with their state: one after the other, and at random in a window around the latest one.
//
// Place in the flow: ARCHITECTURE.md, stage 6: over archive_stream.h. Thread-safety: as archive_stream.h. After a failure there are no more events.
// Cost and memory: those of both.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/region_stack.h"
#include "base/result.h"
#include "reader/archive_stream.h"
#include "reader/communicators.h"
#include "reader/message_matcher.h"
#include "reader/trace.h"

namespace refrain::reader {

// Events with their state, in a window that moves over an archive: what is open, and which events belong together.
//
// Patterns of one's own and Python read through it. Source: Wolf et al., section 4.1 (EARL: events at random, state,
// pointers between events).
//
// The window: of each location the `before` events before its latest one handed out by next(), and what has been read
// ahead. An event is named by its location and its number there. Links lead to events that may have left the window, or
// are not in it yet: then find() has nothing, but what a link itself says (times) is known all the same. What is known of
// an event at the moment when next() hands it out does not depend on `before`; with more events read ahead, more of what
// comes later is known.
// Thread-safety: none. Ownership: events belong to the window and are valid until the next next(); instances are shared.
// Units: ticks of the archive.
// Memory: before x locations + what is read ahead, and what is pending: open regions and requests, messages of which
// one end was read, operations that some members have not ended. It does not grow with the archive.
// Cost: O(1) an event; a message or an instance is an allocation.

// The regions that are open at each event of a window: stacks that share what they have in common.
//
// Thread-safety: none. Ownership: a stack is used until it is released as
// often as it was made or used again. Memory: a node for each Enter whose stack is in use. Cost: O(1) amortised.
// An event of an archive: the n-th of a location.
struct EventId {
  LocationId location{kNone};
  std::uint64_t number = 0;

  bool known() const { return location != kNone; }
  bool operator==(const EventId&) const = default;
};

struct OpenRegion {
  RegionId region{kNone};  // index in TraceDefinitions::regions
  EventId enter;
  std::uint64_t enter_ticks = 0;
  std::uint32_t depth = 0;  // how many regions are around it
};

class OpenRegions {
 public:
  // A stack by its innermost region; kNone: nothing is open.
  using Stack = std::uint32_t;

  // `around` and that region. The result is in use; so is `around`, as before.
  Stack enter(Stack around, RegionId region, EventId enter, std::uint64_t ticks) {
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

// Which events of different locations belong together: members of a collective operation, of a team, of a barrier.
//
// Thread-safety: none.
// A communicator's operations are numbered on each of its processes, as MPI requires them to be called in one order. A
// thread belongs to the team whose fork is open and has its communicator; the n-th barrier that a member enters is the
// team's n-th. Collective operations of windows, and those that do not block, are not put together here.
// Units: ticks of the archive. Ownership: shared with the events that belong to an instance.
// Memory: open instances, of a communicator kMaxPending at most, then the oldest ones remain incomplete.
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
  static constexpr std::size_t kMaxPending = 1 << 14;
  using Instance = std::shared_ptr<const CollectiveInstance>;

  explicit Collectives(const TraceDefinitions& definitions)
      : definitions_(definitions), comms_(definitions.comms.size()) {}
  // nullptr: the process is no member of such a communicator.
  Instance end(const TraceEvent& event, EventId id, const OpenRegion& call);

 private:
  const TraceDefinitions& definitions_;
  std::vector<CommOperations<std::shared_ptr<CollectiveInstance>>> comms_;
};

class Teams {
 public:
  explicit Teams(const TraceDefinitions& definitions)
      : open_(definitions.processes.size() + 1), threads_(definitions.locations.size()) {}

  using Instance = std::shared_ptr<const TeamInstance>;
  using Barrier = std::shared_ptr<const BarrierInstance>;

  Instance fork(ProcessId process, EventId id, std::uint64_t ticks);
  Instance join(ProcessId process, EventId id);
  Instance begin(ProcessId process, EventId id, std::uint32_t comm);
  Instance end(LocationId location);
  Instance of(LocationId location) const;  // nullptr: none
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
    LocationId master{kNone};
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

struct MessageEnd {
  EventId event;  // that sends, or completes the receive
  EventId enter;  // of the call
  std::uint64_t ticks = 0;
  std::uint64_t enter_ticks = 0;  // of the call
  std::uint64_t begun_ticks = 0;  // when it was posted: of a blocking call its enter
};

// Matched first in, first out by channel (message_matcher.h).
struct Message {
  MessageEnd send, receive;  // the other end: unknown until it was found
  std::uint64_t bytes = 0;
  std::uint32_t comm = kNone;
  std::uint32_t tag = 0;

  bool complete() const { return send.event.known() && receive.event.known(); }
};

// Of a request's events: the one that began it, and its neighbours.
struct RequestLinks {
  EventId begun;  // itself, if it begins
  std::uint64_t begun_ticks = 0;
  EventId before;  // the request's previous event
  EventId after;   // its next one
};

struct StatefulEvent {
  TraceEvent event;
  std::uint64_t number = 0;  // in its location
  bool of_iteration =
      false;  // begin or end of an iteration that Refrain marks: no region of the program
  bool in_region = false;
  // The innermost open region: of an Enter and a Leave their own. Without `in_region`: nothing.
  OpenRegion region;
  EventId leave;    // of an Enter: its Leave
  EventId partner;  // of a mark: its other one, of an iteration
  RequestLinks request;
  std::shared_ptr<const Message> message;
  std::shared_ptr<const CollectiveInstance> collective;
  std::shared_ptr<const TeamInstance> team;        // of which the thread is a member
  std::shared_ptr<const BarrierInstance> barrier;  // of its Enter and its Leave
  std::vector<ExtraValue> extras;

  EventId id() const { return {event.location, number}; }

 private:
  friend class EventWindow;
  OpenRegions::Stack stack = kNone;
};

class EventWindow final : public TraceSink {
 public:
  static constexpr std::size_t kMaxRequests = 1 << 16;  // open ones of a location

  explicit EventWindow(std::uint64_t before) : before_(before) {}
  ~EventWindow() override;
  EventWindow(const EventWindow&) = delete;
  EventWindow& operator=(const EventWindow&) = delete;

  base::Result<> begin(const TraceDefinitions& definitions) override;
  void event(const TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  // How many are read that next() has not handed out.
  std::uint64_t ahead() const { return order_.size(); }
  // In the order of time; nullptr: there is none.
  const StatefulEvent* next();
  const StatefulEvent* find(EventId id) const;
  // All open regions at an event of the window, the innermost one first.
  std::vector<OpenRegion> open_regions(const StatefulEvent& at) const;
  std::uint64_t memory() const;  // events and nodes of stacks that there is room for

 private:
  struct Location {
    ProcessId process{kNone};
    std::uint64_t first = 0;  // number of the front
    std::deque<StatefulEvent> events;
    struct Open {
      std::uint32_t region;
      OpenRegions::Stack stack;
    };
    base::RegionStack<Open> open;
    std::vector<std::pair<RegionId, EventId>> iterations;      // region, Enter
    std::unordered_map<std::uint64_t, RequestLinks> requests;  // `after`: the latest event
    std::unordered_map<std::uint64_t, std::shared_ptr<Message>> messages;  // by event
  };

  StatefulEvent* entry(EventId id);
  void enter(Location& at, StatefulEvent& event);
  void leave(Location& at, StatefulEvent& event);
  void iteration(Location& at, StatefulEvent& event);
  void request(Location& at, StatefulEvent& event, bool begins, bool ends);
  void message_end(Location& at, StatefulEvent& event, bool sends);
  void matched(const MatchedMessage& message);
  std::shared_ptr<Message> take_message(const MessageSide& side);
  void other(Location& at, StatefulEvent& event);

  std::uint64_t before_;
  const TraceDefinitions* definitions_ = nullptr;
  OpenRegions stacks_;
  std::vector<Location> locations_;
  std::deque<EventId> order_;
  std::unique_ptr<MessageMatcher> matcher_;
  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<Teams> teams_;
};

class TraceAccess {
 public:
  struct Window {
    std::uint64_t before = 1000;  // events of each location that stay
    std::uint64_t after = 1000;   // events of all locations that are read ahead
  };

  TraceAccess() : TraceAccess(Window{}) {}
  explicit TraceAccess(Window window) : after_(window.after), window_(window.before) {}

  base::Result<> open(const std::string& archive);
  const TraceDefinitions& definitions() const { return stream_.definitions(); }

  // The next event in the order of time; nullptr: there is none, or error() says why.
  const StatefulEvent* next();
  const std::string& error() const { return error_; }
  // nullptr: it is not in the window.
  const StatefulEvent* find(EventId id) const { return window_.find(id); }
  std::vector<OpenRegion> open_regions(const StatefulEvent& at) const {
    return window_.open_regions(at);
  }
  std::uint64_t memory() const { return window_.memory(); }

 private:
  std::uint64_t after_;
  EventWindow window_;
  ArchiveStream stream_;
  std::string error_;
  bool started_ = false;
  bool finished_ = false;
};

}  // namespace refrain::reader
