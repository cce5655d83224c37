// What programs that died left behind, and what `refrain recover` owes of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "test/end_to_end/traced.h"

namespace refrain::test {

// Programs that run until they are killed; if the environment has REFRAIN_TEST_VICTIM, only that
// one.
struct Victim {
  const char* program;
  std::vector<std::string> arguments;
  int threads;
};
const std::vector<Victim>& openmp_victims();
const std::vector<Victim>& mpi_victims();  // one of them with OpenMP

// A number that the environment gives, e.g. REFRAIN_TEST_KILLS.
long number_from_environment(const char* name, long otherwise);

// Of a program without MPI that was recorded with this limit: `refrain recover`, and every
// committed record against the archive. Where nothing was recorded yet, that this is told.
void recover_and_check(const std::filesystem::path& archive, const std::string& limit);

// Of a job of MPI: recovered, as soon as all of its processes are gone; every message has both
// its ends.
Trace recover_job(const std::filesystem::path& archive);

}  // namespace refrain::test
