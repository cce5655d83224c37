// Start and end of MPI in the process, and so of recording.
//
// Place in the flow: ARCHITECTURE.md, stages 1 and 6. Nothing happens before the program's
// MPI_Init: a launcher or a shell that loads us leaves no files.
// Thread-safety: one thread, as MPI asks for.
#pragma once

namespace refrain::mpi {

class Call;

// The program calls MPI_Init (or a twin): starts the session. False: it runs untraced.
bool start_tracing() noexcept;

// MPI_Session_init: without MPI_Init the process does not know its job, and is not traced.
class SessionInit {
 public:
  explicit SessionInit(Call&) noexcept {}
  void after(int result) noexcept;
};

// MPI_Init, MPI_Init_thread: when it is done the process knows its number in the job.
class Init {
 public:
  explicit Init(Call& call) noexcept : call_(call) {}
  void after(int result) noexcept;

 private:
  Call& call_;
};

// MPI_Finalize: the last moment at which processes can communicate: recording ends before it, and
// all write the archive together.
class Finalize {
 public:
  explicit Finalize(Call& call) noexcept;
  void after(int) noexcept {}
};

}  // namespace refrain::mpi
