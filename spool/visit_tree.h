// Finds out which visits of loops lie in which.
//
// Place in the flow: inside journal.h, when all of the journal has been read. The nested
// detector reports inner loops before the one around them is known, so the reported level
// of a visit may be too low. Complete iterations nest as reported; but the last, broken
// iteration of a loop may turn out to be the begin of another loop: it is cut there.
//
// Thread-safety: pure. Cost: a sort, then O(levels) a visit.
#pragma once

#include <vector>

#include "spool/journal.h"

namespace refrain::spool {

// Sorts the visits by their begin, outer ones first, and sets level, parent and cut_ticks,
// such that two visits either lie apart or one within the other.
void nest_visits(std::vector<LoopVisit>& visits);

}  // namespace refrain::spool
