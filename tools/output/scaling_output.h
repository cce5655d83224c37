// What `refrain scaling` says of many runs: a screen, JSON, CSV. docs/reference/scaling.md says what the names mean.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/scaling/scaling.h. Pure, but what reads.
// Thread-safety: one read_scale() or read_scaling() a process at a time. Units: in the names; widths in columns.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/scaling/ensemble.h"
#include "analysis/scaling/scaling.h"
#include "base/result.h"
#include "reader/archive_stream.h"

namespace refrain::tools {

// Archives, and what directories of archives have, in the order of the names. Recordings without an archive and what cannot be read
// in such a directory are noted (base/notes.h).
std::vector<std::string> archives_in(const std::vector<std::string>& runs);

// One run, reduced to what is compared: of its summaries, or, of archives of other tools, of all their events. With or without its time
// on an ideal network, for which events of MPI are replayed.
enum class IdealTimes : bool { kUnknown, kReplayed };
base::Result<analysis::Scale> read_scale(const std::string& archive,
                                         IdealTimes ideal = IdealTimes::kReplayed);
// Three runs or more of one size, by their definitions. What cannot be read is found later.
bool are_of_one_size(const std::vector<std::string>& archives);
// Of such runs. `progress` (may be empty): of runs.
base::Result<analysis::Ensemble> read_ensemble(const std::vector<std::string>& archives,
                                               const reader::Progress& progress);
// All of them, one after the other. `progress` (may be empty): of runs.
base::Result<analysis::Scaling> read_scaling(const std::vector<std::string>& archives,
                                             const analysis::ScalingOptions& options,
                                             const reader::Progress& progress);

// `all`: every place, not only those that lose a hundredth.
std::vector<std::string> scaling_screen(const analysis::Scaling& scaling, std::size_t width,
                                        bool all);
nlohmann::ordered_json scaling_value(const analysis::Scaling& scaling);
std::string scaling_json(const analysis::Scaling& scaling);  // as text
// A line for each place or factor, run and metric.
std::string scaling_csv(const analysis::Scaling& scaling);

}  // namespace refrain::tools
