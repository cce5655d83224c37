// The .pcf and the .row of a Paraver trace: the names of numbers and objects.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after formats.h.
// Thread-safety: none. Errors: those of the file.
// Cost: linear in the definitions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "convert/paraver_regions.h"
#include "convert/text_file.h"
#include "reader/trace.h"

namespace refrain::convert {

// Paraver's numbers for the objects of an archive, from 1 on.
struct ParaverObjects {
  std::vector<std::uint32_t> cpus;       // by location
  std::vector<std::uint32_t> node_cpus;  // number of CPUs by node
  std::vector<std::uint32_t> cpu_nodes;  // by CPU, from 0: index of the node
};
ParaverObjects paraver_objects(const reader::TraceDefinitions& definitions);

// Event type of each metric.
std::vector<std::uint32_t> paraver_metric_types(
    const reader::TraceDefinitions& definitions);

// Number of a communicator for `process`: MPI_COMM_SELF has a different one in each.
std::uint64_t paraver_comm(const reader::TraceDefinitions& definitions, std::uint32_t comm,
                           std::uint32_t process);

void write_pcf(TextFile& file, const reader::TraceDefinitions& definitions,
               const ParaverRegions& regions,
               const std::vector<std::uint32_t>& metric_types);
void write_row(TextFile& file, const reader::TraceDefinitions& definitions,
               const ParaverObjects& objects);

}  // namespace refrain::convert
