#include "tracer/mpi/periodic_grid.h"

namespace refrain::mpi {

PeriodicGrid::PeriodicGrid(std::span<const int> sizes, std::span<const int> periods,
                           std::span<const int> own) {
  dimensions_.reserve(sizes.size());
  for (std::size_t i = sizes.size(); i-- != 0;)
    dimensions_.push_back({sizes[i], periods[i] != 0, own[i]});
  for (auto& known : known_) known.store(~std::uint64_t{0}, std::memory_order_relaxed);
}

__attribute__((noinline)) int PeriodicGrid::find(int rank) const noexcept {
  int distance = 0;
  int stride = 1;
  for (const Dimension& dimension : dimensions_) {
    int steps = rank % dimension.size - dimension.own;
    rank /= dimension.size;
    if (dimension.ring) {
      if (2 * steps > dimension.size) steps -= dimension.size;
      if (2 * steps <= -dimension.size) steps += dimension.size;
    }
    distance += steps * stride;
    stride *= dimension.size;
  }
  return distance;
}

}  // namespace refrain::mpi
