// The loops and functions of a sampled run, of all its processes and threads.
//
// Place in the flow: between sample_file.h and code_profile: printed and drawn as a profile of exact loops.
//
// Self: samples whose innermost place it is. Total: samples with it on their stack; what is there several times
// (recursion) counts once, also of an edge. Processes are merged by module and place in its file.
// Thread-safety: plain values. Fails where processes cannot be added up.
// Cost: linear in the nodes.
// Source: Moseley et al., sections 3.4, 3.5 and 4.
#pragma once

#include <vector>

#include "base/result.h"
#include "code_profile/loop_profile.h"
#include "code_profile/samples/sample_file.h"

namespace refrain::code_profile {

base::Result<LoopProfile> sampled_profile(const std::vector<PlacedSamples>& processes);

// Loops that the detector found, joined with those of the code: what each function and loop takes of an iteration.
//
// Both are named by the line of the `for`, so a detected loop is the loop of the code with its file and line
// (several where the compiler made copies). Samples count for it where one of these is on their stack.
// Threads that an OpenMP region started have no stack below the loop around the region: what they do there is
// not in it, but the same thread's part of the region is.
// Thread-safety: pure. Cost: samples' nodes times the depth of stacks, for each detected loop.

// `profile`: of `processes`. Of `found`, with their parts, those that are in the code and have samples; by elapsed time.
std::vector<DetectedLoop> joined_loops(const LoopProfile& profile,
                                       const std::vector<PlacedSamples>& processes,
                                       std::vector<DetectedLoop> found);

}  // namespace refrain::code_profile
