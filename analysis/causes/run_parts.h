// The time of a run by loop, iteration and process: rows of all threads on one grid of iterations.
//
// Place in the flow: private to analysis/causes. Thread-safety: pure. Units: ns.
// Shapes: a frame is an outermost loop that all processes have; its cells are iterations that have rows of their own in each
// process, counted through all visits from 0; of kMaxParts parts at most, neighbours are one cell. The first frame, without a name,
// is what is outside of these loops. Where all processes visit them in the same order, its cells are the stretches of time before,
// between and after visits, and in these from one meeting of all processes to the next. Else it is one cell, as it is not known
// what in one process was when in another.
// What workers of nested teams are late is no part of their rows: of what these have outside of regions it is management, as in the
// profile, in cells with regions first.
// Cost: O(rows of all threads x log cells).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causes/root_causes.h"
#include "analysis/profile/iteration_profile.h"
#include "analysis/profile/run_profile.h"

namespace refrain::analysis {

inline constexpr std::size_t kMaxParts = std::size_t{1} << 22;

// Of a process in some iterations.
struct Part {
  double work = 0;      // of the primary thread: outside of MPI's communication
  double unknown = 0;   // the part of it of which nothing is known
  double mpi = 0;       // of the primary thread, in it
  double messages = 0;  // the part of it in point-to-point and one-sided communication
  double mpi_all = 0;   // of all threads in it, and of those that have no work meanwhile
  double start = 0;     // of the primary thread, in start and end of MPI
  double start_all =
      0;              // likewise of all threads, and of those that have no work meanwhile
  double serial = 0;  // of threads without work otherwise, outside of parallel regions
  double after_single = 0;       // likewise in these: at the end of single blocks
  double useful = 0;             // of all threads
  double imbalance = 0;          // of all threads, at the end of parallel regions and loops
  double core_wait = 0;          // of all threads: ready to run without a core
  double core_wait_at_work = 0;  // of the primary thread, in `work`: estimated
  double core_wait_in_mpi =
      0;  // in `mpi`, for ranks without a core, beyond what any wait for work of others: likewise
};

struct Frame {
  std::string loop;                  // empty: outside of loops
  std::uint64_t iterations = 0;      // of a loop: also those without rows
  std::vector<Amount> cells;         // `each` is 0
  std::vector<Part> parts;           // by cell, then process
  std::vector<std::size_t> moments;  // by cell: which of RunParts

  Part& at(std::size_t cell, std::size_t process) {
    return parts[cell * (parts.size() / cells.size()) + process];
  }
  const Part& at(std::size_t cell, std::size_t process) const {
    return parts[cell * (parts.size() / cells.size()) + process];
  }
};

struct RunParts {
  struct Moment {
    std::size_t frame = 0;
    std::size_t cell = 0;
    bool apart = false;  // nothing is known of what was before it
    // Outside of loops, from the start of recording: of the process that begins first, and of that which ends last.
    double begin_ns = 0;
    double end_ns = 0;
  };
  std::vector<std::size_t> threads;  // by process
  std::vector<Frame> frames;
  std::vector<Moment> moments;  // all cells, in the order of time
  // These cells of the first frame, in their order, become frames of their own, which come last.
  void set_apart(const std::vector<std::size_t>& cells);

  const Part& at(const Moment& moment, std::size_t process) const {
    return frames[moment.frame].at(moment.cell, process);
  }

  Ledger ledger{};  // kUnevenRanks is in kCommunication still
};

RunParts parts_of(const RunProfile& profile, const ProfileTotals& totals,
                  const IterationProfile& iterations);

}  // namespace refrain::analysis
