// What a process allocated, with the names of its call paths.
//
// Place in the flow: ARCHITECTURE.md, stage 5: from the spool's table to the summary, for archive_summaries.h.
// Thread-safety: as the model's resolver: one thread. Errors: functions that are not found are named by their address.
// Cost: each address is looked up once.
#pragma once

#include "base/memory_use.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// Of the paths, those that matter most; the others are added to `rest`.
base::MemoryCalls allocations_of(const ProcessModel& model);

}  // namespace refrain::writer
