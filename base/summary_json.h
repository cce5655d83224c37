// Parts of a summary's JSON; private to base.
//
// Place in the flow: ARCHITECTURE.md, step 11. Thread-safety: pure.
// Errors: std::runtime_error, what is wrong in one line.
#pragma once

#include <cstddef>

#include "base/iteration_rows.h"
#include "base/json_values.h"

namespace refrain::base::summary_json {

using namespace json_values;

// The rows of a location. `loops`, `counters`: how many there are in the summary.
json to_json(const IterationRows& rows);
IterationRows iteration_rows_of(const json& from, std::size_t loops, std::size_t counters);

}  // namespace refrain::base::summary_json
