// Settings with which the nested detector soon runs out of memory for everything.
#pragma once

#include "periodicity/nested/nested_detector.h"

namespace refrain::test {

inline constexpr periodicity::NestedSettings kLittleMemory{.history_tokens = 64,
                                                           .max_body_tokens = 16,
                                                           .max_bodies = 16,
                                                           .max_items = 1024,
                                                           .found_bits = 4,
                                                           .recognised_bits = 2,
                                                           .reach_events = 100};

}  // namespace refrain::test
