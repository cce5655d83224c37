// What `refrain scaling` says of many runs: a screen, JSON, CSV. docs/reference/scaling.md says what the names mean.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/scaling/scaling.h. Pure, but read_scale().
// Thread-safety: one read_scale() a process at a time. Units: in the names; widths in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/scaling/scaling.h"
#include "base/result.h"

namespace refrain::tools {

// One run, reduced to what is compared: of its summaries, or, of archives of other tools, of all their events.
base::Result<analysis::Scale> read_scale(const std::string& archive);

// `all`: every place, not only those that lose a hundredth.
std::vector<std::string> scaling_screen(const analysis::Scaling& scaling, std::size_t width,
                                        bool all);
std::string scaling_json(const analysis::Scaling& scaling);
// A line for each place or factor, run and metric.
std::string scaling_csv(const analysis::Scaling& scaling);

}  // namespace refrain::tools
