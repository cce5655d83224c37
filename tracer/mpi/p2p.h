// The meaning of point-to-point calls: sends, receives, probes, and requests that are made.
//
// Place in the flow: ARCHITECTURE.md, stage 2. See semantics.tsv for which call is which class;
// what completes requests is in completion.h. All is recorded after the procedure was successful:
// then its arguments are valid, and MPI can be asked about them.
// Thread-safety: objects live on one thread's stack.
#pragma once

#include "tracer/mpi/message_records.h"
#include "tracer/mpi/mpi_header.h"

namespace refrain::mpi {

// The status that a procedure is given: the program's, or our own where that ignores it.
class StatusOf {
 public:
  StatusOf(const Call& call, MPI_Status* programs) noexcept
      : status_(call && programs == MPI_STATUS_IGNORE ? &own_ : programs) {
    // Where a receive fails, not every MPI says of what.
    own_.MPI_SOURCE = MPI_ANY_SOURCE;
    own_.MPI_TAG = MPI_ANY_TAG;
  }
  StatusOf(const StatusOf&) = delete;
  StatusOf& operator=(const StatusOf&) = delete;
  MPI_Status* get() noexcept { return status_; }
  const MPI_Status& operator*() const noexcept { return *status_; }

 private:
  MPI_Status own_;
  MPI_Status* status_;
};

class Send {
 public:
  Send(Call& call, spool::MpiMode mode, MPI_Count count, MPI_Datatype type, int dest,
       int tag) noexcept
      : call_(call), mode_(mode), count_(count), type_(type), dest_(dest), tag_(tag) {}
  __attribute__((hot)) void after(int result) noexcept {
    if (result != MPI_SUCCESS || !call_) return;
    call_.sends_to(dest_);
    if (dest_ == MPI_PROC_NULL || !call_.comm()->known()) return;
    record_send(call_, mode_, call_.comm()->number, dest_, tag_, data_bytes(count_, type_),
                0);
  }

 private:
  Call& call_;
  spool::MpiMode mode_;
  MPI_Count count_;
  MPI_Datatype type_;
  int dest_;
  int tag_;
};

class Recv {
 public:
  Recv(Call& call, int source, int tag, MPI_Status* status) noexcept
      : call_(call), status_(call, status), source_(source), tag_(tag) {}
  MPI_Status* status() noexcept { return status_.get(); }
  __attribute__((hot)) void after(int result) noexcept {
    if (!call_) return;
    if (result != MPI_SUCCESS) [[unlikely]]
      return failed(result);
    call_.receives_from(source_);
    if (source_ == MPI_PROC_NULL || !call_.comm()->known()) return;
    const std::uint16_t comm = call_.comm()->number;
    const MPI_Status& got = *status_;
    record_receive(call_, comm, got.MPI_SOURCE, got.MPI_TAG,
                   count_receive(comm, got.MPI_SOURCE, got.MPI_TAG), status_bytes(got), 0);
  }

 private:
  void failed(int result) noexcept;

  Call& call_;
  StatusOf status_;
  int source_;
  int tag_;
};

class Sendrecv {
 public:
  Sendrecv(Call& call, MPI_Count count, MPI_Datatype type, int dest, int send_tag,
           int source, int recv_tag, MPI_Status* status) noexcept
      : send_(call, spool::kMpiStandard, count, type, dest, send_tag),
        recv_(call, source, recv_tag, status) {}
  MPI_Status* status() noexcept { return recv_.status(); }
  void after(int result) noexcept {
    send_.after(result);
    recv_.after(result);
  }

 private:
  Send send_;
  Recv recv_;
};

// Calls that make a request.
class MakesRequest {
 public:
  MakesRequest(Call& call, const MPI_Request* handle, RequestKind kind, int peer = 0,
               int tag = 0, std::uint8_t sub = 0) noexcept
      : call_(call), handle_(handle) {
    if (!call) return;
    request_.kind =
        peer == MPI_PROC_NULL || !call.comm()->known() ? RequestKind::kNothing : kind;
    request_.sub = sub;
    request_.comm = call.comm()->number;
    request_.peer = peer;
    request_.tag = tag;
    request_.any =
        kind == RequestKind::kReceive && (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);
  }

 protected:
  bool made(int result) const noexcept { return result == MPI_SUCCESS && call_; }
  void keep() noexcept { keep_request(handle_, request_); }
  void keep_persistent() noexcept {
    request_.persistent = true;
    request_.active = false;
    keep();
  }

