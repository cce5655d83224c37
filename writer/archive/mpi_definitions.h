// Writes the definitions that concern MPI: locations, groups, communicators, windows,
// Cartesian topologies, places of calls.
//
// Place in the flow: ARCHITECTURE.md, stage 5; a part of definitions.h.
// In the archive: the locations of MPI are the primary location of each process, by rank; a
// communicator is a group of ranks; MPI_COMM_SELF has a group kind of its own. Groups and
// communicators are numbered after those of OpenMP teams.
// Thread-safety: none, one thread. Ownership: nothing is kept.
// Thread-safety: none, one thread. Ownership: nothing is kept.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "regions/region_table.h"
#include "writer/messages/mpi_comms.h"

namespace refrain::writer {

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
