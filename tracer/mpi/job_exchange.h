// The processes of the job talk to each other while their archive is made: an Exchange over
// MPI.
//
// Place in the flow: ARCHITECTURE.md, stage 2; environment.cc makes one in MPI_Finalize,
// when all have stopped recording. Shape: each message is its length, and then its bytes in parts. Thread-safety: the thread that calls MPI_Finalize.
// Errors: std::runtime_error where MPI fails; a message that there is no memory for is
// received as an empty one, which no summary is. Cost: that of MPI's messages.
// A process that waits sleeps, up to a millisecond at a time, so that those that write have the
// processors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exchange/exchange.h"
#include "tracer/mpi/mpi_header.h"

namespace refrain::mpi {

// A communicator of our own, of all processes: nothing that the program sends is taken for what is sent over it.
//
// Place in the flow: ARCHITECTURE.md, stage 2: for the clocks (clocks.h) and the archive.
// Transparency: it has the members of MPI_COMM_WORLD and nothing else of it. MPI_Comm_dup() would copy the program's
// attributes, and so call its functions. It lives no longer than it is needed, because an MPI library may have few (MPICH
// 2048), and what goes wrong is not shown to the program's error handler.
// Thread-safety: as MPI's collectives. Errors: valid() is false, then in all processes. Cost: some collectives.

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

class JobExchange final : public exchange::Exchange {
 public:
  explicit JobExchange(const OwnCommunicator& own) noexcept;

  std::uint32_t rank() const noexcept override { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t size() const noexcept override { return static_cast<std::uint32_t>(size_); }
  void send(std::uint32_t to, const exchange::Bytes& bytes) override;
  exchange::Bytes receive(std::uint32_t from) override;

 private:
  void send_part(int to, const void* data, std::size_t bytes);
  void receive_part(int from, void* data, std::size_t bytes);
  void skip(int from, std::uint64_t bytes);
  void wait(MPI_Request request);

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace refrain::mpi
