#include "tracer/mpi/collective.h"

#include "tracer/mpi/clocks.h"

namespace refrain::mpi {

namespace {

void name_root(Call& call, int root) noexcept {
  if (root == kRootSelf) call.has_root(call.comm()->rank);
  if (root >= 0) call.has_root(root);
}

}  // namespace

void Collective::record(const Amounts& amounts) noexcept {
  const Communicator& comm = *call_.comm();
  name_root(call_, amounts.root);
  call_.put_at_leave(spool::kMpiCollective, collective_payload(comm, 0), amounts.operation,
                     comm_and_rank(comm.number, amounts.root), saturated(amounts.received),
                     amounts.sent);
  if (comm.worldwide) pass_meeting(call_);
  // Its cost is not part of the call, whose leave already has its time.
  if (comm.handle == handle_of(MPI_COMM_WORLD)) pass_world_collective();
}

void Icollective::keep(const Amounts& amounts, bool persistent) noexcept {
  const Communicator& comm = *call_.comm();
  name_root(call_, amounts.root);
  Request request;
  request.kind = comm.known() ? RequestKind::kCollective : RequestKind::kNothing;
  request.sub = amounts.operation;
  request.comm = comm.number;
  request.peer = amounts.root;
  request.bytes = amounts.sent;
  request.received_bytes = amounts.received;
  request.group = &comm;
  request.persistent = persistent;
  request.active = !persistent;
  if (!persistent) begin(call_, request);
  keep_request(request_, request);
}

}  // namespace refrain::mpi
