// The meaning of one-sided calls: an operation on a window with its target and bytes.
//
// Place in the flow: ARCHITECTURE.md, step 2. Windows have numbers among those of the
// communicators (communicator_calls.h). Operations are complete at the synchronisation that
// follows, at one target or all.
// Thread-safety: objects live on one thread's stack.
#pragma once

#include "tracer/mpi/p2p.h"

namespace refrain::mpi {

inline constexpr int kEveryTarget = -1;

class Rma {
 public:
  Rma(Call& call, spool::MpiRma operation, int target, MPI_Count count,
      MPI_Datatype type) noexcept
      : call_(call), operation_(operation), target_(target), count_(count), type_(type) {}
  void after(int result) noexcept {
    if (result != MPI_SUCCESS || !call_) return;
    call_.sends_to(target_);
    if (target_ == MPI_PROC_NULL || !call_.comm()->known()) return;
    call_.put_at_enter(spool::kMpiRma, data_bytes(count_, type_), operation_,
                       comm_and_rank(call_.comm()->number, target_));
  }

 private:
  Call& call_;
  spool::MpiRma operation_;
  int target_;
  MPI_Count count_;
  MPI_Datatype type_;
};

// With a request, whose completion adds nothing.
class Rrma {
 public:
  Rrma(Call& call, spool::MpiRma operation, int target, MPI_Count count, MPI_Datatype type,
       const MPI_Request* request) noexcept
      : call_(call), rma_(call, operation, target, count, type), request_(request) {}
  void after(int result) noexcept {
    rma_.after(result);
    if (result == MPI_SUCCESS && call_) keep_request(request_, Request{});
  }

 private:
  Call& call_;
  Rma rma_;
  const MPI_Request* request_;
};

class RmaComplete {
 public:
  RmaComplete(Call& call, int target) noexcept : call_(call), target_(target) {}
  void after(int result) noexcept {
    if (result == MPI_SUCCESS && call_ && call_.comm()->known())
      call_.put_at_leave(spool::kMpiRma, 0, spool::kMpiRmaComplete,
                         comm_and_rank(call_.comm()->number, target_));
  }

 private:
  Call& call_;
  int target_;
};

}  // namespace refrain::mpi
