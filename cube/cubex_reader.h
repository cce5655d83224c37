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

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cube/experiment.h"

namespace refrain::cube {

struct ReadExperiment {
  Experiment experiment;
  std::vector<std::string> notes;  // what was left out, a line each
};

base::Result<ReadExperiment> read_cubex(const std::string& file);

// The values of one metric in a file of Cube: N.index and N.data.
//
// Thread-safety: pure. Nothing in them is trusted.

enum class Number : std::uint8_t {
  kDouble,
  kSigned64,
  kUnsigned64,
  kSigned32,
  kUnsigned32,
  kSigned16,
  kUnsigned16,
  kSigned8,
  kUnsigned8
};

struct MetricRow {
  std::uint32_t row = 0;
  std::vector<double> values;  // by location
};

// `rows`, `locations`: how many there can be.
base::Result<> read_metric(std::string_view index, std::string_view data, Number number,
                           std::uint32_t rows, std::uint32_t locations,
                           std::vector<MetricRow>& out);

}  // namespace refrain::cube
