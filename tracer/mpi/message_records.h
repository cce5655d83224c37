// Records of messages and of requests, and their counters and tables.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Between the meanings (p2p.h, completion.h,
// collective.h, ...) and the recorder.
// Thread-safety: any thread. Cost: no allocation but where a table grows.
#pragma once

#include <cstdint>

#include "base/hot_data.h"
#include "tracer/mpi/call.h"
#include "tracer/mpi/message_tables.h"
#include "tracer/mpi/mpi_header.h"
#include "tracer/mpi/threads.h"

namespace refrain::mpi {

// The process' own; under TablesLock. Never destroyed. Made when tracing starts, not when the library
// is loaded, which must need no memory: throws std::bad_alloc.
void make_tables();
struct Tables {
  ChannelCounters sent;
  ChannelCounters received;
  PostingOrder posted;  // of receives
  RequestTable requests;
  RequestTable matched;  // messages that a matched probe has found
};
extern base::Undestroyed<Tables> g_tables_room;
inline Tables& g_tables = g_tables_room.object;

inline std::uint64_t tag_and_request(int tag, std::uint32_t request) noexcept {
  return static_cast<std::uint32_t>(tag) | std::uint64_t{request} << 32;
}
inline std::uint64_t comm_and_rank(std::uint16_t comm, int rank) noexcept {
  return std::uint64_t{comm} << 32 | static_cast<std::uint32_t>(rank);
}

// Limited to 48 bits.
inline std::uint64_t saturated(std::uint64_t value) noexcept {
  return value < spool::kAddressMask ? value : spool::kAddressMask;
}

// A message goes out: counts it and records it. `request` 0: blocking. Its number.
inline std::uint64_t record_send(Call& call, std::uint8_t mode, std::uint16_t comm,
                                 int dest, int tag, std::uint64_t bytes,
                                 std::uint32_t request) noexcept {
  std::uint64_t number;
  {
    const TablesLock lock;
    number = g_tables.sent.next(comm, dest, tag);
  }
  call.put_at_enter(spool::kMpiSend, tag_and_request(tag, request), mode,
                    comm_and_rank(comm, dest), number, bytes);
  return number;
}

// A message has come; its number is known.
inline void record_receive(Call& call, std::uint16_t comm, int source, int tag,
                           std::uint64_t number, std::uint64_t bytes,
                           std::uint32_t request) noexcept {
  call.put_at_leave(spool::kMpiRecv, tag_and_request(tag, request), 0,
                    comm_and_rank(comm, source), number, bytes);
}

// A receive is posted, or has its message, of this channel: its number.
inline std::uint64_t count_receive(std::uint16_t comm, int source, int tag) noexcept {
  const TablesLock lock;
  if (!g_tables.posted.idle()) [[unlikely]]
    g_tables.posted.post({comm, source, tag});
  return g_tables.received.next(comm, source, tag);
}

// Returns true if a receive is open. Takes TablesLock; cost: linear in the size of the table of requests.
bool receives_open() noexcept;

// Operations of requests begin: makes the entry's id, counts, records.
void begin_send(Call& call, Request& request) noexcept;
void begin_receive(Call& call, Request& request) noexcept;
void begin_collective(Call& call, Request& request) noexcept;
void begin(Call& call, Request& request) noexcept;

// Receives of which no message is recorded, so that the message has one end.
enum class NotReceived { kFreed, kFailed };
void count_not_received(NotReceived why) noexcept;
// Before MPI ends, reports them to the journal, with those that are not complete yet.
void report_not_received() noexcept;

// A receive has failed: its buffer was too small. It has taken the message all the same.
bool is_truncation(int result) noexcept;
void fail_receive(std::uint16_t comm, int source, int tag) noexcept;
// The operation of `handle`, that lay at `place`, has failed with `result`.
void fail(Handle handle, const MPI_Request* place, const MPI_Status& status,
          int result) noexcept;

// Payload of a collective that begins on `comm`; counts it.
inline std::uint64_t collective_payload(const Communicator& comm,
                                        std::uint32_t request) noexcept {
  return std::uint64_t{request} << 32 |
         std::uint64_t{comm.next_collective() & 0x7fffffff} << 1 |
         (comm.worldwide ? spool::kMpiWorldwide : 0);
}

// A receive of any source or tag ends without a message, or it is not known which it got.
void drop_receive(const Request& request) noexcept;

// Enters a request whose operation has begun (or, persistent, waits for its start).
void keep_request(const MPI_Request* handle, const Request& request) noexcept;

// The operation of `handle`, that lay at `place`, is complete.
void complete(Call& call, Handle handle, const MPI_Request* place,
              const MPI_Status& status) noexcept;

// A collective over all processes is complete, or, of those that do not block, has begun.
inline void pass_anchor(Call& call) noexcept {
  if (call.is_primary()) runtime::g_session->gate_journal().pass_anchor();
}
// Likewise, in a call that ends then.
inline void pass_meeting(Call& call) noexcept {
  if (call.is_primary()) runtime::g_session->meet(call.leave_ticks());
}

}  // namespace refrain::mpi
