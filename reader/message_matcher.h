// Matches the two ends of each message: first in, first out in a channel (source,
// destination, communicator, tag), as MPI delivers: in the order in which sends and
// receives were posted, whatever the order in which receives complete.
//
// Place in the flow: ARCHITECTURE.md, stage 7, used by the sinks that draw messages and by trace_access.h.
// Shapes: events in the order of their times; the receive may come before the send
// (clocks). Units: nanoseconds.
// Times: a send is posted, and done when its call returns or the message arrives, whichever
// comes first (MpiIsendComplete, which frees its buffer, may come long after); a receive is
// posted (MpiIrecvRequest, or the start of the blocking call) and completes.
// A receive waits for those that its process posted before, because one of them may be of
// its channel; for kMaxPosted of them at most, then the later ones go first.
// Thread-safety: none.
// Cost: O(1) a message; memory for messages in flight.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "reader/trace.h"

namespace refrain::reader {

struct MessageSide {
  LocationId location{};
  std::uint64_t posted_ns = 0;
  std::uint64_t done_ns = 0;
  std::uint64_t number =
      0;  // of the event that sends or completes, as the caller counts them
};

struct MatchedMessage {
  MessageSide send, receive;
  std::uint64_t bytes = 0;
  std::uint32_t tag = 0;
};

class MessageMatcher {
 public:
  static constexpr std::size_t kMaxPosted = 4096;

  using Found = std::function<void(const MatchedMessage&)>;
  MessageMatcher(const TraceDefinitions& definitions, Found found);

  // kMpiSend or kMpiIsend
  void send(const TraceEvent& event, std::uint64_t number = 0);
  // The call in which a location's latest sends were made returns.
  void send_call_left(LocationId location, std::uint64_t ns);
  void receive_posted(const TraceEvent& event);  // kMpiIrecvRequest
  void cancelled(const TraceEvent& event);
  // kMpiRecv or kMpiIrecv; `call_begin_ns`: of the blocking call.
  void receive(const TraceEvent& event, std::uint64_t call_begin_ns,
               std::uint64_t number = 0);
  // At the end: receives wait no longer.
  void flush();

  std::uint64_t unmatched_sends() const noexcept { return unmatched_sends_; }
  std::uint64_t unmatched_receives() const noexcept { return unmatched_receives_; }
  std::uint64_t unknown() const noexcept { return unknown_; }  // ends without a channel

 private:
  struct Channel {
    std::uint32_t source, destination, comm, tag;
    bool operator==(const Channel&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Channel& c) const noexcept;
  };
  struct Waiting {
    MessageSide side;
    std::uint64_t bytes = 0;
    std::uint64_t number = 0;  // 0: free
    std::uint32_t next = kNone;
  };
  struct Queue {
    std::uint32_t first = kNone, last = kNone;
    bool of_sends = true;
  };
  struct OpenSend {
    std::uint32_t waiting;
    std::uint64_t number;
  };
  struct Posted {
    bool open = true;    // not complete
    bool known = false;  // its channel is known
    Channel channel{};
    MessageSide side;
    std::uint64_t bytes = 0;
  };
  struct Process {  // its receives by posting, from the oldest incomplete one on
    std::deque<Posted> posted;
    std::uint64_t first = 0;  // number of posted.front()
  };

  bool channel_of(const TraceEvent& event, bool is_send, Channel& channel);
  Posted* find_posted(LocationId location, std::uint64_t request);
  void release(Process& process, std::size_t most);
  void match(const Channel& channel, bool is_send, const MessageSide& side,
             std::uint64_t bytes);
  std::uint32_t keep(const MessageSide& side, std::uint64_t bytes);

  const TraceDefinitions& definitions_;
  Found found_;
  std::unordered_map<Channel, Queue, Hash> queues_;  // without empty ones
  std::vector<Waiting> pool_;
  std::uint32_t free_ = kNone;
  std::vector<std::vector<OpenSend>> open_sends_;  // by location, of the running call
  std::vector<Process> processes_;
  std::vector<std::unordered_map<std::uint64_t, std::uint64_t>> requests_;  // by location
  std::uint64_t next_number_ = 1;
  std::uint64_t unmatched_sends_ = 0, unmatched_receives_ = 0, unknown_ = 0;
};

}  // namespace refrain::reader
