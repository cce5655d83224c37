// How much memory is allocated with `new`. Linking this replaces the program's operators.
#pragma once

#include <cstddef>

namespace refrain::simulation {

std::size_t live_bytes() noexcept;
// The maximum since the last call of forget_peak().
std::size_t peak_bytes() noexcept;
void forget_peak() noexcept;

}  // namespace refrain::simulation
