// What the launcher of a parallel job has put into the environment of the processes that it starts.
//
// Launchers that are known, in the order in which they are asked: MPICH's Hydra and others that speak PMI (PMI_RANK),
// Open MPI's (OMPI_COMM_WORLD_RANK), what speaks PMIx (PMIX_RANK), Slurm's srun (SLURM_PROCID, in a step). The script of a
// batch job has srun's variables, but for those of a step. Hydra and Open MPI's mpirun start their own helpers by srun there,
// whose step the processes inherit.
//
// Thread-safety: as getenv. Cost: looks at the environment; allocates nothing, but for launched_job().
#pragma once

#include <string>

namespace refrain::base {

// The rank in the job, as text; null: no launcher has started the process.
const char* launched_rank() noexcept;

// It is the first of its job, or none has started it.
bool is_first_of_job() noexcept;

// How many processes there are in the job; 0: not said.
int launched_size() noexcept;

// The job whose launcher has started this process itself: a text that its other processes have, too, and no other job has. Empty: what
// started it is no launcher (so each of several commands of a script is a job of its own), or one that gives its jobs no name.
// Reads what /proc says of the parent.
std::string launched_job();

// The MPI whose launcher it was: "mpich", "openmpi"; null: none, or one that starts programs of both.
const char* launching_mpi() noexcept;

// The processes of a step that srun itself started, and the interface by which they find each other (srun --mpi=).
enum class SrunInterface { kNotSrun, kNone, kPmi, kPmix };
SrunInterface srun_interface() noexcept;

}  // namespace refrain::base
