// What each process would have saved on an ideal network: one on which a message arrives when it is sent, of an archive's events.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: one call a process at a time (libotf2). Units: ns.
// Of what is not written, what would have been saved is estimated: an iteration, also of an inner loop, stands for those of its
// loop that lasted about as long (within a factor of √2, else the nearest), in the mean of all processes; these are counted
// exactly, by their marks. Loops without a whole iteration count as all else of the outermost one.
// Errors: of the archive. Where the replay cannot tell, `unknown` says why.
// Cost: reads all events; memory as ideal_network.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "reader/archive_stream.h"

namespace refrain::analysis {

struct IdealRun {
  // Outside of MPI_Init and MPI_Finalize. `saved_ns` is what ends earlier: negative where the process began behind others.
  struct Saved {
    double time_ns = 0;
    double saved_ns = 0;
  };
  struct Loop : Saved {
    static constexpr std::size_t kFirst = 8;
    std::uint64_t iterations = 0;
    std::vector<Saved> first;  // of these, the first kFirst one by one
  };
  struct Process {
    std::uint32_t rank = 0;  // of MPI
    Saved whole;
    std::vector<Loop> loops;  // as `loops`
  };

  std::string unknown;             // why there is nothing below; else empty
  std::vector<std::string> loops;  // outermost ones that Refrain detected, by name
  std::vector<Process> processes;  // that have events
  double estimated = 0;            // share of the time of all processes that is not written
  std::uint64_t given_up = 0;  // waits for what is not in the archive: they count as none
};

base::Result<IdealRun> ideal_run(const std::string& archive,
                                 const reader::Progress& progress = {});

}  // namespace refrain::analysis
