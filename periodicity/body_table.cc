#include "periodicity/body_table.h"

#include <algorithm>
#include <bit>

namespace refrain::periodicity {

// Two candidates i and j run against each other; the one that loses a comparison is
// moved past the part with which it lost, since no rotation beginning there can win.
std::uint32_t least_rotation(const Symbol* body, std::uint32_t size) noexcept {
  const auto at = [&](std::uint32_t index) {
    return body[index < size ? index : index - size];
  };
  std::uint32_t i = 0;
  std::uint32_t j = 1;
  std::uint32_t same = 0;
  while (i < size && j < size && same < size) {
    const Symbol a = at(i + same);
    const Symbol b = at(j + same);
    if (a == b) {
      ++same;
      continue;
    }
    (a > b ? i : j) += same + 1;
    if (i == j) ++j;
    same = 0;
  }
  return std::min(i, j);
}

BodyTable::BodyTable(std::uint32_t capacity)
    : bodies_(std::bit_ceil(std::max(capacity, kWays))),
      set_mask_(bodies_.size() / kWays - 1) {}

BodyTable::Body& BodyTable::find_or_add(std::uint64_t hash, std::uint32_t size) noexcept {
  Body* const set = &bodies_[((hash >> 32) & set_mask_) * kWays];
  Body* victim = set;
  for (Body* body = set; body != set + kWays; ++body) {
    if (body->last_use != 0 && body->hash == hash && body->size == size) {
      body->last_use = ++uses_;
      return *body;
    }
    if (body->last_use < victim->last_use) victim = body;
  }
  *victim = Body{hash, ++uses_, size, next_id_++, 0, 0};
  return *victim;
}

}  // namespace refrain::periodicity
