// The meaning of calls that make, name and free communicators and windows.
//
// Place in the flow: ARCHITECTURE.md, stage 2. A new communicator is entered in the table
// (communicators.h) and reported to the journal: kMpiComm and kMpiMembers by all members, the list of
// members by the first, a topology by all. Communicators with processes of other jobs
// (MPI_Comm_spawn, MPI_Comm_accept) stay unknown, their messages are not recorded.
// Thread-safety: objects live on one thread's stack. Cost: asks MPI for the members, some
// microseconds; allocates.
#pragma once

#include "tracer/mpi/message_records.h"

namespace refrain::mpi {

// After MPI_Init: MPI_COMM_WORLD and MPI_COMM_SELF. `world` may be another communicator of all
// processes. False if MPI refuses.
bool enter_world(MPI_Comm world) noexcept;

// `call` has made a communicator (or window) with the members of `like`.
// `tag`: of the call, or a hash of one that is a text.
const Communicator* enter_communicator(Call& call, MPI_Comm made, MPI_Comm like,
                                       std::uint64_t tag = 0) noexcept;

class CommMade {
 public:
  CommMade(Call& call, const MPI_Comm* made) noexcept : call_(call), made_(made) {}
  void after(int result) noexcept;

 protected:
  Call& call_;
  const MPI_Comm* made_;
};

// Made by some members of the parent, not by all of them together; several threads may, with tags.
class GroupCommMade : CommMade {
 public:
  GroupCommMade(Call& call, const MPI_Comm* made, int tag = 0) noexcept
      : CommMade(call, made), tag_(static_cast<std::uint32_t>(tag)) {}
  GroupCommMade(Call& call, const MPI_Comm* made, const char* tag) noexcept;
  void after(int result) noexcept;

 private:
  std::uint64_t tag_;
};

// Known at once, and complete with a request.
class CommIdup {
 public:
  CommIdup(Call& call, MPI_Comm parent, const MPI_Comm* made,
           const MPI_Request* request) noexcept
      : call_(call), parent_(parent), made_(made), request_(request) {}
  void after(int result) noexcept;

 private:
  Call& call_;
  MPI_Comm parent_;
  const MPI_Comm* made_;
  const MPI_Request* request_;
};

// Number of a group among the communicators, the same for equal groups; kNoCommunicator: it is not known. Another
// group than those before costs some microseconds, and memory.
std::uint16_t number_of_group(MPI_Group group) noexcept;

// The call is one that all members of its window make: MPI_Win_fence, MPI_Win_free.
void record_window_collective(Call& call, spool::MpiCollective operation) noexcept;

// Of communicators.

class HandleFreed {
 public:
  HandleFreed(Call& call, const void*) noexcept : call_(call), freed_(call.comm()) {}
  void after(int result) noexcept {
    if (result == MPI_SUCCESS && call_ && freed_->known()) g_communicators.remove(freed_);
  }

 private:
  Call& call_;
  const Communicator* freed_;
};

class HandleNamed {
 public:
  HandleNamed(Call& call, const char* name) noexcept : call_(call), name_(name) {}
  void after(int result) noexcept;

 private:
  Call& call_;
  const char* name_;
};

class WinMade {
 public:
  WinMade(Call& call, MPI_Comm comm, const MPI_Win* made) noexcept
      : call_(call), comm_(comm), made_(made) {}
  void after(int result) noexcept;

 private:
  Call& call_;
  MPI_Comm comm_;
  const MPI_Win* made_;
};

class WinFreed {
 public:
  WinFreed(Call& call, const void*) noexcept : call_(call), freed_(call.comm()) {}
  void after(int result) noexcept;

 private:
  Call& call_;
  const Communicator* freed_;
};

// Reports once that processes made by the program are not traced.
class Spawn {
 public:
  explicit Spawn(Call& call) noexcept : call_(call) {}
  void after(int result) noexcept;

 private:
  Call& call_;
};

}  // namespace refrain::mpi
