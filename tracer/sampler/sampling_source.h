// Starts the session of a program that nothing else starts: one that `refrain run --loops` has become,
// whether it is parallel or not. The main thread is recorded then, from before main on.
//
// Place in the flow: ARCHITECTURE.md, step 2. Children that it starts are left to their own event
// sources: a launcher or a shell makes many that nobody asked for.
#pragma once

namespace refrain::sampler {

// The variable with the number of the process that is to be sampled in any case.
inline constexpr const char* kSampledProcess = "REFRAIN_SAMPLED_PROCESS";

}  // namespace refrain::sampler
