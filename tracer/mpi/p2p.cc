#include "tracer/mpi/p2p.h"

namespace refrain::mpi {
namespace {

// Takes a message that a matched probe has found from the table.
bool take_matched(MPI_Message message, Request& found) noexcept {
  const TablesLock lock;
  Request* entry = g_tables.matched.find(handle_of(message), nullptr);
  if (entry == nullptr) return false;
  found = *entry;
  g_tables.matched.remove(entry);
  return true;
}

}  // namespace

void Recv::failed(int result) noexcept {
  if (source_ == MPI_PROC_NULL || !call_.comm()->known() || !is_truncation(result)) return;
  fail_receive(call_.comm()->number,
               source_ != MPI_ANY_SOURCE ? source_ : (*status_).MPI_SOURCE,
               tag_ != MPI_ANY_TAG ? tag_ : (*status_).MPI_TAG);
}

void Isend::after(int result) noexcept {
  if (!made(result)) return;
  call_.sends_to(request_.peer);
  request_.bytes = data_bytes(count_, type_);
  begin(call_, request_);
  keep();
}

void Irecv::after(int result) noexcept {
  if (!made(result)) return;
  call_.receives_from(request_.peer);
  begin(call_, request_);
  keep();
}

void SendInit::after(int result) noexcept {
  if (!made(result)) return;
  call_.sends_to(request_.peer);
  request_.bytes = data_bytes(count_, type_);
  keep_persistent();
}

void Isendrecv::after(int result) noexcept {
  if (!made(result)) return;
  call_.sends_to(dest_);
  call_.receives_from(request_.peer);
  const bool receives = request_.kind == RequestKind::kReceive;
  if (dest_ != MPI_PROC_NULL && call_.comm()->known()) {
    Request send = request_;
    send.kind = RequestKind::kSend;
    send.sub = spool::kMpiStandard;
    send.peer = dest_;
    send.tag = send_tag_;
    send.bytes = data_bytes(count_, type_);
    begin(call_, send);
    request_.send_id = send.id;
  }
  if (receives && !request_.any) {
    begin_receive(call_, request_);
    request_.received_bytes = data_bytes(recv_count_, recv_type_);
  }
  request_.kind = RequestKind::kSendReceive;
  keep();
}

void Mprobe::after(int result) noexcept {
  if (result != MPI_SUCCESS || !call_ || *message_ == MPI_MESSAGE_NO_PROC ||
      !call_.comm()->known())
    return;
  Request found;
  found.comm = call_.comm()->number;
  found.peer = (*status_).MPI_SOURCE;
  found.tag = (*status_).MPI_TAG;
  found.number = count_receive(found.comm, found.peer, found.tag);
  const TablesLock lock;
  g_tables.matched.add(handle_of(*message_), nullptr, found);
}

void Mrecv::after(int result) noexcept {
  Request found;
  if (!call_ || (result != MPI_SUCCESS && !is_truncation(result)) ||
      !take_matched(message_, found))
    return;
  if (result != MPI_SUCCESS) return count_not_received(NotReceived::kFailed);
  call_.receives_from(found.peer);
  record_receive(call_, found.comm, found.peer, found.tag, found.number,
                 status_bytes(*status_), 0);
}

void Imrecv::after(int result) noexcept {
  Request found;
  if (!made(result)) return;
  if (take_matched(message_, found)) {
    found.kind = RequestKind::kReceive;
    found.id = 0;
    request_ = found;
    {
      const TablesLock lock;
      request_.id = g_tables.requests.next_id();
    }
    call_.put_at_enter(spool::kMpiPost, request_.id);
  }
  keep();
}

}  // namespace refrain::mpi
