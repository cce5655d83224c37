#include "tracer/mpi/message_records.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <new>

#include "base/hot_data.h"
#include "tracer/mpi/mpi_header.h"

#pragma weak PMPI_Error_class

namespace refrain::mpi {

using runtime::g_session;
using runtime::t_thread;

alignas(64) constinit REFRAIN_HOT_DATA base::Undestroyed<Tables> g_tables_room;

void make_tables() { new (&g_tables_room.object) Tables; }

bool receives_open() noexcept {
  const TablesLock lock;
  const auto receives = [](const Request& request) {
    return request.active && (request.kind == RequestKind::kReceive ||
                              request.kind == RequestKind::kSendReceive);
  };
  return g_tables.requests.size() != 0 && g_tables.requests.count(receives) != 0;
}

namespace {

std::uint32_t next_id() noexcept {
  const TablesLock lock;
  return g_tables.requests.next_id();
}

// Reports to the journal that a number in the spool is not the right one (kTextNumbers).
void report_number(bool sent, const ChannelEnd& channel, std::uint64_t number,
                   const char* to) noexcept {
  char text[128];
  std::snprintf(text, sizeof text, "%c %u %u %u %" PRIu64 " %s", sent ? 's' : 'r',
                unsigned{channel.comm}, static_cast<unsigned>(channel.peer),
                static_cast<unsigned>(channel.tag), number, to);
  g_session->put_fact(t_thread.recorder, spool::kTextNumbers, text);
}

// A receive that was posted for any source or tag has a message of this channel: its number.
std::uint64_t count_late(const Request& request, const ChannelEnd& channel) noexcept {
  std::uint64_t number;
  std::uint64_t later;
  {
    const TablesLock lock;
    number = g_tables.received.next(channel.comm, channel.peer, channel.tag);
    later = g_tables.posted.close(request.number, channel);
  }
  if (later != 0) [[unlikely]] {
    char to[24];
    std::snprintf(to, sizeof to, "%" PRIu64, number - later);
    report_number(false, channel, number, to);
  }
  return number;
}

void complete_receive(Call& call, const Request& request,
                      const MPI_Status& status) noexcept {
  if (status.MPI_SOURCE == MPI_PROC_NULL) return drop_receive(request);
  const std::uint64_t number =
      request.any ? count_late(request, {request.comm, status.MPI_SOURCE, status.MPI_TAG})
                  : request.number;
  record_receive(call, request.comm, status.MPI_SOURCE, status.MPI_TAG, number,
                 status_bytes(status), request.id);
}

// A number that was given to the channel's last message goes to the next one, unless others may
// be put in order after it.
bool take_back(bool sent, const Request& request) noexcept {
  const TablesLock lock;
  if (!sent && !g_tables.posted.idle()) return false;
  return (sent ? g_tables.sent : g_tables.received)
      .take_back(request.comm, request.peer, request.tag, request.number);
}

void complete_cancelled(Call& call, const Request& request) noexcept {
  const bool sent = request.kind == RequestKind::kSend;
  if (request.any)
    drop_receive(request);
  else if (!take_back(sent, request))
    report_number(sent, {request.comm, request.peer, request.tag}, request.number, "-");
  call.put_at_leave(spool::kMpiCancelled, request.id);
}

void record_completion(Call& call, const Request& request,
                       const MPI_Status& status) noexcept {
  if (request.cancelled && status_cancelled(status))
    return complete_cancelled(call, request);
  switch (request.kind) {
    case RequestKind::kNothing:
      return;
    case RequestKind::kSend:
      return call.put_at_leave(spool::kMpiDone, request.id);
    case RequestKind::kReceive:
      return complete_receive(call, request, status);
    case RequestKind::kSendReceive:
      if (request.send_id != 0) call.put_at_leave(spool::kMpiDone, request.send_id);
      if (request.id != 0)
        record_receive(call, request.comm, request.peer, request.tag, request.number,
                       request.received_bytes, request.id);
      return;
    case RequestKind::kCollective:
      call.put_at_leave(spool::kMpiDone, request.id, 1);
      return call.count_moved(request.bytes, request.received_bytes);
    case RequestKind::kIo:
      return call.put_at_leave(spool::kMpiIo, status_bytes(status));
  }
}

}  // namespace

void begin_send(Call& call, Request& request) noexcept {
  request.id = next_id();
  request.number = record_send(call, request.sub, request.comm, request.peer, request.tag,
                               request.bytes, request.id);
}

void begin_receive(Call& call, Request& request) noexcept {
  request.id = next_id();
  if (request.any) {
    const TablesLock lock;
    request.number = g_tables.posted.open();
  } else {
    request.number = count_receive(request.comm, request.peer, request.tag);
  }
  const bool source = request.peer == MPI_ANY_SOURCE;
  const bool tag = request.tag == MPI_ANY_TAG;
  const std::uint64_t known_tag = tag ? 0 : static_cast<std::uint32_t>(request.tag);
  call.put_at_enter(spool::kMpiPost, known_tag << 32 | request.id,
                    static_cast<std::uint8_t>((source ? spool::kMpiAnySource : 0) |
                                              (tag ? spool::kMpiAnyTag : 0)),
                    comm_and_rank(request.comm, source ? 0 : request.peer));
}

void begin_collective(Call& call, Request& request) noexcept {
  request.id = next_id();
  call.put_at_enter(spool::kMpiCollective, collective_payload(*request.group, request.id),
                    request.sub, comm_and_rank(request.comm, request.peer),
                    saturated(request.received_bytes), request.bytes);
  if (request.group->worldwide) pass_anchor(call);
}

void begin(Call& call, Request& request) noexcept {
  request.active = true;
  request.cancelled = false;
  switch (request.kind) {
    case RequestKind::kSend:
      return begin_send(call, request);
    case RequestKind::kReceive:
      return begin_receive(call, request);
    case RequestKind::kCollective:
      return begin_collective(call, request);
    default:
      return;
  }
}

void drop_receive(const Request& request) noexcept {
  if (request.kind != RequestKind::kReceive || !request.any || !request.active) return;
  const TablesLock lock;
  g_tables.posted.drop(request.number);
}

namespace {

std::array<std::atomic<std::uint64_t>, 2> g_not_received{};

// Of a message that has come, by a receive of `request`; negative: not known.
int known_source(const Request& request, const MPI_Status& status) noexcept {
  return request.peer != MPI_ANY_SOURCE ? request.peer : std::max(status.MPI_SOURCE, -1);
}
int known_tag(const Request& request, const MPI_Status& status) noexcept {
  return request.tag != MPI_ANY_TAG ? request.tag : std::max(status.MPI_TAG, -1);
}

}  // namespace

void count_not_received(NotReceived why) noexcept {
  g_not_received[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
}

void report_not_received() noexcept {
  std::uint64_t open = 0;
  {
    const TablesLock lock;
    open = g_tables.requests.count([](const Request& request) {
      return request.kind == RequestKind::kReceive && request.active;
    });
  }
  const std::uint64_t freed = g_not_received[0].load();
  const std::uint64_t failed = g_not_received[1].load();
  if (freed + failed + open == 0) return;
  char text[80];
  std::snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %" PRIu64, freed, failed, open);
  g_session->put_fact(t_thread.recorder, spool::kTextNotReceived, text);
}

bool is_truncation(int result) noexcept {
  int error_class = MPI_SUCCESS;
  return result != MPI_SUCCESS && PMPI_Error_class(result, &error_class) == MPI_SUCCESS &&
         error_class == MPI_ERR_TRUNCATE;
}

void fail_receive(std::uint16_t comm, int source, int tag) noexcept {
  count_not_received(NotReceived::kFailed);
  if (source >= 0 && tag >= 0) count_receive(comm, source, tag);
}

void fail(Handle handle, const MPI_Request* place, const MPI_Status& status,
          int result) noexcept {
  if (!is_truncation(result)) return;
  Request request;
  {
    const TablesLock lock;
    Request* entry = g_tables.requests.find(handle, place);
    if (entry == nullptr || !entry->active || entry->kind != RequestKind::kReceive) return;
    request = *entry;
    if (entry->persistent)
      entry->active = false;
    else
      g_tables.requests.remove(entry);
  }
  count_not_received(NotReceived::kFailed);
  if (!request.any) return;  // it has its number
  const int source = known_source(request, status);
  const int tag = known_tag(request, status);
  if (source >= 0 && tag >= 0)
    count_late(request, {request.comm, source, tag});
  else
    drop_receive(request);
}

void keep_request(const MPI_Request* handle, const Request& request) noexcept {
  const TablesLock lock;
  g_tables.requests.add(handle_of(*handle), handle, request);
}

void complete(Call& call, Handle handle, const MPI_Request* place,
              const MPI_Status& status) noexcept {
  Request request;
  {
    const TablesLock lock;
    Request* entry = g_tables.requests.find(handle, place);
    if (entry == nullptr || !entry->active) return;
    request = *entry;
    if (entry->persistent)
      entry->active = false;
    else
      g_tables.requests.remove(entry);
  }
  record_completion(call, request, status);
}

}  // namespace refrain::mpi
