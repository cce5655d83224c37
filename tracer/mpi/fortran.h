// Calls that come through the Fortran library (libmpichfort; of Open MPI libmpi_mpifh and libmpi_usempif08).
//
// Place in the flow: ARCHITECTURE.md, stage 2.
//
// A Fortran program calls mpi_send_ (mpif.h, use mpi) or mpi_barrier_f08_ (use mpi_f08), which
// the Fortran library defines. It calls the C procedures: MPICH's MPI_X for the former and for the
// latter where there is a buffer, PMPI_X elsewhere; Open MPI's always PMPI_X. So
//   - we define the Fortran symbols: each notes the place it returns to and the procedure, and
//     goes on to the original by its profiling name (fortran.S, generated);
//   - what the library calls as PMPI_X and has such an interface for is led to our
//     wrapper: its table of addresses is changed (redirect_fortran_libraries).
// A wrapper that is called from within the library takes the noted place, if it was noted for
// its procedure. Otherwise the library made the call for itself, or the program used the
// profiling interface: nothing is recorded.
#pragma once

#include <array>
#include <cstdint>

#include "tracer/mpi/known_calls.h"
#include "tracer/mpi/procedures.h"

namespace refrain::mpi {

struct FortranCall {
  const void* returns_to;
  const void* stack;
  std::uint64_t procedure;  // the one without _c, if there are two
  const void* frame;
};

// The code of a Fortran library. The second one is Open MPI's for `use mpi_f08`.
struct FortranLibrary {
  std::uintptr_t begin = 0;
  std::uintptr_t size = 0;
  bool has(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - begin < size;
  }
};
extern std::array<FortranLibrary, 2> g_fortran_libraries;

inline bool in_fortran_library(const void* address) noexcept {
  return g_fortran_libraries[0].has(address) || g_fortran_libraries[1].has(address);
}

// The place that was noted for `procedure`; it returns to null if none was. Notes are used once.
Site fortran_site(Procedure procedure) noexcept;

// Finds the Fortran libraries, if the program has them, and leads their PMPI_X to our wrappers.
// Before the program's first call; idempotent.
void redirect_fortran_libraries() noexcept;

}  // namespace refrain::mpi

// Written by fortran.S.
extern "C" constinit thread_local refrain::mpi::FortranCall refrain_fortran_call
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
