// Loops that could run in parallel: high in the loop call graph, with a large part of all, and with neither OpenMP nor calls
// of MPI in them.
//
// Place in the flow: after loop_profile.h, for loop_text.h. Thread-safety: pure.
// The rule is in docs/loops.md. Whether iterations depend on each other is not known here.
// In exact profiles a function's callers are not told apart: a loop in a function that is called in a parallel region and
// outside of one counts as in it. Samples know their stacks, but only what was on them.
// Cost: linear in the graph.
// Source: Moseley et al., section 5.3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "code_profile/loop_profile.h"

namespace refrain::code_profile {

struct Candidate {
  std::uint32_t node = 0;
  std::uint32_t level =
      0;  // how many loops are around it at least, also in functions that call it
  // Uses files, is entered at several places, or runs on several threads already.
  bool doubtful = false;
  // A few words each.
  std::vector<std::string> in_favour{}, against{};
};

// With this part of all at least; by total, then outer ones first.
std::vector<Candidate> candidates(const LoopProfile& profile, double share);

}  // namespace refrain::code_profile
