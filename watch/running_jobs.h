// Finds the jobs that are being traced on this machine, by the spool files that processes have open.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: none needed.
// Errors: what cannot be read (processes of others) counts as not being traced.
// Cost: one look at each open file of each process of the user. The processes themselves notice nothing.
#pragma once

#include <string>
#include <vector>

namespace refrain::watch {

struct RunningJob {
  std::string archive;  // absolute path
  std::vector<long> pids;
  std::string command;  // of the first
};

// By their archives.
std::vector<RunningJob> running_jobs();

// The archive that a process or one of its descendants records (so that the number of mpirun will do);
// empty: none.
std::string archive_of_process(long pid);

}  // namespace refrain::watch
