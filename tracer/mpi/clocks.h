// The clocks of the job's processes against that of process 0, over MPI.
//
// Place in the flow: clock_offset.h says how; called by environment.cc when MPI has started
// and before it ends, by all processes. Each puts what it found into its journal.
// Cost: some tens of round trips a bit of the job's size, at most 20 ms each round.
#pragma once

namespace refrain::mpi {

void measure_clocks(int rank, int size) noexcept;

}  // namespace refrain::mpi
