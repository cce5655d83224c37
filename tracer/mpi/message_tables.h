// What is known of the program's messages and requests: numbers, order, handles.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "tracer/mpi/communicators.h"

namespace refrain::mpi {

// Set when a table of messages, requests or communicators could not grow: no memory.
//
// Numbers of messages, and identities of communicators, follow from those before: from there on they are
// not what other processes have, and that is reported to the journal before it is closed (kTextTaken).
// Thread-safety: any thread.
inline std::atomic<bool> g_tables_failed{false};

// Numbers the messages of each channel.
//
// Place in the flow: ARCHITECTURE.md, stage 2. A channel is source, destination, communicator and
// tag; this process is one of its ends, so a counter is found by the other end, the
// communicator's number, the tag and whether messages go out or come in.
//
// Thread-safety: none; see threads.h. Units: messages. Cost: one look-up in a table that is
// as large as the channels that the program uses (16 bytes each, half of it empty); allocates
// when it grows.

class ChannelCounters {
 public:
  ChannelCounters() : slots_(kLeastSlots) {}

  // The number of the next message, from 0; counts it.
  std::uint64_t next(std::uint16_t comm, int peer, int tag) noexcept {
    Slot* slot = find(comm, peer, tag);
    if (slot->comm_and_count == kEmpty) [[unlikely]]
      slot = open(comm, peer, tag);
    return slot == nullptr ? 0 : slot->comm_and_count++ & kCountMask;
  }

  // The message with this number was never sent (received): if it was the channel's last, its
  // number goes to the next one. Returns true if it was.
  bool take_back(std::uint16_t comm, int peer, int tag, std::uint64_t number) noexcept {
    Slot* slot = find(comm, peer, tag);
    if (slot->comm_and_count == kEmpty || (slot->comm_and_count & kCountMask) != number + 1)
      return false;
    --slot->comm_and_count;
    return true;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  static constexpr unsigned kCommShift = 48;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCommShift) - 1;

  static constexpr std::size_t kLeastSlots = 16;

  struct Slot {
    std::uint64_t peer_and_tag = 0;
    std::uint64_t comm_and_count = kEmpty;
  };

  static std::uint64_t key(int peer, int tag) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(peer)} << 32 |
           static_cast<std::uint32_t>(tag);
  }
  static std::size_t hash(std::uint16_t comm, std::uint64_t key) noexcept {
    const std::uint64_t h = (key ^ std::uint64_t{comm} << 20) * 0x9E3779B97F4A7C15u;
    return h >> 32;
  }
  // The channel's slot, or the empty one where it would be.
  Slot* find(std::uint16_t comm, int peer, int tag) noexcept {
    const std::uint64_t k = key(peer, tag);
    Slot* const slots = slots_.data();
    const std::size_t mask = mask_;
    for (std::size_t at = hash(comm, k) & mask;; at = (at + 1) & mask) {
      Slot& slot = slots[at];
      if (slot.comm_and_count == kEmpty ||
          (slot.peer_and_tag == k && slot.comm_and_count >> kCommShift == comm))
        return &slot;
    }
  }
  // Null if there is no memory.
  Slot* open(std::uint16_t comm, int peer, int tag) noexcept;

  // No AppendOnlyMap: it grows.
  std::vector<Slot> slots_;  // a power of two
  std::size_t mask_ = kLeastSlots - 1;
  std::size_t used_ = 0;
};

// In which order receives of a channel were posted, where they are numbered in another.
//
// Place in the flow: ARCHITECTURE.md, stage 2. MPI gives the messages
// of a channel to the receives that take them in the order in which these were posted. A
// receive of any source or tag can be numbered only when it is known what it got, and by then
// receives that were posted after it may have numbers, which may be in the spool. This says by
// how many it comes late; that is reported to the journal (kTextNumbers), and the writer corrects
// the numbers (spool/mpi_journal.h).
//
// Thread-safety: none; see threads.h.
// Cost: nothing while no receive of any source or tag is open. Else a search among the channel's
// receives since the oldest that is, and memory: 8 bytes each, of the latest kMax of a channel.
// Without memory, or where more are posted, the order is not corrected.

// The other end of a channel to this process.
struct ChannelEnd {
  std::uint16_t comm = 0;
  int peer = 0;
  int tag = 0;
  auto operator<=>(const ChannelEnd&) const = default;
};

