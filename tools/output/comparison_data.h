// What `refrain compare --json` says of two archives.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after analysis/comparison/comparison.h. Pure. Thread-safety: none
// needed. Units: each row names its own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analysis/comparison/comparison.h"

namespace refrain::tools {

// `first`, `second`: names of the archives.
nlohmann::ordered_json comparison_value(const analysis::Comparison& comparison,
                                        const std::string& first,
                                        const analysis::TraceProfile& a,
                                        const std::string& second,
                                        const analysis::TraceProfile& b);

}  // namespace refrain::tools
