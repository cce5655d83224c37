// Messages: which calls their sends and receives complete in, and what these waited for.
//
// Place in the flow: private to waits/: of joint_replay.h. Ends are matched by reader/message_matcher.h. A call is handed to
// the patterns when all messages that complete in it have their other ends; of a process in the order in which such calls
// are left.
// Thread-safety: none. Units: ticks of the archive since its start.
// Memory: what is pending: open requests, messages in flight, calls whose messages are.
// Cost: O(1) a message, no allocation once pools have grown.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "reader/communicators.h"
#include "reader/message_matcher.h"
#include "reader/trace.h"
#include "waits/metrics/pattern.h"
#include "waits/paths/recorder.h"
#include "waits/replay/replay_state.h"

namespace refrain::waits {

// Which way messages go on a Cartesian communicator.
//
// Thread-safety: none. Source: MPI: ranks lie row by row. Cost: a table of the members for each Cartesian
// communicator that has messages.

class GridSteps {
 public:
  explicit GridSteps(const reader::TraceDefinitions& definitions)
      : definitions_(definitions) {}

  // Of two or three dimensions that are not periodic, from one neighbour to the other; else no step.
  GridStep step(std::uint32_t comm, ProcessId sender, ProcessId receiver);

 private:
  const reader::TraceDefinitions& definitions_;
  std::unordered_map<std::uint32_t, reader::CommMembers> members_;  // by communicator
};

// An end of a message, or of a request. `process` has it, inside of a call that began at `enter`; `in_call`: left() comes
// for it.
struct MessageStep {
  reader::EventKind kind = reader::EventKind::kUnknown;
  bool in_call = false;
  ProcessId process{};
  LocationId location{};
  ProcessId partner{kNone};  // process; kNone: it is not known, or has none
  std::uint32_t comm = 0, tag = 0;
  std::uint64_t request = 0;
  Ticks enter = 0;
};

// Calls that send messages or post receives: when they begin and end, for as long as one of their messages asks.
//
// Thread-safety: none. Memory: calls of pending messages. Cost: O(1), no allocation once the pool has grown.
class MessageCalls {
 public:
  explicit MessageCalls(std::size_t locations) : running_(locations, kNone) {}

  // The one that the location is in, entered then. Outside of calls it is one without an end. Once more in use.
  std::uint32_t of(LocationId location, Ticks enter, bool in_call);
  // One that has ended.
  std::uint32_t ended(Ticks enter, Ticks leave) { return make(enter, leave, 1); }
  // The location leaves the call that it entered then. `leave`: 0, where nobody shall know.
  void left(LocationId location, Ticks enter, Ticks leave);
  bool is_running(std::uint32_t call, LocationId location) const {
    return running_[location] == call;
  }
  Ticks enter(std::uint32_t call) const { return calls_[call].enter; }
  // 0: it has not ended, or nobody shall know.
  Ticks leave(std::uint32_t call) const { return calls_[call].leave; }
  void release(std::uint32_t call);

 private:
  struct Times {
    Ticks enter = 0, leave = 0;
    std::uint32_t uses = 0;
  };
  std::uint32_t make(Ticks enter, Ticks leave, std::uint32_t uses);

  std::vector<std::uint32_t> running_;  // by location
  std::vector<Times> calls_;
  std::vector<std::uint32_t> free_;
};

// An end of a message of a process that another reader replays, for the reader that has the other end.
struct RemoteEnd {
  reader::MessageChannel channel;
  LocationId location{};
  bool in_call = false;  // which may not have ended: then remote_left() comes
  Ticks enter = 0;       // of the call that sends, or posts the receive
  Ticks leave = 0;       // if it has ended
};

class MessageEnds {
 public:
  MessageEnds(const reader::TraceDefinitions& definitions, PatternSet& patterns,
              Problems& problems, paths::Notes& log)
      : patterns_(patterns),
        problems_(problems),
        log_(log),
        grids_(definitions),
        matcher_(
            definitions, [this](const reader::MatchedMessage& each) { matched(each); },
            [this](const reader::MessageChannel&, const reader::MessageSide& side,
                   bool sends) { lone(side, sends); },
            [this](const reader::MessageSide& side) { calls_.release(call_of(side)); }),
        calls_(definitions.locations.size()),
        processes_(definitions.processes.size()),
        threads_(definitions.locations.size()) {}

