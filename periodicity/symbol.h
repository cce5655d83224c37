// Symbol: identifier of one kind of event of the program, e.g. of a parallel region's call site.
#pragma once

#include <cstdint>

namespace refrain::periodicity {

using Symbol = std::uint64_t;

// A bit of symbols of communication with one other process (messages): how many of these come, and in
// which order, may depend on timing and data. Where it does, they do not decide what a loop is
// (NestedDetector).
inline constexpr Symbol kMessageSymbol = Symbol{1} << 40;

}  // namespace refrain::periodicity
