// BodyTable: gives a loop body its identity, so that a loop that comes back is recognised.
//
// Place in the flow: inside FlatLoopDetector.
// Thread-safety: none. Cost: bounded, allocates in the constructor only.
//
// A body is a cyclic word: abc, bca and cab are one loop, caught at different moments.
// It is identified by the hash of its minimal rotation, which is the same for all of them,
// and by its length. Two bodies with the same 64-bit hash count as one: they share a number,
// nothing else.
//
// The table is set-associative; the body not seen for longest makes room, and gets a new
// identity if it comes back.
#pragma once

#include <cstdint>
#include <vector>

#include "periodicity/loop_detector.h"

namespace refrain::periodicity {

// Index at which the lexicographically minimal rotation of `body` begins. O(size).
std::uint32_t least_rotation(const Symbol* body, std::uint32_t size) noexcept;

class BodyTable {
 public:
  struct Body {
    std::uint64_t hash = 0;      // of the minimal rotation
    std::uint64_t last_use = 0;  // 0 = never
    std::uint32_t size = 0;
    std::uint32_t id = 0;
    std::uint32_t visits = 0;
    std::uint32_t start = 0;  // where an iteration begins, counted in the minimal rotation
  };

  // Keeps about `capacity` bodies.
  explicit BodyTable(std::uint32_t capacity);

  // The entry of the body with this hash and size; a fresh one has visits = 0. Valid
  // until the next call.
  Body& find_or_add(std::uint64_t hash, std::uint32_t size) noexcept;

 private:
  static constexpr std::uint32_t kWays = 4;
  std::vector<Body> bodies_;
  std::uint64_t set_mask_;
  std::uint64_t uses_ = 0;
  std::uint32_t next_id_ = 0;
};

}  // namespace refrain::periodicity
