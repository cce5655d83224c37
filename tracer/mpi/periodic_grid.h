// PeriodicGrid: how far a partner is on a Cartesian communicator that is closed to a ring in some
// dimension, so that all of its ranks say the same of their neighbours.
//
// Place in the flow: ARCHITECTURE.md, stage 2; partners in the event flow graph (call.h).
// Source: Fürlinger/Skinner, section 3.1 and Fig. 2: partners are equal if their direction is.
//
// A distance is the partner's rank less the own one, as on an open grid; across the end of a ring it is
// that of a neighbour in the middle. In each ring the shorter way counts, of two equal ones the upwards.
// So different directions have different distances.
//
// Thread-safety: after the construction, any thread. Units: ranks in the communicator, which lie
// row by row (MPI). Cost: a load and a comparison for partners that came before (32 of them); else
// two divisions a dimension.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refrain::mpi {

class PeriodicGrid {
 public:
  // Of each dimension, the first one outermost: ranks; not 0: a ring; own place.
  PeriodicGrid(std::span<const int> sizes, std::span<const int> periods,
               std::span<const int> own);

  int distance(int rank) const noexcept {
    std::atomic<std::uint64_t>& known = known_[static_cast<unsigned>(rank) % kKept];
    const std::uint64_t word = known.load(std::memory_order_relaxed);
    if (static_cast<std::int32_t>(word >> 32) == rank) [[likely]]
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(word));
    const int found = find(rank);
    known.store(std::uint64_t{static_cast<std::uint32_t>(rank)} << 32 |
                    static_cast<std::uint32_t>(found),
                std::memory_order_relaxed);
    return found;
  }

 private:
  struct Dimension {
    int size;
    bool ring;
    int own;
  };
  static constexpr std::size_t kKept = 32;

  int find(int rank) const noexcept;

  std::vector<Dimension> dimensions_;  // the innermost first
  // rank << 32 | its distance. No rank is negative.
  mutable std::array<std::atomic<std::uint64_t>, kKept> known_;
};

}  // namespace refrain::mpi
