// Parts of a summary's JSON; private to base.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: pure.
// Errors: std::runtime_error, what is wrong in one line.
#pragma once

#include <cstddef>

#include "base/json_values.h"
#include "summary/iteration_rows.h"

namespace refrain::summary::summary_json {

using namespace base::json_values;

// The rows of a location. `loops`, `counters`: how many there are in the summary.
json to_json(const IterationRows& rows);
IterationRows iteration_rows_of(const json& from, std::size_t loops, std::size_t counters);

}  // namespace refrain::summary::summary_json
