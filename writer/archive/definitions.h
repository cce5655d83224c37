// Writes the global definitions of an archive: strings, clock, system tree, locations,
// regions, teams.
//
// Place in the flow: ARCHITECTURE.md, stage 5, after the events, because only then the
// number of events of each location is known.
// Locations come process by process; their references: location_reference.h.
// Thread-safety: none, one thread. Ownership: nothing is kept.
// Cost: linear in the definitions.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "regions/region_table.h"
#include "writer/archive/process_facts.h"
#include "writer/messages/mpi_comms.h"

namespace refrain::writer {

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

}  // namespace refrain::writer
