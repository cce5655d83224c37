// The messages of one process: its sends and receives, and which calls they complete in.
//
// Place in the flow: private to waits/. What the other side of a message needs is a notice: the sender says when its call
// began, the receiver answers when its receive was posted. joint_replay.h delivers mailbox between the processes of
// this analysis; nothing else of another process is looked at, so that they may as well be in different programs.
// Messages are matched first in, first out by channel (communicator, source, destination, tag), receives in the order in
// which they were posted. A receive waits for those posted before it, kMaxPosted at most, as in
// reader/message_matcher.h.
// Thread-safety: none. Units: ticks of the archive since its start.
// Memory: what is pending: open requests, messages in flight (kMaxPending a channel), calls whose messages are.
// Cost: O(1) a message, no allocation once pools have grown.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
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
  const std::vector<std::uint32_t>& ranks_of(std::uint32_t comm);

  const reader::TraceDefinitions& definitions_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      ranks_;  // by communicator and process
};

struct SendNotice {
  std::uint32_t comm = 0, tag = 0;
  ProcessId source{};        // process
  std::uint32_t ticket = 0;  // of the source, for the answer
  Ticks sent = 0;            // enter of the call that sends
  LocationId sender{};       // location
};

struct Answer {
  std::uint32_t ticket = 0;
  PostedReceive posted;  // enter 0: there is no receive
};

class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual void deliver(ProcessId process, const SendNotice& notice) = 0;
  virtual void deliver(ProcessId process, const Answer& answer) = 0;
};

class MessageEnds {
 public:
  static constexpr std::size_t kMaxPosted = 4096;
  static constexpr std::size_t kMaxPending = std::size_t{1} << 16;

  MessageEnds(ProcessId process, std::size_t threads, Mailbox& mailbox,
              PatternSet& patterns, Problems& problems, paths::WaitLog& log,
              GridSteps& grids)
      : process_(process),
        mailbox_(&mailbox),
        patterns_(&patterns),
        problems_(&problems),
        log_(&log),
        grids_(&grids),
        threads_(threads) {}

  // Events of a thread inside of a call that began at `enter`; `in_call`: left() comes for it.
  // A request of kNoRequest: it blocks.
  static constexpr std::uint64_t kNoRequest = ~std::uint64_t{0};
  void send(std::uint32_t thread, ProcessId to, const SendNotice& notice,
            std::uint64_t request, bool in_call);
  void send_complete(std::uint32_t thread, std::uint64_t request, bool in_call);
  void receive_posted(std::uint32_t thread, std::uint64_t request,
                      const PostedReceive& posted);
  void received(std::uint32_t thread, ProcessId source, std::uint32_t comm,
                std::uint32_t tag, std::uint64_t request, const PostedReceive& posted,
                bool in_call);
  void cancelled(std::uint32_t thread, std::uint64_t request);
  // Returns true if some message completes in the call that the thread is in.
  bool in_call(std::uint32_t thread) const { return threads_[thread].call != kNone; }
  void left(const Call& call, std::uint32_t thread) {
    if (threads_[thread].call != kNone) end_call(thread, call);
  }

  void take(const SendNotice& notice);
  void take(const Answer& answer);

  // At the end, for all processes one after the other: receives wait no longer for others; then what has no other end.
  void flush() { release(0); }
  void give_up();

 private:
  static constexpr std::uint32_t kDropped = kNone - 1;

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
  struct Key {
    std::uint32_t comm = 0;
    ProcessId source{};
    std::uint32_t tag = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      std::uint64_t mixed =
          (std::uint64_t{key.source} << 32 | key.tag) + key.comm * 0x9e3779b97f4a7c15ULL;
      mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9ULL;
      return static_cast<std::size_t>(mixed ^ mixed >> 27);
    }
  };
  struct Posted {
    Key channel;
    PostedReceive posted;
    std::uint32_t call = kNone;
    bool open = false;
    bool cancelled = false;
  };
  struct InFlight {
    Ticks sent = 0;
    std::uint32_t ticket = 0;
    LocationId sender{};
  };
  struct Waiting {
    PostedReceive posted;
    std::uint32_t call = kNone;
  };
  template <typename Item>
  struct Queue {
    std::vector<Item> items;
    std::size_t head = 0;
    std::size_t size() const { return items.size() - head; }
    void push(const Item& item) {
      if (head > 64 && 2 * head > items.size()) {
        items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(head));
        head = 0;
      }
      items.push_back(item);
    }
    Item pop() {
      const Item item = items[head++];
      if (head == items.size()) {
        items.clear();
        head = 0;
      }
      return item;
    }
  };
  struct Channel {
    ProcessId source{};
    GridStep step = {};
    Queue<InFlight> sends;
    Queue<Waiting> receives;
  };
  struct Thread {
    std::uint32_t call = kNone;  // record of the call that it is in
    base::FlatMap<std::uint64_t, std::uint32_t> sends, receives;  // by request
  };

  void end_call(std::uint32_t thread, const Call& call);
  std::uint32_t record_of(std::uint32_t thread);
  std::uint32_t new_sent();
  Posted* find_posted(std::uint32_t number);
  void release(std::size_t most);
  Channel& channel_of(const Key& key);
  void arrived(const InFlight& send, const Waiting& receive, const Channel& channel);
  void without_send(const Waiting& receive);
  void hand_out();  // calls that have all their messages, in their order
  void try_finish(std::uint32_t record);
  void note_late_sender(const CallRecord& record, Ticks wait);
  void note_late_receiver(const CallRecord& record, Ticks wait);

  ProcessId process_;
  Mailbox* mailbox_;
  PatternSet* patterns_;
  Problems* problems_;
  paths::WaitLog* log_;
  GridSteps* grids_;
  std::uint64_t sends_ = 0;
  std::vector<Thread> threads_;
  std::deque<CallRecord> records_;
  std::vector<std::uint32_t> free_records_;
  std::vector<Sent> sent_;
  std::vector<std::uint32_t> free_sent_;
  std::deque<Posted> posted_;
  std::uint32_t first_posted_ = 0;  // number of the front, modulo 2^32
  std::deque<Channel> channels_;
  std::unordered_map<Key, std::uint32_t, Hash> channel_numbers_;
  std::deque<std::uint32_t> receiving_;  // records, in the order in which they were left
};

}  // namespace refrain::waits
