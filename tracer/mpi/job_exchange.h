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
#include "tracer/mpi/own_communicator.h"

namespace refrain::mpi {

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
