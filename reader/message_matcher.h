// Matches the two ends of each message: first in, first out in a channel (source,
// destination, communicator, tag), as MPI delivers: in the order in which sends and
// receives were posted, whatever the order in which receives complete.
//
// Place in the flow: ARCHITECTURE.md, stages 6 and 7: used by all who need both ends of messages.
// Shapes: events in the order of their times; the receive may come before the send
// (clocks). What a side holds is its owner's: times in any unit, and a number.
// A receive waits for those that its process posted before, because one of them may be of
// its channel; for kMaxPosted of them at most, then the later ones go first. Of a channel kMaxPending ends wait for
// their other ends, then the oldest one has none.
// Thread-safety: none.
// Cost: O(1) a message, no allocation once tables have grown; memory for messages in flight.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "reader/trace.h"

namespace refrain::reader {

struct MessageChannel {
  ProcessId source{}, destination{};
  std::uint32_t comm = 0, tag = 0;
  bool operator==(const MessageChannel&) const = default;
};

struct MessageSide {
  static constexpr std::uint64_t kRunning = ~std::uint64_t{0};

  LocationId location{};
  std::uint64_t posted = 0;  // of a receive by request: as it was given when it was posted
  std::uint64_t done = 0;    // of a send kRunning: when its call returns, send_call_left()
  std::uint64_t bytes = 0;
  std::uint64_t number =
      0;  // of the event that sends or completes, or what else the owner wants
};

struct MatchedMessage {
  MessageChannel channel;
  MessageSide send, receive;
};

// The receives of each process in the order in which they were posted, which is that in which channels get them.
//
// Works on events of each process in their order. Thread-safety: none.
class PostedReceives {
 public:
  static constexpr std::size_t kMaxPosted = 4096;

  // One goes to its channel, or has none: nothing can be sent to it.
  using Released =
      std::function<void(const std::optional<MessageChannel>&, const MessageSide&)>;
  PostedReceives(const TraceDefinitions& definitions, Released released);

  void posted(std::uint64_t request, const MessageSide& side);
  void cancelled(LocationId location, std::uint64_t request);
  // Without a request it blocks. Returns true if it was posted before: `posted` is that side's then.
  bool received(std::optional<std::uint64_t> request,
                const std::optional<MessageChannel>& channel, const MessageSide& side);
  // At the process' end: none waits for others.
  void flush(ProcessId process) { release(processes_[process], 0); }

 private:
  struct Posted {
    bool open = false;  // not complete
    std::optional<MessageChannel> channel{};
    MessageSide side;
  };
  struct Process {  // its receives by posting, from the oldest incomplete one on
    std::deque<Posted> posted;
    std::uint64_t first = 0;  // number of posted.front()
  };

  Process& process_of(LocationId location) {
    return processes_[definitions_.locations[location].process];
  }
  Posted* take(LocationId location, std::uint64_t request);
  void release(Process& process, std::size_t most);

  const TraceDefinitions& definitions_;
  Released released_;
  std::vector<Process> processes_;
  // By location: numbers of receives.
  std::vector<base::FlatMap<std::uint64_t, std::uint64_t>> requests_;
};

class MessageMatcher {
 public:
  static constexpr std::size_t kMaxPosted = PostedReceives::kMaxPosted;
  static constexpr std::size_t kMaxPending = std::size_t{1} << 16;
  static constexpr std::size_t kMaxEmpty = 4096;  // channels without a message

  using Found = std::function<void(const MatchedMessage&)>;
  // An end without another one: too many wait, or it is the end of the archive.
  using Lone = std::function<void(const MessageChannel&, const MessageSide&, bool sends)>;
  // A posted receive that gets no message: it was cancelled, or its channel is not known.
  using Dropped = std::function<void(const MessageSide&)>;
  explicit MessageMatcher(const TraceDefinitions& definitions, Found found, Lone lone = {},
                          Dropped dropped = {});

  // An event of a message or request; others do nothing, nor do uncertain ones.
  void event(const TraceEvent& event, const MessageSide& side);
  // The same with the times of the event: a side is posted and done at it, but a receive that blocks is posted when its call
  // begins, and a send is done when its call returns.
  void event(const TraceEvent& event, std::uint64_t call_begin_ns);

  void send(const MessageChannel& channel, const MessageSide& side) {
    match(channel, true, side);
  }
  // The call in which a location's latest sends were made returns. (MpiIsendComplete, which frees a buffer, may come
  // long after.)
  void send_call_left(LocationId location, std::uint64_t time);
  void receive_posted(std::uint64_t request, const MessageSide& side) {
    posted_.posted(request, side);
  }
  void cancelled(LocationId location, std::uint64_t request) {
    posted_.cancelled(location, request);
  }
  // Without a request it blocks. Without a channel nothing can be sent to it. Returns true if it was posted before.
  bool received(std::optional<std::uint64_t> request,
                const std::optional<MessageChannel>& channel, const MessageSide& side) {
    return posted_.received(request, channel, side);
  }
  // A receive of which somebody else has found that it is its channel's next one.
  void next_receive(const MessageChannel& channel, const MessageSide& side) {
    match(channel, false, side);
  }
  // At the end: receives wait no longer for others; then what is left has no other end.
  void flush();
  // The same in two steps, process by process: of all the first one, then of all the second one.
  void flush(ProcessId process) { posted_.flush(process); }
  void lone_of(ProcessId process);
  // Receives that their channels have got until now.
  std::uint64_t released() const noexcept { return released_; }

  std::uint64_t unmatched_sends() const noexcept { return unmatched_sends_; }
  std::uint64_t unmatched_receives() const noexcept { return unmatched_receives_; }
  std::uint64_t unknown() const noexcept { return unknown_; }  // ends without a channel

 private:
  struct Waiting {
    MessageSide side;
    std::uint64_t number = 0;  // 0: free
    std::uint32_t next = kNone;
  };
  struct Queue {
    std::uint32_t first = kNone, last = kNone, size = 0;
    bool of_sends = true;
  };
  struct OpenSend {
    std::uint32_t waiting;
    std::uint64_t number;
  };
  using Left = std::vector<std::pair<MessageChannel, Queue>>;

  std::optional<MessageChannel> channel_of(const TraceEvent& event, bool is_send);
  void match(const MessageChannel& channel, bool is_send, const MessageSide& side);
  void wait(const MessageChannel& channel, Queue& queue, const MessageSide& side);
  MessageSide pop(Queue& queue);
  void drop_empty();
  void take_left(const std::function<std::uint32_t(const MessageChannel&, bool)>& process);
  void hand_out(const MessageChannel& channel, Queue& queue);

  const TraceDefinitions& definitions_;
  Found found_;
  Lone lone_;
  Dropped dropped_;
  PostedReceives posted_;
  base::FlatMap<MessageChannel, Queue> queues_;
  std::size_t most_queues_ = kMaxEmpty;  // more: the empty ones are dropped
  std::vector<Waiting> pool_;
  std::uint32_t free_ = kNone;
  std::vector<std::vector<OpenSend>> open_sends_;  // by location: of the running call
  std::optional<Left> left_;                       // at the end, by whose they are
  std::uint64_t next_number_ = 1;
  std::uint64_t released_ = 0;
  std::uint64_t unmatched_sends_ = 0, unmatched_receives_ = 0, unknown_ = 0;
};

}  // namespace refrain::reader
