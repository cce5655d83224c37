// Checks what `refrain recover` makes of the spools of programs that died.
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

// For a program without MPI that was recorded with this limit: `refrain recover`, and every
// committed record compared with the archive. If nothing was recorded yet, that this is reported.
void recover_and_check(const std::filesystem::path& archive, const std::string& limit);

// For an MPI job: recovered as soon as all its processes have ended; every message has both ends.
Trace recover_job(const std::filesystem::path& archive);

}  // namespace refrain::test
