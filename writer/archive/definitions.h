// Writes the global definitions of an archive: strings, clock, system tree, locations,
// regions, teams.
//
// Place in the flow: ARCHITECTURE.md, stage 5, after the events, because only then the
// number of events of each location is known.
// Locations come process by process; their references: definitions.h.
// Thread-safety: none, one thread. Ownership: nothing is kept.
// Cost: linear in the definitions.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "regions/region_table.h"
#include "spool/mpi_journal.h"
#include "writer/archive/otf2_archive.h"
#include "writer/archive/process_facts.h"
#include "writer/messages/mpi_comms.h"

namespace refrain::writer {

// --- The reference of a location in the archive.
//
// Place in the flow: ARCHITECTURE.md, stage 5; events, definitions and markers use it.
// Readers derive the number of a thread in its process from the reference in two ways: from
// the upper half, or as the difference to the smallest one of the process, of which some
// keep the lower half only. So the upper half is the thread's number and the lower half
// counts through all locations of the archive, process by process.
// Thread-safety: pure.

// `first`: number of the process' first location, counted through all processes.
constexpr OTF2_LocationRef location_reference(std::uint64_t first,
                                              std::uint64_t thread) noexcept {
  return thread << 32 | (first + thread);
}

// Of a device's streams, which come after all threads of the archive. `locations`: of all processes;
// `index`: of the stream, counted through all processes; `number`: among those of its device.
constexpr OTF2_LocationRef stream_reference(std::uint64_t locations, std::uint64_t index,
                                            std::uint64_t number) noexcept {
  return number << 32 | (locations + index);
}

// Numbers strings, equal ones alike, from 0 (the empty one) on.
class StringTable {
 public:
  StringTable() { intern(""); }
  OTF2_StringRef intern(const std::string& text);
  const std::vector<const std::string*>& strings() const noexcept { return order_; }

 private:
  std::unordered_map<std::string, OTF2_StringRef> ids_;
  std::vector<const std::string*> order_;
};

struct DefinitionInput {
  const JobFacts* job = nullptr;
  const regions::RegionTable* regions = nullptr;
  StringTable* strings = nullptr;
  const CommTable* comms = nullptr;  // nullptr: no process uses MPI
  // Classes of metrics, by their references.
  const std::vector<std::vector<spool::Metric>>* metrics = nullptr;
};

OTF2_ErrorCode write_definitions(OTF2_GlobalDefWriter* writer,
                                 const DefinitionInput& input);

// --- The files of local definitions: one a location, with the offsets of its process' clock.
//
// Place in the flow: ARCHITECTURE.md, stage 5, after the events. Only clock offsets are
// local definitions, but readers open the file of each location whether it has any or not.
// Thread-safety: none. Errors: the archive's. Cost: a small file a location.

// Of one process.
struct LocalDefinitions {
  std::vector<OTF2_LocationRef> locations;
  const std::vector<spool::JournalClockOffset>* offsets =
      nullptr;  // nullptr: its clock is the archive's
};

// Writes nothing more after an error.
void write_local_definitions(Otf2Archive& archive,
                             const std::vector<LocalDefinitions>& processes);

// --- Writes the definitions that concern MPI: locations, groups, communicators, windows,
// Cartesian topologies, places of calls.
//
// Place in the flow: ARCHITECTURE.md, stage 5; a part of definitions.h.
// In the archive: the locations of MPI are the primary location of each process, by rank; a
// communicator is a group of ranks; MPI_COMM_SELF has a group kind of its own. Groups and
// communicators are numbered after those of OpenMP teams.
// Thread-safety: none, one thread. Ownership: nothing is kept.
// Thread-safety: none, one thread. Ownership: nothing is kept.

struct MpiDefinitionInput {
  const CommTable* comms = nullptr;
  std::vector<std::uint64_t> locations;  // primary location of each rank
  OTF2_GroupRef first_group = 0;
  OTF2_CommRef first_comm = 0;
  // Defines a string.
  std::function<OTF2_StringRef(const std::string&)> text;
};

OTF2_ErrorCode write_mpi_definitions(OTF2_GlobalDefWriter* writer,
                                     const MpiDefinitionInput& input);

// Paradigm, attribute and parameter, and what they refer to.
OTF2_ErrorCode write_mpi_paradigm(
    OTF2_GlobalDefWriter* writer, const std::vector<regions::SourcePlace>& places,
    const std::function<OTF2_StringRef(const std::string&)>& text);

}  // namespace refrain::writer
