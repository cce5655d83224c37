// Ranks on clocks that only go on while they work: what each waits in MPI for the one that is last, and how long all take.
//
// Place in the flow: private to analysis/causes; a replay of the summaries' iterations. Thread-safety: pure. Units: ns.
// Method: at each moment a rank's clock goes on by what it has to do. Who is ahead waits for the one that is last, as far as it was in
// MPI then or at the next moment (iterations begin with the call that waits, or end with it), and its clock is that one's then.
// What it did not wait it is ahead until it is in MPI again, but no collective operation leaves it ahead: at the latest the next
// one; of a single one, what it had to do less at that moment may have been after it. (Where nobody is in collective operations for
// as long as that takes, these are each process' own.) So ranks that have more work in turn, and do
// not wait meanwhile, cost nothing.
// Source: computation replaced on the processes' own clocks as Dimemas does (Badia et al., 2003), by iterations instead of events.
// Cost: O(moments x processes).
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analysis/causes/run_parts.h"

namespace refrain::analysis {

using ByMoment = std::vector<std::vector<double>>;  // by process, then moment

// Of each moment: the clocks before anybody waits, and what each process waits then, of its threads in MPI (Part::mpi_all).
using OnMoment = std::function<void(std::size_t moment, const std::vector<double>& clocks,
                                    const std::vector<double>& waited)>;

// `own`: what each has to do. `left`: of its primary thread's time in MPI, what may be waiting for that; without it afterwards.
// Returns the last clock at the end.
double meet(const RunParts& parts, const ByMoment& own, ByMoment& left,
            const OnMoment& on_moment = {});

}  // namespace refrain::analysis
