// A profile of loops as text (the flat profile of the paper's Fig. 5, functions, and candidates for parallelism) and
// as JSON (docs/loops.md has the format).
//
// Place in the flow: after loop_profile.h. Thread-safety: pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "code_profile/loop_profile.h"

namespace refrain::code_profile {

// "nest.c:9 in main (irreducible)"; functions without parameters.
std::string title_of(const Node& node);

// `share`: only loops and functions with this part of all at least, in the text, and among the candidates. A trip count is
// printed for at most `trips` different numbers of iterations of a loop.
std::string flat_text(const LoopProfile& profile, double share, std::size_t trips = 10);
nlohmann::ordered_json profile_value(const LoopProfile& profile, double share = 0.01);
std::string profile_json(const LoopProfile& profile, double share = 0.01);

}  // namespace refrain::code_profile
