// Loops that the detector found, joined with those of the code: what each function and loop takes of an iteration.
//
// Place in the flow: after sampled_profile.h, with the loops of `refrain info`; printed by code_profile/loop_text.h.
//
// Both are named by the line of the `for`, so a detected loop is the loop of the code with its file and line
// (several where the compiler made copies). Samples count for it where one of these is on their stack.
// Threads that an OpenMP region started have no stack below the loop around the region: what they do there is
// not in it, but the same thread's part of the region is.
// Thread-safety: pure. Cost: samples' nodes times the depth of stacks, for each detected loop.
#pragma once

#include <vector>

#include "code_profile/loop_profile.h"
#include "code_profile/samples/placed_samples.h"

namespace refrain::code_profile {

// `profile`: of `processes`. Of `found`, with their parts, those that are in the code and have samples; by elapsed time.
std::vector<DetectedLoop> joined_loops(const LoopProfile& profile,
                                       const std::vector<PlacedSamples>& processes,
                                       std::vector<DetectedLoop> found);

}  // namespace refrain::code_profile
