// Many runs of one program on equally many threads, such as the members of a job array: which took longer than the others, and why.
//
// Place in the flow: ARCHITECTURE.md, stage 6: of runs as scale.h reduces them. Thread-safety: pure. Definitions:
// docs/reference/scaling.md. Units: ns of all threads where nothing else is said.
// Errors: fewer than three runs; runs of different programs or sizes. Cost: places of all runs x log.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/scaling/scale.h"
#include "base/result.h"

namespace refrain::analysis {

struct EnsembleMember {
  enum class Kind : std::uint8_t { kTypical, kSlow, kFast };
  // More than the median of the typical members has.
  struct More {
    std::string text;
    double ns = 0;  // negative: less
  };

  std::string name;
  double time_ns = 0;  // of the run, without start and end of MPI
  double ratio = 1;    // to the median of all members
  double all_ns = 0;
  double parallel = 0;            // parallel efficiency
  double core_wait_ns = 0;        // ready to run, without a core
  std::vector<RootCause> causes;  // without ranks and evidence
  Kind kind = Kind::kTypical;
  // Of a member that is slow or fast, what makes it so, most first: accounts, which add up to the whole difference, and call
  // paths, which do so, too.
  std::vector<More> accounts, places;
};

struct Ensemble {
  std::string program;
  std::size_t processes = 0;
  std::size_t threads = 0;
  bool mpi = false;
  double median_ns = 0;                 // of the members' times
  double margin_ns = 0;                 // who differs by more is slow or fast
  std::vector<EnsembleMember> members;  // longest time first
  std::vector<std::string>
      findings;  // slow members, those with one reason together; then fast ones
  std::vector<std::string> notes;
};

// Returns true if these runs are an ensemble: three or more, of one size.
bool is_ensemble(const std::vector<Scale>& runs);

base::Result<Ensemble> ensemble_of(std::vector<Scale> runs);

}  // namespace refrain::analysis
