// What `refrain scaling` and reports say of an ensemble: a screen, JSON, CSV. docs/reference/scaling.md says what the names mean.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/scaling/ensemble.h. Pure. Units: in the names; widths in columns.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/scaling/ensemble.h"

namespace refrain::tools {

// `all`: every member, not only the first ones.
std::vector<std::string> ensemble_screen(const analysis::Ensemble& ensemble,
                                         std::size_t width, bool all);
nlohmann::ordered_json ensemble_value(const analysis::Ensemble& ensemble);
std::string ensemble_json(const analysis::Ensemble& ensemble);  // as text
// A line for each member.
std::string ensemble_csv(const analysis::Ensemble& ensemble);

}  // namespace refrain::tools
