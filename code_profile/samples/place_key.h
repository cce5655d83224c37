// What makes a place of samples the same in all processes: its kind, its module and address, or, of what stands for code that
// was not found, its name.
//
// Place in the flow: for sampled_profile.h and detected_loops.h. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "code_profile/loop_profile.h"
#include "code_profile/samples/placed_samples.h"

namespace refrain::code_profile {

using PlaceKey = std::tuple<SamplePlace::Kind, std::string, std::uint64_t>;

inline PlaceKey key_of(const SamplePlace& place) {
  const bool unknown = place.kind == SamplePlace::Kind::kUnknown;
  return {place.kind, unknown ? place.function : place.module, place.address};
}

// Of the node that is made of such places.
inline PlaceKey key_of(const Node& node) {
  using Kind = SamplePlace::Kind;
  const Kind kind = node.unknown   ? Kind::kUnknown
                    : node.is_loop ? Kind::kLoop
                                   : Kind::kFunction;
  return {kind, node.unknown ? node.function : node.module, node.address};
}

}  // namespace refrain::code_profile
