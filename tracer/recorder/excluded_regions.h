// Which regions the run's filter leaves out, for sums that cannot be taken apart afterwards: what came
// after what in the event flow graph, and the time by class in rows of iterations.
//
// Place in the flow: ARCHITECTURE.md, stage 3: asked by CallTree for each new node, and by FlowGraph for
// each event that has no node. Names are no concern of recorders: who knows them says how to ask
// (tracer/runtime/live_filter.h).
// Thread-safety: is_excluded() from any thread; set_excluded() before the first recorder is used.
// Cost: without a filter a load; with one that of what was set.
#pragma once

#include <cstdint>

#include "spool/summary_format.h"

namespace refrain::recorder {

// `team`: address of the innermost parallel region around it, 0: none.
using IsExcluded = bool (*)(spool::CallKey key, std::uint64_t team) noexcept;

// Null: there is no filter.
void set_excluded(IsExcluded asked) noexcept;

bool is_excluded(spool::CallKey key, std::uint64_t team) noexcept;

}  // namespace refrain::recorder
