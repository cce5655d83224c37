// LoopNest: an artificial program of nested loops, and its stream.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "test/support/streams.h"

namespace refrain::test {

// A row of parts, each one an event or a loop. Trip counts are drawn anew at each visit.
struct LoopNest {
  struct Part {
    std::uint64_t symbol = 0;
    std::unique_ptr<LoopNest> loop;  // or an event, if empty
    std::uint64_t least_trips = 0;
    std::uint64_t most_trips = 0;
    std::uint64_t every = 1;  // takes part in every n-th iteration only
  };
  std::vector<Part> parts;
};

// What happened when it ran.
struct LoopRun {
  Stream symbols;
  // Of the outermost loop: where each iteration began, and where the last one ended.
  std::vector<std::uint64_t> iterations;
  std::uint64_t end = 0;
};

struct NestShape {
  int depth = 2;             // loops in loops
  std::uint64_t events = 8;  // most events of a body besides inner loops
  std::uint64_t trips = 30;  // of inner loops
  bool trips_vary = true;    // by a tenth or so, from visit to visit
  bool extras = false;       // some events occur every few iterations only
  std::uint64_t outer_trips = 60;
};

// A random nest of this shape, run once, between a prologue and an epilogue. Every place
// in the program has its own symbol.
LoopRun random_nest(const NestShape& shape, std::uint64_t seed);

}  // namespace refrain::test
