// The words of root causes: sentences, and their parts.
//
// Place in the flow: private to analysis/causes. Thread-safety: pure. Units: ns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causes/root_causes.h"

namespace refrain::analysis {

std::string time_text(double ns);
std::string percent_text(double share);  // "12 %"
// "in all 200 iterations of main ring.c:9-12", "between 1.2 s and 3 s of the run"; empty: outside of loops, not at one time
std::string when_text(const RootCause& cause);
std::string ranks_text(const std::vector<std::uint32_t>& ranks);  // "ranks 0-3"
// "12 ms, 3 % of the time of all threads"
std::string lost_text(const RootCause& cause);
// A sentence that begins with `what`; empty: next to nothing. `run`: what is shorter then, if it is no loop.
std::string gain_text(const RootCause& cause, const std::string& what,
                      const std::string& run);
// What shares are of.
const char* run_text(const Conclusions& conclusions);
// With a capital letter.
std::string as_sentence(std::string text);

}  // namespace refrain::analysis
