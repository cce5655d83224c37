// Writes the events of one location: passes over its records, leaves out those in the
// process' gaps, and repairs what the recorder cut.
//
// Place in the flow: ARCHITECTURE.md, stage 5; called by archive_events.cc on a pool of
// threads, one call a location.
// Gaps: a record belongs to the epoch of the last Sync before it. On every location each
// gap is an OFF and an ON of the measurement, also where nothing happened; a location
// without any Sync is cut by time. A gap that lasted until the process ended is switched ON
// again at the end, so that OFF and ON always come in pairs.
// Thread-safety: calls for different locations may run at the same time.
// Cost: one pass over the records, O(1) each; memory for the open regions.
#pragma once

#include "writer/interpret/location_input.h"

namespace refrain::writer {

LocationOutcome write_location(const LocationInput& input, EventSink& sink);

}  // namespace refrain::writer
