// Rows of iterations with a call tree, for tests. Thread-safety: one thread. Ownership: its own memory.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>

#include "spool/summary_areas.h"
#include "tracer/recorder/call_tree.h"
#include "tracer/recorder/summary_area.h"
#include "tracer/recorder/thread_rows.h"

namespace refrain::recorder::synthetic_rows {

using Kind = IterationStep::Kind;
using spool::CallKey;

inline constexpr std::uint64_t kBegin = 1'000'000'000;

struct Area {
  explicit Area(std::uint64_t rows, unsigned counters = 0)
      : Area(rows, counters, 16 << 20) {}
  Area(std::uint64_t rows, unsigned counters, std::uint64_t memory)
      : area(spool::row_offset(rows, counters), memory), tree_area(1 << 20) {
    REQUIRE(rows_.open(area.begin(), area.size(), rows, counters, kBegin, area.memory()));
    REQUIRE(
        tree.open(tree_area.begin(), tree_area.size(), tree_area.memory(), rows_.times()));
  }
  IterationRows::Now now(std::uint64_t ticks) const {
    return {ticks, tree.class_since(), tree.current_class(), nullptr};
  }
  spool::IterationRows read(std::uint64_t end) const {
    return spool::read_iteration_rows(area.bytes(),
                                      spool::read_call_tree(tree_area.bytes()), end, end);
  }

  SummaryArea area, tree_area;
  IterationRows rows_;
  CallTree tree;
};

inline CallKey key_of(unsigned which) {
  constexpr std::uint8_t kImplicitBarrier = 9, kExplicitBarrier = 3;
  switch (which) {
    case 0:
      return CallKey::make(spool::kWorkBegin, 1, 7);
    case 1:
      return CallKey::make(spool::kSyncRegionBegin, kExplicitBarrier, 8);
    case 2:
      return CallKey::make(spool::kSyncRegionBegin, kImplicitBarrier, 9);
    case 3:
      return CallKey::make(spool::kParallelBegin, 0, 10);
    default:
      return CallKey::make(spool::kMpiEnter, 0, 11);
  }
}

}  // namespace refrain::recorder::synthetic_rows
