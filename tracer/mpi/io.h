// The meaning of calls of MPI-IO: the bytes that were moved, as the status says.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Non-blocking ones are recorded when they are
// complete, split ones at their end.
// Thread-safety: objects live on one thread's stack.
#pragma once

#include "tracer/mpi/p2p.h"

namespace refrain::mpi {

class Io {
 public:
  Io(Call& call, MPI_Status* status) noexcept : call_(call), status_(call, status) {}
  MPI_Status* status() noexcept { return status_.get(); }
  void after(int result) noexcept {
    if (result == MPI_SUCCESS && call_)
      call_.put_at_leave(spool::kMpiIo, status_bytes(*status_));
  }

 private:
  Call& call_;
  StatusOf status_;
};

class Iio {
 public:
  Iio(Call& call, const MPI_Request* request) noexcept : call_(call), request_(request) {}
  void after(int result) noexcept {
    if (result != MPI_SUCCESS || !call_) return;
    Request request;
    request.kind = RequestKind::kIo;
    keep_request(request_, request);
  }

 private:
  Call& call_;
  const MPI_Request* request_;
};

}  // namespace refrain::mpi
