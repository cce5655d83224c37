// The meaning of calls: the classes that semantics.tsv names, and what wrappers use.
#pragma once

#include "tracer/mpi/collective.h"
#include "tracer/mpi/communicator_calls.h"
#include "tracer/mpi/communicators.h"
#include "tracer/mpi/completion.h"
#include "tracer/mpi/environment.h"
#include "tracer/mpi/io.h"
#include "tracer/mpi/mpi_header.h"
#include "tracer/mpi/p2p.h"
#include "tracer/mpi/rma.h"

namespace refrain::mpi {

inline Handle communicator_of(MPI_Comm comm) noexcept { return handle_of(comm); }
inline Handle communicator_of(const MPI_Comm* comm) noexcept {
  return comm == nullptr ? kNoHandle : handle_of(*comm);
}
inline Handle window_of(MPI_Win window) noexcept { return handle_of(window); }
inline Handle window_of(const MPI_Win* window) noexcept {
  return window == nullptr ? kNoHandle : handle_of(*window);
}

}  // namespace refrain::mpi
