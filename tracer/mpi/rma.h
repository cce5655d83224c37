// The meaning of one-sided calls: an operation on a window with its target and bytes.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Windows have numbers among those of the
// communicators (communicator_calls.h). Operations are complete at the synchronisation that
// follows, at one target or all. Epochs name a group: it is recorded where they begin and where they
// end, as in Score-P's archives; a lock where it is requested and where it is released.
// Thread-safety: objects live on one thread's stack.
#pragma once

#include "tracer/mpi/communicator_calls.h"
#include "tracer/mpi/p2p.h"

namespace refrain::mpi {

inline constexpr int kEveryTarget = -1;

// What MPI_Get_accumulate and MPI_Fetch_and_op with this operation are.
inline spool::MpiRma fetching(MPI_Op operation) noexcept {
  return operation == MPI_NO_OP ? spool::kMpiRmaFetch : spool::kMpiRmaFetchAccumulate;
}

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

// By what they do with the memory there.
class FetchRma : public Rma {
 public:
  FetchRma(Call& call, MPI_Op operation, int target, MPI_Count count,
           MPI_Datatype type) noexcept
      : Rma(call, fetching(operation), target, count, type) {}
};

class FetchRrma : public Rrma {
 public:
  FetchRrma(Call& call, MPI_Op operation, int target, MPI_Count count, MPI_Datatype type,
            const MPI_Request* request) noexcept
      : Rrma(call, fetching(operation), target, count, type, request) {}
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

class Fence {
 public:
  explicit Fence(Call& call) noexcept : call_(call) {}
  void after(int result) noexcept {
    RmaComplete(call_, kEveryTarget).after(result);
    if (result == MPI_SUCCESS && call_ && call_.comm()->known())
      record_window_collective(call_, spool::kMpiBarrier);
  }

 private:
  Call& call_;
};

inline constexpr bool kAccess = false;
inline constexpr bool kExposure = true;

class EpochBegun {
 public:
  EpochBegun(Call& call, MPI_Group group, bool exposure) noexcept
      : call_(call), group_(group), exposure_(exposure) {}
  void after(int result) noexcept {
    if (result != MPI_SUCCESS || !call_ || !call_.comm()->known()) return;
    const std::uint16_t group = number_of_group(group_);
    call_.comm()->set_epoch_group(exposure_, group);
    if (group != kNoCommunicator)
      call_.put_at_leave(spool::kMpiRma, spool::kMpiRmaSyncProcess, spool::kMpiRmaGroupSync,
                         comm_and_rank(call_.comm()->number, group));
  }

 private:
  Call& call_;
  MPI_Group group_;
  bool exposure_;
};

// `flag`: of a test, whether it has ended.
class EpochEnded {
 public:
  EpochEnded(Call& call, bool exposure, const int* flag = nullptr) noexcept
      : call_(call), exposure_(exposure), flag_(flag) {}
  void after(int result) noexcept {
    if (result != MPI_SUCCESS || !call_ || !call_.comm()->known()) return;
    if (flag_ != nullptr && *flag_ == 0) return;
    if (!exposure_) RmaComplete(call_, kEveryTarget).after(result);
    const std::uint16_t group = call_.comm()->epoch_group(exposure_);
    call_.comm()->set_epoch_group(exposure_, kNoCommunicator);
    if (group != kNoCommunicator)
      call_.put_at_leave(
          spool::kMpiRma, spool::kMpiRmaSyncProcess | spool::kMpiRmaSyncMemory,
          spool::kMpiRmaGroupSync, comm_and_rank(call_.comm()->number, group));
  }

 private:
  Call& call_;
  bool exposure_;
  const int* flag_;
};

class LockRequested {
 public:
  LockRequested(Call& call, int target, int type = MPI_LOCK_SHARED) noexcept
      : call_(call), target_(target), exclusive_(type == MPI_LOCK_EXCLUSIVE) {}
  void after(int result) noexcept {
    if (result != MPI_SUCCESS || !call_ || !call_.comm()->known() ||
        target_ == MPI_PROC_NULL)
      return;
    call_.put_at_enter(spool::kMpiRma, exclusive_, spool::kMpiRmaRequestLock,
                       comm_and_rank(call_.comm()->number, target_));
  }

 private:
  Call& call_;
  int target_;
  bool exclusive_;
};

class LockReleased {
 public:
  LockReleased(Call& call, int target) noexcept : call_(call), target_(target) {}
  void after(int result) noexcept {
    if (target_ == MPI_PROC_NULL) return;
    RmaComplete(call_, target_).after(result);
    if (result == MPI_SUCCESS && call_ && call_.comm()->known())
      call_.put_at_leave(spool::kMpiRma, 0, spool::kMpiRmaReleaseLock,
                         comm_and_rank(call_.comm()->number, target_));
  }

 private:
  Call& call_;
  int target_;
};

}  // namespace refrain::mpi
