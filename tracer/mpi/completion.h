// The meaning of calls that start, test, complete, cancel and free requests.
//
// Place in the flow: ARCHITECTURE.md, stage 2. A call that completes requests overwrites their
// handles, so these are noted before. Where the program ignores statuses, our own are filled in:
// they say what a receive got.
// Thread-safety: objects live on one thread's stack. Cost: arrays of up to kInline requests
// lie on the stack; larger ones are allocated.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>

#include "tracer/mpi/p2p.h"

namespace refrain::mpi {

inline constexpr std::size_t kInline = 32;

// `count` elements, on the stack if they are few; data() is null if there is no memory.
template <typename T>
class Scratch {
 public:
  explicit Scratch(int count) noexcept {
    if (count > static_cast<int>(kInline))
      many_.reset(new (std::nothrow) T[static_cast<std::size_t>(count)]);
    data_ = count > static_cast<int>(kInline) ? many_.get() : few_;
  }
  T* data() noexcept { return data_; }
  T& operator[](int i) noexcept { return data_[i]; }

 private:
  std::unique_ptr<T[]> many_;
  T* data_;
  T few_[kInline];  // on purpose not filled in
};

// Persistent operations begin.
class Start {
 public:
  Start(Call& call, int count, const MPI_Request* requests) noexcept
      : call_(call), count_(count), requests_(requests) {}
  void after(int result) noexcept;

 private:
  Call& call_;
  int count_;
  const MPI_Request* requests_;
};

class Wait {
 public:
  Wait(Call& call, const MPI_Request* request, MPI_Status* status) noexcept
      : call_(call),
        status_(call, status),
        place_(request),
        handle_(request == nullptr ? MPI_REQUEST_NULL : *request) {}
  MPI_Status* status() noexcept { return status_.get(); }
  void after(int result) noexcept {
    if (!call_ || handle_ == MPI_REQUEST_NULL) return;
    if (result == MPI_SUCCESS)
      complete(call_, handle_of(handle_), place_, *status_);
    else
      fail(handle_of(handle_), place_, *status_, result);
  }

 protected:
  Call& call_;
  StatusOf status_;
  const MPI_Request* place_;
  MPI_Request handle_;
};

class Test : public Wait {
 public:
  Test(Call& call, const MPI_Request* request, const int* flag, MPI_Status* status) noexcept
      : Wait(call, request, status), flag_(flag) {}
  void after(int result) noexcept {
    if (!call_) return;
    if (*flag_ != 0 || result != MPI_SUCCESS)
      Wait::after(result);
    else
      record_unsuccessful();
  }

 private:
  void record_unsuccessful() noexcept;
  const int* flag_;
};

// Handles of several requests, as they were before the call, and statuses.
class Several {
 public:
  Several(Call& call, int count, const MPI_Request* requests,
          MPI_Status* statuses) noexcept;
  MPI_Status* statuses() noexcept { return statuses_; }

 protected:
  // That with this index is complete, with the i-th status, or has failed.
  void complete_one(int index, const MPI_Status& status,
                    int result = MPI_SUCCESS) noexcept {
    if (handles_[index] == MPI_REQUEST_NULL) return;
    if (result == MPI_SUCCESS)
      complete(call_, handle_of(handles_[index]), places_ + index, status);
    else
      fail(handle_of(handles_[index]), places_ + index, status, result);
  }
  bool usable() noexcept {
    return call_ && handles_.data() != nullptr && statuses_ != nullptr;
  }

  Call& call_;
  int count_;
  const MPI_Request* places_;
  Scratch<MPI_Request> handles_;
  Scratch<MPI_Status> own_;
  MPI_Status* statuses_;
};

class Waitall : public Several {
 public:
  using Several::Several;
  void after(int result) noexcept;
};

class Testall : public Waitall {
 public:
  Testall(Call& call, int count, const MPI_Request* requests, const int* flag,
          MPI_Status* statuses) noexcept
      : Waitall(call, count, requests, statuses), flag_(flag) {}
  void after(int result) noexcept {
    if (result != MPI_SUCCESS || *flag_ != 0) Waitall::after(result);
  }

 private:
  const int* flag_;
};

class Waitsome : public Several {
 public:
  Waitsome(Call& call, int count, const MPI_Request* requests, const int* done,
           const int* indices, MPI_Status* statuses) noexcept
      : Several(call, count, requests, statuses), done_(done), indices_(indices) {}
  void after(int result) noexcept;

 private:
  const int* done_;
  const int* indices_;
};

class Waitany {
 public:
  Waitany(Call& call, int count, const MPI_Request* requests, const int* index,
          MPI_Status* status) noexcept;
  MPI_Status* status() noexcept { return status_.get(); }
  void after(int result) noexcept;

 private:
  void failed(int result) noexcept;

  Call& call_;
  StatusOf status_;
  const MPI_Request* places_;
  const int* index_;
  int count_;
  Scratch<MPI_Request> handles_;
};

class Testany : public Waitany {
 public:
  Testany(Call& call, int count, const MPI_Request* requests, const int* index,
          const int* flag, MPI_Status* status) noexcept
      : Waitany(call, count, requests, index, status), flag_(flag) {}
  void after(int result) noexcept {
    if (result != MPI_SUCCESS || *flag_ != 0) Waitany::after(result);
  }

 private:
  const int* flag_;
};

// Asks for it; the completion of the request says whether it was cancelled.
class Cancel {
 public:
  Cancel(Call& call, const MPI_Request* request) noexcept
      : call_(call), request_(request) {}
  void after(int result) noexcept;

 private:
  Call& call_;
  const MPI_Request* request_;
};

class RequestFree {
 public:
  RequestFree(Call& call, const MPI_Request* request) noexcept
      : call_(call),
        place_(request),
        handle_(request == nullptr ? MPI_REQUEST_NULL : *request) {}
  void after(int result) noexcept;

 private:
  Call& call_;
  const MPI_Request* place_;
  MPI_Request handle_;
};

}  // namespace refrain::mpi
