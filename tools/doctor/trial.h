// A trial: a process of this command, traced by `refrain run`, opens parallel regions or calls MPI, and the archive
// is looked at. It shows that runtime, library and file system work together.
//
// Thread-safety: none needed. Errors: a sentence. Cost: half a second; the archive lies in `folder`
// for that time and is removed.
#pragma once

#include <string>

namespace refrain::tools {

struct Trial {
  bool works = false;
  std::string text;  // what was recorded, or what went wrong
};

// Parallel regions of two threads.
Trial try_openmp(const std::string& folder);

// Two processes that exchange something, started by `launcher` (a path of mpirun or mpiexec).
// `mpi`: whose it is, a name of --mpi.
Trial try_mpi(const std::string& folder, const std::string& launcher,
              const std::string& mpi);

// What the traced process does; its exit status.
int be_traced_openmp();
int be_traced_mpi();

}  // namespace refrain::tools
