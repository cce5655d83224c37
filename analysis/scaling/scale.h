// A run as one scale among others: POP's efficiencies of its parts, its ledger, and what each place took.
//
// Place in the flow: ARCHITECTURE.md, stage 6: of the summaries alone. Thread-safety: pure. Units: ns of all threads where
// nothing else is said.
// Memory: what scale_of() returns has no value by process or thread, so runs are read one after the other. It has one for each
// place in the program and each finding.
// Cost: O(rows of all threads, and call paths x threads).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causes/root_causes.h"
#include "analysis/ideal/ideal_network.h"
#include "analysis/profile/efficiencies.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

// Part of a run: all of it without start and end of MPI (Account::kStart), or an outermost loop.
struct ScalePart {
  std::string place;             // a loop's, without its number; empty: the whole run
  std::uint64_t iterations = 0;  // of a loop, as `refrain info` counts them
  std::uint64_t with_rows = 0;   // of these, what is measured below
  std::size_t processes = 0;     // that were there
  std::size_t threads = 0;       // of these
  double time_ns = 0;            // of the run: of the thread that was there longest
  double all_ns = 0;
  double useful_ns = 0;
  RunEfficiencies efficiencies;
  double ideal_ns =
      0;  // time_ns on an ideal network, at least that of most computation; 0: not known
  double instructions = 0;  // PAPI_TOT_INS and PAPI_TOT_CYC; 0: not counted
  double cycles = 0;
};

// A place in the program: equal keys of different runs are one.
struct PlaceTime {
  enum class Kind : std::uint8_t {
    kCallPath,  // own time of a region, in the context of those around it
    kBetween,   // code of primary threads between two events
    kLoop,      // all that happens in it
  };
  Kind kind = Kind::kCallPath;
  std::string key;  // of names, files, lines and call sites
  std::string text;
  double ns = 0;
  bool mpi = false;  // a call of MPI
  double visits = 0;
  double messages = 0;  // sent and received
  double bytes = 0;
};

struct Scale {
  std::string name;     // of the archive
  std::string program;  // its file; empty: not known
  std::size_t processes = 0;
  bool mpi = false;  // processes are ranks
  std::size_t threads = 0;
  ScalePart whole;
  std::vector<ScalePart> loops;  // most time first
  std::size_t repeats =
      1;              // runs of which this is the one with the median time (medians_of())
  double spread = 0;  // longest less shortest of these, as a share of it
  // Why ideal times are not known, or how well; empty: no word is needed.
  std::string ideal_note;
  Conclusions conclusions;  // without start_ns; causes without ranks and evidence
  // Call paths add up to the whole run; the others are other views of it.
  std::vector<PlaceTime> places;  // sorted by kind and key
};

// `summaries`: of all processes, with rows of iterations; without them there are no loops. `ideal`: of the same run; none: nothing
// is known of it.
Scale scale_of(const std::vector<summary::RunSummary>& summaries, std::string name,
               const IdealRun* ideal = nullptr);

}  // namespace refrain::analysis
