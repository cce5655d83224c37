#include "test/support/loop_nest.h"

namespace refrain::test {
namespace {

using Random = std::mt19937_64;

std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
  return least + random() % (most - least + 1);
}

LoopNest make(const NestShape& shape, int depth, Random& random, std::uint64_t& symbol) {
  LoopNest nest;
  const std::uint64_t events = between(random, 2, shape.events);
  const std::uint64_t extra = shape.extras ? between(random, 1, events) : events;
  for (std::uint64_t k = 0; k < events; ++k) {
    nest.parts.emplace_back().symbol = symbol++;
    if (k == extra) {
      nest.parts.back().every = between(random, 2, 20);
    }
  }
  for (std::uint64_t loops = depth > 1 ? between(random, 1, 2) : 0; loops != 0; --loops) {
    LoopNest::Part part;
    part.loop = std::make_unique<LoopNest>(make(shape, depth - 1, random, symbol));
    const std::uint64_t trips = between(random, 4, shape.trips);
    part.least_trips = shape.trips_vary ? trips - trips / 4 : trips;
    part.most_trips = shape.trips_vary ? trips + trips / 4 : trips;
    const auto where = static_cast<std::ptrdiff_t>(between(random, 1, nest.parts.size()));
    nest.parts.insert(nest.parts.begin() + where, std::move(part));
    nest.parts.emplace_back().symbol = symbol++;  // no two loops side by side
  }
  return nest;
}

void run(const LoopNest& nest, std::uint64_t iteration, Random& random, Stream& symbols) {
  for (const auto& part : nest.parts) {
    if ((iteration + 1) % part.every != 0) continue;
    if (part.loop == nullptr) {
      symbols.push_back(part.symbol);
      continue;
    }
    const std::uint64_t trips = between(random, part.least_trips, part.most_trips);
    for (std::uint64_t trip = 0; trip < trips; ++trip) {
      run(*part.loop, trip, random, symbols);
    }
  }
}

}  // namespace

LoopRun random_nest(const NestShape& shape, std::uint64_t seed) {
  Random random(seed);
  std::uint64_t symbol = 0;
  LoopRun result;
  for (std::uint64_t k = between(random, 0, 20); k != 0; --k) {
    result.symbols.push_back(symbol++);
  }
  const LoopNest nest = make(shape, shape.depth, random, symbol);
  for (std::uint64_t trip = 0; trip < shape.outer_trips; ++trip) {
    result.iterations.push_back(result.symbols.size());
    run(nest, trip, random, result.symbols);
  }
  result.end = result.symbols.size();
  for (std::uint64_t k = between(random, 0, 20); k != 0; --k) {
    result.symbols.push_back(symbol++);
  }
  return result;
}

}  // namespace refrain::test
