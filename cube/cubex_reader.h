// Reads an experiment from a file of Cube (.cubex): Score-P's, Scalasca's, Refrain's.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: any thread.
//
// Read are metrics, regions, call paths, processes and locations, and values of 8, 4, 2 and 1 bytes, in either byte order,
// dense or sparse, as they are or compressed (zlib). Left out, with a note: metrics whose values are not single
// numbers (TAU_ATOMIC, HISTOGRAM, ...), and those that Cube computes from others (derived ones). Of the machine the nodes
// that have processes are kept. The file is not trusted.
// Cost: memory for the values, 8 bytes each.
// Source: the files and what CubeLib 4.8 reads (dimensions/metric, service/cubelayout).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cube/experiment.h"

namespace refrain::cube {

struct ReadExperiment {
  Experiment experiment;
  std::vector<std::string> notes;  // what was left out, a line each
};

base::Result<ReadExperiment> read_cubex(const std::string& file);

}  // namespace refrain::cube
