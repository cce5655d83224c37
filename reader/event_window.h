// Events with their state, in a window that moves over an archive: what is open, and which events belong together.
//
// Place in the flow: a sink of archive_stream.h; trace_access.h moves it. Patterns of one's own and Python read through
// it. Source: Wolf et al., section 4.1 (EARL: events at random, state, pointers between events).
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
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "reader/instances.h"
#include "reader/message_matcher.h"
#include "reader/trace_sink.h"
#include "reader/window_regions.h"

namespace refrain::reader {

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
  static constexpr std::size_t kMostRequests = 1 << 16;  // open ones of a location

  explicit EventWindow(std::uint64_t before) : before_(before) {}
  ~EventWindow() override;
  EventWindow(const EventWindow&) = delete;
  EventWindow& operator=(const EventWindow&) = delete;

  std::string begin(const TraceDefinitions& definitions) override;
  void event(const TraceEvent& event) override;
  std::string error() const override { return {}; }
  std::string finish(std::uint64_t end_ns) override;

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
    std::uint32_t process = kNone;
    std::uint64_t first = 0;  // number of the front
    std::deque<StatefulEvent> events;
    OpenRegions::Stack stack = kNone;
    std::vector<std::pair<std::uint32_t, EventId>> iterations;  // region, Enter
    std::unordered_map<std::uint64_t, RequestLinks> requests;   // `after`: the latest event
    std::unordered_map<std::uint64_t, std::shared_ptr<Message>> messages;  // by event
  };

  StatefulEvent* entry(EventId id);
  void enter(Location& at, StatefulEvent& event);
  void leave(Location& at, StatefulEvent& event);
  void iteration(Location& at, StatefulEvent& event);
  void request(Location& at, StatefulEvent& event, bool begins, bool ends);
  void message_end(Location& at, StatefulEvent& event, bool sends);
  void matched(const MatchedMessage& message);
  void other(Location& at, StatefulEvent& event);
  void pop(Location& at);

  std::uint64_t before_;
  const TraceDefinitions* definitions_ = nullptr;
  OpenRegions stacks_;
  std::vector<Location> locations_;
  std::deque<EventId> order_;
  std::unique_ptr<MessageMatcher> matcher_;
  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<Teams> teams_;
};

}  // namespace refrain::reader
