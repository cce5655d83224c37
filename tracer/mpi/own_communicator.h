// A communicator of our own, of all processes: nothing that the program sends is taken for what is sent over it.
//
// Place in the flow: ARCHITECTURE.md, stage 2: for the clocks (clocks.h) and the archive (job_exchange.h).
// Transparency: it has the members of MPI_COMM_WORLD and nothing else of it. MPI_Comm_dup() would copy the program's
// attributes, and so call its functions. It lives no longer than it is needed, because an MPI library may have few (MPICH
// 2048), and what goes wrong is not shown to the program's error handler.
// Thread-safety: as MPI's collectives. Errors: valid() is false, then in all processes. Cost: some collectives.
#pragma once

#include "tracer/mpi/mpi_header.h"

namespace refrain::mpi {

// While one lives errors over MPI_COMM_WORLD are returned.
class WorldErrorsReturned {
 public:
  WorldErrorsReturned() noexcept;
  ~WorldErrorsReturned();
  WorldErrorsReturned(const WorldErrorsReturned&) = delete;
  WorldErrorsReturned& operator=(const WorldErrorsReturned&) = delete;

 private:
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

class OwnCommunicator {
 public:
  // All processes of MPI_COMM_WORLD make one together.
  OwnCommunicator() noexcept;
  ~OwnCommunicator();
  OwnCommunicator(const OwnCommunicator&) = delete;
  OwnCommunicator& operator=(const OwnCommunicator&) = delete;

  bool valid() const noexcept { return valid_; }
  MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool valid_ = false;
};

}  // namespace refrain::mpi
