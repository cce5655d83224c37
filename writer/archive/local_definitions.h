// The files of local definitions: one a location, with the offsets of its process' clock.
//
// Place in the flow: ARCHITECTURE.md, stage 5, after the events. Only clock offsets are
// local definitions, but readers open the file of each location whether it has any or not.
// Thread-safety: none. Errors: the archive's. Cost: a small file a location.
#pragma once

#include <cstdint>
#include <vector>

#include "spool/mpi_journal.h"
#include "writer/archive/otf2_archive.h"

namespace refrain::writer {

// Of one process.
struct LocalDefinitions {
  std::vector<OTF2_LocationRef> locations;
  const std::vector<spool::JournalClockOffset>* offsets =
      nullptr;  // nullptr: its clock is the archive's
};

// Writes nothing more after an error.
void write_local_definitions(Otf2Archive& archive,
                             const std::vector<LocalDefinitions>& processes);

}  // namespace refrain::writer
