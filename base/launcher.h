// What the launcher of a parallel job has put into the environment of the processes that it starts.
//
// Launchers that are known, in the order in which they are asked: MPICH's Hydra and others that speak PMI (PMI_RANK),
// Open MPI's (OMPI_COMM_WORLD_RANK), what speaks PMIx (PMIX_RANK).
//
// Thread-safety: as getenv. Cost: looks at the environment; allocates nothing.
#pragma once

namespace refrain::base {

// The rank in the job, as text; null: no launcher has started the process.
const char* launched_rank() noexcept;

// It is the first of its job, or none has started it.
bool is_first_of_job() noexcept;

// How many processes there are in the job; 0: not said.
int launched_size() noexcept;

// The MPI whose launcher it was: "mpich", "openmpi"; null: none, or one that starts programs of both.
const char* launching_mpi() noexcept;

}  // namespace refrain::base
