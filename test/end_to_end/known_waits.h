// Programs that know how long they wait (test/programs/waits), traced, analysed, and compared.
#pragma once

#include <string>
#include <vector>

namespace refrain::test {

// A run of one of //test/programs/waits.
struct KnownWaits {
  std::string program;  // e.g. "waits_mpi_clang"
  std::vector<std::string> arguments;
  int ranks = 1;  // 0: no MPI
  int threads = 1;
};

// Runs it under `refrain run -n 0`, analyses the archive, and compares each metric that the program
// expects, within 2 % and what the program says its clock readings may differ by. Each other metric
// of wait states must be zero, but for the latter. The sum of the program's readings counts: a busy machine
// makes the waits longer, not the test fail. A run that a busy machine made unlike its case (the
// program says so), or in which a metric is wrong, is repeated, at most three times in all.
//
// The analyser is `refrain analyze ARCHIVE --json`, or the command in REFRAIN_TEST_ANALYSER, which
// gets the archive as its last argument and prints an object with "metrics".
//
// Returns the program's further lines.
std::string check_known_waits(const KnownWaits& run);

}  // namespace refrain::test
