// The summary of a process while it runs: the call trees of its locations with the kinds of their regions, but
// without names of the source, which would take long to look up.
//
// Place in the flow: ARCHITECTURE.md, stage 6; writer/archive_summaries.h is the one at the end.
// Thread-safety: the files may be written meanwhile: sums are at most one event apart.
// Cost: linear in the nodes of all locations. Units: ticks.
#pragma once

#include <cstdint>
#include <vector>

#include "spool/journal.h"
#include "spool/spool_reader.h"
#include "summary/run_summary.h"

namespace refrain::watch {

// `now`: what is open lasts until then.
summary::RunSummary live_summary(std::uint32_t process, const spool::Journal& journal,
                                 const spool::SpoolFacts& facts, double ticks_per_second,
                                 const std::vector<spool::SpoolFile>& locations,
                                 std::uint64_t now);

}  // namespace refrain::watch
