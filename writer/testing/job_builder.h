// Synthetic spools of MPI jobs: one builder a rank, and the calls that most tests need.
//
// Times are ticks, epochs the count of calls of a location (enter_mpi). Thread-safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "writer/testing/spool_builder.h"

namespace refrain::spool {

// Call site of all calls.
inline constexpr std::uint64_t kSite = 0x7000;

// All ranks of a job; each has one location.
std::vector<SpoolBuilder> job(std::uint32_t size);

// MPI_Send in [ticks, ticks + 5]; the message at its begin.
void send(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
          const Message& message);

// MPI_Recv in [ticks, ticks + 5]; the message at its end.
void receive(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
             const Message& message);

// MPI_Allreduce of MPI_COMM_WORLD in [ticks, ticks + 9]; its number in the communicator.
void allreduce(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
               std::uint32_t number);

}  // namespace refrain::spool