  void step(const MessageStep& step);
  // Returns true if some message completes in the call that the location is in.
  bool in_call(LocationId location) const { return threads_[location].call != kNone; }
  void left(const Call& call) {
    calls_.left(call.location, call.enter, call.synchronises ? call.leave : 0);
    if (in_call(call.location)) end_call(call);
  }
  // Ends of other readers' processes, in the order of all. Of receives: as their channels get them.
  void remote_send(const RemoteEnd& end);
  void remote_receive(const RemoteEnd& end);
  // The call of such ends is left. `leave`: 0, where nobody shall know.
  void remote_left(LocationId location, Ticks enter, Ticks leave) {
    calls_.left(location, enter, leave);
  }
  // The process is at its end: its receives wait for no others. After that of all, what has no other end has none.
  void flush(ProcessId process) {
    released_ = matcher_.released();
    matcher_.flush(process);
  }
  void alone(ProcessId process) { matcher_.lone_of(process); }

 private:
  static constexpr std::size_t kMaxPending = std::size_t{1} << 16;  // calls of a process
  static constexpr std::uint32_t kDropped = kNone - 1;
  static constexpr std::uint32_t kRemote = kNone - 1;  // number of another reader's end

  struct CallRecord {
    Call call;
    std::vector<Received> received;
    std::vector<PostedReceive> posted;  // of those to whom it sends
    std::uint32_t open_receives = 0;
    std::uint32_t open_sends = 0;
    bool left = false;
    bool receives = false;
    bool receives_done = false;
    bool late_sender = false;
    std::uint64_t sends_before = 0;
  };
  struct Sent {
    PostedReceive posted;
    std::uint32_t call = kNone;  // in which it completes
    bool answered = false;
  };
  struct Process {
    std::uint64_t sends = 0;
    std::deque<std::uint32_t> receiving;  // records, in the order in which they were left
  };
  struct Thread {
    std::uint32_t call = kNone;                         // record of the call that it is in
    base::FlatMap<std::uint64_t, std::uint32_t> sends;  // by request
  };

  static std::uint32_t record_of(const reader::MessageSide& side) {
    return side.number == kRemote ? kNone : static_cast<std::uint32_t>(side.number);
  }
  static std::uint32_t call_of(const reader::MessageSide& side) {
    return static_cast<std::uint32_t>(side.posted);
  }
  void send(const MessageStep& step);
  void send_complete(const MessageStep& step);
  void received(const MessageStep& step);
  void end_call(const Call& call);
  std::uint32_t record_of(LocationId location);
  std::uint32_t new_sent();
  void drop(std::uint32_t sent);
  void matched(const reader::MatchedMessage& message);
  void lone(const reader::MessageSide& side, bool sends);
  void answered(std::uint32_t sent, const PostedReceive& posted);  // enter 0: no receive
  void complete(std::uint32_t record);                             // one of its receives is
  void hand_out(Process& process);  // calls that have all their messages, in their order
  void try_finish(std::uint32_t record);
  void note_late_sender(const CallRecord& record, Ticks wait);
  void note_late_receiver(const CallRecord& record, Ticks wait);

  PatternSet& patterns_;
  Problems& problems_;
  paths::Notes& log_;
  GridSteps grids_;
  // Sides are posted in a call of calls_; number: of a send in sent_, of a receive its record.
  reader::MessageMatcher matcher_;
  MessageCalls calls_;
  std::uint64_t released_ = 0;  // receives, before the step
  std::vector<Process> processes_;
  std::vector<Thread> threads_;  // by location
  std::deque<CallRecord> records_;
  std::vector<std::uint32_t> free_records_;
  std::vector<Sent> sent_;
  std::vector<std::uint32_t> free_sent_;
};

}  // namespace refrain::waits
