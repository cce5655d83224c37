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
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "tracer/mpi/communicators.h"

namespace refrain::mpi {

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
