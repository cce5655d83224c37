// The search for waits in an archive by several threads, or by the processes of a job.
//
// Place in the flow: ARCHITECTURE.md, stage 6: `refrain analyze` calls it. Thread-safety: one a process at a time.
// The result is that of analyze_archive(), to the last digit (shared_analysis.h).
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "exchange/exchange.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

// At most this many threads, and one for each process of the archive and one more; 1: none but the caller.
base::Result<WaitAnalysis> analyze_in_threads(const std::string& archive,
                                              std::size_t threads,
                                              const reader::Progress& progress = {});

// By all processes of a job, two or more, each with its own end. Rank 0 gets the result, others the error that they had.
base::Result<WaitAnalysis> analyze_in_job(const std::string& archive,
                                          exchange::Exchange& exchange,
                                          const reader::Progress& progress = {});

}  // namespace refrain::waits
