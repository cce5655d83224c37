// What a process allocated, as it stands in its summary (docs/reference/summary.md, "allocations").
//
// Place in the flow: inside summary. Thread-safety: pure functions. Errors: as summary_json.h; nothing in the file is believed.
#pragma once

#include "base/json_values.h"
#include "base/memory_use.h"

namespace refrain::summary::summary_json {

nlohmann::json to_json(const base::MemoryCalls& calls);
base::MemoryCalls memory_calls_of(const nlohmann::json& from);

}  // namespace refrain::summary::summary_json
