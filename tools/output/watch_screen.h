// What `refrain watch` says of a running job, as lines that fit a terminal, and as JSON (docs/reference/watch.md).
//
// Place in the flow: ARCHITECTURE.md, stage 7, after watch/live_run.h.
// Pure. Thread-safety: none needed. Units: widths in columns; JSON's are in the names.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "watch/live_run.h"

namespace refrain::tools {

// `lines`: of the terminal; ranks and loops that do not fit are left out, and said to be. 0: all.
std::vector<std::string> watch_screen(const watch::RunState& run, std::size_t columns,
                                      std::size_t lines);

// One line.
std::string watch_json(const watch::RunState& run);

}  // namespace refrain::tools
