// Writes the events of all locations of a process or several, in parallel.
//
// Place in the flow: ARCHITECTURE.md, step 7; location_writer.h writes one of them.
// Thread-safety: one thread calls. Errors: the archive's; nothing more is written after one.
// Cost: that of location_writer.h, divided by the threads.
#pragma once

#include <cstdint>
#include <vector>

#include "writer/archive/otf2_archive.h"
#include "writer/archive/region_table.h"
#include "writer/job/mpi_job.h"
#include "writer/process/location_input.h"

namespace refrain::writer {

// By process and location. `mpi`: nullptr without MPI. `first_location`: the number of
// locations before those of `models`.
std::vector<std::vector<LocationOutcome>> write_events(
    Otf2Archive& archive, const MpiJob::Models& models, const MpiJob* mpi,
    const RegionTable& regions, std::uint64_t first_location, unsigned threads);

}  // namespace refrain::writer