  Call& call_;
  const MPI_Request* handle_;
  Request request_;
};

class Isend : MakesRequest {
 public:
  Isend(Call& call, spool::MpiMode mode, MPI_Count count, MPI_Datatype type, int dest,
        int tag, const MPI_Request* request) noexcept
      : MakesRequest(call, request, RequestKind::kSend, dest, tag, mode),
        count_(count),
        type_(type) {}
  void after(int result) noexcept;

 private:
  friend class SendInit;
  MPI_Count count_;
  MPI_Datatype type_;
};

class Irecv : MakesRequest {
 public:
  Irecv(Call& call, int source, int tag, const MPI_Request* request) noexcept
      : MakesRequest(call, request, RequestKind::kReceive, source, tag) {}
  void after(int result) noexcept;
};

class SendInit : MakesRequest {
 public:
  SendInit(Call& call, spool::MpiMode mode, MPI_Count count, MPI_Datatype type, int dest,
           int tag, const MPI_Request* request) noexcept
      : MakesRequest(call, request, RequestKind::kSend, dest, tag, mode),
        count_(count),
        type_(type) {}
  void after(int result) noexcept;

 private:
  MPI_Count count_;
  MPI_Datatype type_;
};

// A partitioned send is one message of all its partitions.
class PsendInit : public SendInit {
 public:
  PsendInit(Call& call, int partitions, MPI_Count count, MPI_Datatype type, int dest,
            int tag, const MPI_Request* request) noexcept
      : SendInit(call, spool::kMpiStandard, partitions * count, type, dest, tag, request) {}
};

class RecvInit : MakesRequest {
 public:
  RecvInit(Call& call, int source, int tag, const MPI_Request* request) noexcept
      : MakesRequest(call, request, RequestKind::kReceive, source, tag) {}
  void after(int result) noexcept {
    if (!made(result)) return;
    call_.receives_from(request_.peer);
    keep_persistent();
  }
};

// Its status says nothing in MPICH 4.0: the message is taken to be the one asked for, and
// is not recorded if that is any source or any tag.
class Isendrecv : MakesRequest {
 public:
  Isendrecv(Call& call, MPI_Count count, MPI_Datatype type, int dest, int send_tag,
            MPI_Count recv_count, MPI_Datatype recv_type, int source, int recv_tag,
            const MPI_Request* request) noexcept
      : MakesRequest(call, request, RequestKind::kReceive, source, recv_tag),
        count_(count),
        recv_count_(recv_count),
        type_(type),
        recv_type_(recv_type),
        dest_(dest),
        send_tag_(send_tag) {}
  void after(int result) noexcept;

 private:
  MPI_Count count_;
  MPI_Count recv_count_;
  MPI_Datatype type_;
  MPI_Datatype recv_type_;
  int dest_;
  int send_tag_;
};

// A matched probe has found a message: it is numbered now, and received later.
class Mprobe {
 public:
  Mprobe(Call& call, const MPI_Message* message, MPI_Status* status) noexcept
      : call_(call), status_(call, status), message_(message) {}
  MPI_Status* status() noexcept { return status_.get(); }
  void after(int result) noexcept;

 private:
  Call& call_;
  StatusOf status_;
  const MPI_Message* message_;
};

class Improbe : public Mprobe {
 public:
  Improbe(Call& call, const int* flag, const MPI_Message* message,
          MPI_Status* status) noexcept
      : Mprobe(call, message, status), flag_(flag) {}
  void after(int result) noexcept {
    if (result == MPI_SUCCESS && *flag_ != 0) Mprobe::after(result);
  }

 private:
  const int* flag_;
};

class Mrecv {
 public:
  Mrecv(Call& call, const MPI_Message* message, MPI_Status* status) noexcept
      : call_(call), status_(call, status), message_(*message) {}
  MPI_Status* status() noexcept { return status_.get(); }
  void after(int result) noexcept;

 private:
  Call& call_;
  StatusOf status_;
  MPI_Message message_;
};

class Imrecv : MakesRequest {
 public:
  Imrecv(Call& call, const MPI_Message* message, const MPI_Request* request) noexcept
      : MakesRequest(call, request, RequestKind::kReceive), message_(*message) {}
  void after(int result) noexcept;

 private:
  MPI_Message message_;
};

}  // namespace refrain::mpi
