// What readers and rank 0 say to each other in a shared analysis.
//
// Place in the flow: private to waits/parallel. Thread-safety: pure.
// A reader: kHello; then, if the answer is kGo, batches of steps, each answered, and at the end kResult. Or kError, as the last.
// Shape: the kind, then numbers and texts (exchange/bytes.h); of kSteps a prefix and the steps (step_bytes.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::waits {

enum class Say : std::uint8_t { kHello = 1, kSteps, kResult, kError, kGo, kStop };

// Batches that a reader may have sent without an answer.
inline constexpr std::size_t kAhead = 4;

}  // namespace refrain::waits
