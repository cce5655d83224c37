// Loops that could run in parallel: high in the loop call graph, with a large part of all, and with neither OpenMP nor calls
// of MPI in them.
//
// Place in the flow: after loop_profile.h, for loop_text.h. Thread-safety: pure.
// The rule is in docs/reference/loops.md. Whether iterations depend on each other is not known here.
// In exact profiles a function's callers are not told apart: a loop in a function that is called in a parallel region and
// outside of one counts as in it. Samples know their stacks, but only what was on them.
// Cost: linear in the graph.
// Source: Moseley et al., section 5.3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// Which functions belong to parallel regions of OpenMP, by their names.
//
// Pure. Runtimes: libomp (LLVM, Intel), libgomp.

// Begins a region, a worksharing loop or a task, or is_outlined(): "main.omp_outlined", "main._omp_fn.0".
bool is_parallel(std::string_view function);

// Code of a region or task that the compiler has made a function of.
bool is_outlined(std::string_view function);

// A library that runs or traces programs, whose loops are not the program's: OpenMP's, MPI's, C's, the loader.
bool is_runtime_library(std::string_view module_path);

}  // namespace refrain::code_profile
