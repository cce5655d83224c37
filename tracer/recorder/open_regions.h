// The stack of a location's open regions: which end belongs to which begin.
//
// Place in the flow: ARCHITECTURE.md, stage 3; private to ThreadRecorder. Pure functions.
#pragma once

#include <cstdint>

#include "spool/format.h"

namespace refrain::recorder {

// Index of the region that `end_record` ends in a stack of `depth`, or `depth`.
inline std::uint32_t match(const spool::Record* stack, std::uint32_t depth,
                           std::uint8_t end_kind) {
  for (std::uint32_t i = depth; i-- > 0;)
    if ((stack[i].kind & ~spool::kSnapshot) == spool::begin_of(end_kind)) return i;
  return depth;
}

}  // namespace refrain::recorder
