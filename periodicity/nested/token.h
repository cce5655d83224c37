// Token: what the nested detector reads: one event, or one whole visit of a known loop.
//
// Place in the flow: inside NestedDetector.
#pragma once

#include <cstdint>

#include "periodicity/expected_events.h"
#include "periodicity/loop_detector.h"
#include "periodicity/symbol_hash.h"

namespace refrain::periodicity {

struct Token {
  // What is compared: the symbol, or a hash of the loop's number. The number of
  // iterations is no part of it: visits with 23 and with 25 are the same token.
  std::uint64_t id = 0;
  std::uint64_t position = 0;  // of its first event
  std::uint64_t events = 1;
  std::uint32_t body = kNoBody;
  std::uint16_t depth = 0;  // the least one inside
};

constexpr std::uint64_t loop_token_id(std::uint32_t loop) noexcept {
  return mix(0xc2b2ae3d27d4eb4fu + loop);
}

}  // namespace refrain::periodicity
