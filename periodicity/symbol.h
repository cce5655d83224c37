// Symbol: identifier of one kind of event of the program, e.g. of a parallel region's call site.
#pragma once

#include <cstdint>

namespace refrain::periodicity {

using Symbol = std::uint64_t;

}  // namespace refrain::periodicity
