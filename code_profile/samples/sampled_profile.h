// The loops and functions of a sampled run, of all its processes and threads.
//
// Place in the flow: between sample_file.h and code_profile: printed and drawn as a profile of exact loops.
//
// Self: samples whose innermost place it is. Total: samples with it on their stack; what is there several times
// (recursion) counts once, also of an edge. Processes are merged by module and place in its file.
// Thread-safety: plain values. Errors: std::runtime_error where processes cannot be added up.
// Cost: linear in the nodes.
// Source: Moseley et al., sections 3.4, 3.5 and 4.
#pragma once

#include <vector>

#include "code_profile/loop_profile.h"
#include "code_profile/samples/placed_samples.h"

namespace refrain::code_profile {

LoopProfile sampled_profile(const std::vector<PlacedSamples>& processes);

}  // namespace refrain::code_profile
