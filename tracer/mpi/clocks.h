// The clocks of the job's processes against that of process 0, over MPI.
//
// Place in the flow: clock_offset.h says how; called by environment.cc when MPI has started
// and before it ends, by all processes, and by collective.cc on the way, if the setting
// clock_every says so. Each puts what it found into its journal.
// Thread-safety: collectives over one communicator are never concurrent, by MPI's rules.
// Cost: some tens of round trips a bit of the job's size, at most 20 ms each round.
#pragma once

#include <cstdint>

namespace refrain::mpi {

class OwnCommunicator;

// Where there is no communicator for it nothing is measured.
void measure_clocks(int rank, int size, const OwnCommunicator& own) noexcept;

// All processes, once, before any of them passes a collective: `collectives` as this one
// has it, 0 if it is not traced. The minimum of all is used.
void agree_on_clock_every(std::uint64_t collectives) noexcept;

// How many more blocking collectives over MPI_COMM_WORLD until clocks are measured; 0:
// never.
extern std::uint64_t g_collectives_to_clocks;
void measure_clocks_again() noexcept;

// A collective over MPI_COMM_WORLD is over here.
inline void pass_world_collective() noexcept {
  if (g_collectives_to_clocks == 0) return;
  --g_collectives_to_clocks;
  if (g_collectives_to_clocks == 0) [[unlikely]]
    measure_clocks_again();
}

}  // namespace refrain::mpi
