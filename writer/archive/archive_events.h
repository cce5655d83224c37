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
#include "writer/archive/process_facts.h"
#include "writer/interpret/location_writer.h"
#include "writer/messages/clock_map.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// How locations are numbered: through all processes of the archive, threads before streams.
struct FirstNumbers {
  std::uint64_t location = 0;   // of these processes
  std::uint64_t stream = 0;     // likewise
  std::uint64_t locations = 0;  // of all
};

// Which of the program's own threads began which others, as far as that will be in the archive: likewise.
void plan_threads(const MpiJob::Models& models, const regions::RegionTable& regions,
                  unsigned threads);

// Which handles the calls on files need that will be in the archive: of each process that has any, by a pass that writes
// nothing. After gaps are planned, before definitions get their references.
void plan_files(const MpiJob::Models& models, const regions::RegionTable& regions,
                unsigned threads);

// By process and location. `mpi`: nullptr without MPI.
std::vector<std::vector<LocationOutcome>> write_events(
    Otf2Archive& archive, const MpiJob::Models& models, const MpiJob* mpi,
    const regions::RegionTable& regions, const FirstNumbers& first, unsigned threads);

// --- Marks in the archive what Refrain did and why: loops detected, writing suspended and
// resumed, patterns broken, limits reached.
//
// Place in the flow: ARCHITECTURE.md, stage 5, after the events. Markers are on the location
// that feeds the detector. With marks=summary, one more for each gap says how many
// iterations were skipped and how long they took.
// Thread-safety: none. Errors: the archive's. Cost: linear in the number of gaps, visits and
// mismatches.

// `clock`: to the clock of rank 0, which readers do not apply to markers; nullptr: none.
std::vector<MarkerFacts> markers_of(const ProcessModel& process,
                                    const std::vector<regions::RegionDef>& regions,
                                    bool recovered, const ClockMap* clock = nullptr);

// Of all processes, in order of their numbers in the archive.
void write_markers(Otf2Archive& archive, const std::vector<ProcessFacts>& processes);

}  // namespace refrain::writer
