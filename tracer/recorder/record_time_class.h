// The class of a region's own time, by the record that opens it.
//
// Place in the flow: ARCHITECTURE.md, stage 3: asked by CallTree for each new node. It is that of the
// region in the archive (analysis/profile/run_profile.h); record_time_class_test compares both.
// The implicit barrier after a `single` is limited parallelism: what came before it the first time
// decides. The wait in a barrier has the barrier's class.
// Thread-safety: class_of_region() from any thread; set_mpi_classes() before the first call of MPI.
#pragma once

#include <atomic>
#include <cstdint>

#include "spool/summary_format.h"
#include "summary/time_class.h"

namespace refrain::recorder {

// Of MPI's procedures, by their numbers; lives as long as the process.
struct MpiClasses {
  const summary::TimeClass* classes = nullptr;
  std::uint32_t count = 0;
};
void set_mpi_classes(const MpiClasses& classes) noexcept;

// `parent`: class of the time of what lies around it; `before`: its predecessor, a sibling, or none.
summary::TimeClass class_of_region(spool::CallKey key, spool::CallKey parent_key,
                                   summary::TimeClass parent,
                                   spool::CallKey before) noexcept;

}  // namespace refrain::recorder
