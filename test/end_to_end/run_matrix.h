// Programs that several tests look at, each recorded once in full and once reduced: what the summary of the one says the
// events of the other must say.
#pragma once

#include <string>
#include <vector>

#include "test/end_to_end/mpi_run.h"

namespace refrain::test {

// Of OpenMP programs: with so many threads; of MPI programs: with so many ranks.
struct MatrixRun {
  std::string program;
  int number = 1;
};

// In the short form those that runs.bzl lists as OPENMP_MATRIX and MPI_MATRIX.
const std::vector<MatrixRun>& openmp_matrix();
const std::vector<MatrixRun>& mpi_matrix();

Job full_openmp(const MatrixRun& run);
Job reduced_openmp(const MatrixRun& run);
// Their graphs have what can be counted in events: partners and sizes. Full ones are recorded from outside of mpirun,
// reduced ones from inside.
MpiJob full_mpi(const MatrixRun& run);
MpiJob reduced_mpi(const MatrixRun& run);

// How often it polls is nondeterministic.
bool polls_nondeterministic(const MatrixRun& run);

}  // namespace refrain::test
