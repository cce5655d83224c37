// Writes the events of all locations of a process or several, in parallel.
//
// Place in the flow: ARCHITECTURE.md, stage 5; location_writer.h writes one of them.
// Thread-safety: one thread calls. Errors: the archive's; nothing more is written after one.
// Cost: that of location_writer.h, divided by the threads.
#pragma once

#include <cstdint>
#include <vector>

#include "regions/region_table.h"
#include "writer/agree/mpi_job.h"
#include "writer/archive/otf2_archive.h"
#include "writer/interpret/location_input.h"

namespace refrain::writer {

// How locations are numbered: through all processes of the archive, threads before streams.
struct FirstNumbers {
  std::uint64_t location = 0;   // of these processes
  std::uint64_t stream = 0;     // likewise
  std::uint64_t locations = 0;  // of all
};

// By process and location. `mpi`: nullptr without MPI.
std::vector<std::vector<LocationOutcome>> write_events(
    Otf2Archive& archive, const MpiJob::Models& models, const MpiJob* mpi,
    const regions::RegionTable& regions, const FirstNumbers& first, unsigned threads);

}  // namespace refrain::writer
