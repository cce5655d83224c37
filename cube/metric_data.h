// The values of one metric in a file of Cube: N.index and N.data.
//
// Place in the flow: private to cubex_reader.h. Thread-safety: pure. Nothing in them is trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace refrain::cube {

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