class PostingOrder {
 public:
  static constexpr std::size_t kMax = 4096;

  // No receive of any source or tag is open.
  bool idle() const noexcept { return open_.empty(); }

  // A receive of any source or tag is posted. Its place in the order, never 0; 0: no memory.
  std::uint64_t open() noexcept;
  // A receive of this channel is posted, and has the channel's next number.
  void post(const ChannelEnd& channel) noexcept;
  // That of this place took a message of the channel, and has its next number. How many of the
  // channel's receives with numbers were posted after it.
  std::uint64_t close(std::uint64_t place, const ChannelEnd& channel) noexcept;
  // That of this place takes no message.
  void drop(std::uint64_t place) noexcept;

 private:
  void make_room(std::vector<std::uint64_t>& places) const noexcept;

  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> open_;                          // places, ascending
  std::map<ChannelEnd, std::vector<std::uint64_t>> posted_;  // likewise; of those numbered
};

// What is known of the program's requests, found by their handles.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Calls that make requests enter them here, calls
// that complete them take them out.
//
// Several requests may share a handle: MPICH and Open MPI give the same one to all operations that are complete
// at once. Of those with one handle the one at the same place in the program's memory is taken,
// else the oldest.
//
// Thread-safety: none; see threads.h. Ownership: entries are the table's, valid until removed.
// Cost: a look-up in a table as large as the requests that are open; allocates when it grows.

enum class RequestKind : std::uint8_t {
  kNothing,  // nothing will be recorded of it: no partner, or not ours to record
  kSend,
  kReceive,
  kSendReceive,  // send_id and the receive
  kCollective,
  kIo,
};

struct Request {
  RequestKind kind = RequestKind::kNothing;
  std::uint8_t sub = 0;  // MpiMode or MpiCollective
  bool persistent = false;
  bool active = true;      // persistent ones: since their start
  bool any = false;        // receive of any source or any tag: not numbered yet
  bool cancelled = false;  // asked to be
  std::uint16_t comm = kNoCommunicator;
  int peer = 0;  // or root
  int tag = 0;
  std::uint32_t id = 0;  // in the process; persistent ones get a new one at each start
  std::uint32_t send_id = 0;
  std::uint64_t number = 0;             // in its channel; if `any`: place in PostingOrder
  std::uint64_t bytes = 0;              // sent
  std::uint64_t received_bytes = 0;     // of collectives and kSendReceive
  const Communicator* group = nullptr;  // of collectives

  // The table's.
  Handle handle = kNoHandle;
  const void* place = nullptr;
  Request* next = nullptr;  // of the same handle, younger
};

class RequestTable {
 public:
  RequestTable() : slots_(256) {}

  // Null if there is no memory.
  Request* add(Handle handle, const void* place, const Request& request) noexcept;
  Request* find(Handle handle, const void* place) noexcept;
  void remove(Request* request) noexcept;
  std::size_t size() const noexcept { return size_; }
  // Those that `is` says it of.
  template <typename Is>
  std::uint64_t count(Is is) const noexcept {
    std::uint64_t found = 0;
    for (const Slot& slot : slots_)
      for (const Request* at = slot.first; at != nullptr; at = at->next) found += is(*at);
    return found;
  }

  // 0 means "blocking".
  std::uint32_t next_id() noexcept {
    if (++last_id_ == 0) ++last_id_;
    return last_id_;
  }

 private:
  static constexpr int kMaxLookedAt = 16;  // of one handle
  struct Slot {
    Request* first = nullptr;  // oldest
    Request* last = nullptr;
  };
  std::size_t slot_of(Handle handle) const noexcept {
    return (handle * 0x9E3779B97F4A7C15u >> 32) & (slots_.size() - 1);
  }
  // The handle's slot, or the empty one where it would be.
  std::size_t find_slot(Handle handle) const noexcept {
    std::size_t at = slot_of(handle);
    while (slots_[at].first != nullptr && slots_[at].first->handle != handle)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow();
  void close_slot(std::size_t at) noexcept;

  // No AppendOnlyMap: requests are removed.
  std::vector<Slot> slots_;  // a power of two
  std::size_t used_ = 0;     // slots
  std::size_t size_ = 0;     // requests
  std::deque<Request> pool_;
  Request* free_ = nullptr;
  std::uint32_t last_id_ = 0;
};

}  // namespace refrain::mpi
