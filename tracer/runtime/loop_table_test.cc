#include "tracer/runtime/loop_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

#include "spool/summary_areas.h"

namespace refrain::runtime::loop_table_test {
namespace {

struct Bench {
  Bench() { table.open(area.data()); }
  filters::LoopCounts& visit(std::uint32_t loop, std::uint16_t level) {
    filters::LoopMark mark{};
    mark.loop = loop;
    mark.level = level;
    mark.body_events = 10 + loop;
    mark.ticks = ++ticks;
    return *table.begin_visit(mark);
  }
  spool::LoopTable read() const { return spool::read_loop_table(area); }

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines{spool::kLoopTableBytes / sizeof(Line)};
  std::span<std::byte> area{lines.front().bytes, spool::kLoopTableBytes};
  LoopTable table;
  std::uint64_t ticks = 100;
};

}  // namespace

TEST_CASE("LoopTable: a table that others write to - is not read") {
  Bench bench;
  for (std::uint32_t loop = 0; loop < 300; ++loop) {
    std::ranges::fill(bench.area, std::byte{0xff});
    const auto level = static_cast<std::uint16_t>(loop % 40);
    const auto* const counts =
        reinterpret_cast<const std::byte*>(&bench.visit(loop, level));
    CHECK(counts > bench.area.data());
    CHECK(counts < bench.area.data() + bench.area.size());
    std::ranges::fill(bench.area, std::byte{0xff});
    bench.table.end_visit(static_cast<std::uint16_t>(level / 2));
  }
}

TEST_CASE("LoopTable: a nest - visits, iterations, and what is open") {
  Bench bench;
  CHECK(bench.read().loops.empty());
  CHECK(bench.read().open.empty());
  filters::LoopCounts& outer = bench.visit(7, 0);
  outer.begin(0, 200);
  for (int visit = 0; visit < 3; ++visit) {
    filters::LoopCounts& inner = bench.visit(4, 1);
    for (std::uint64_t i = 0; i < 10; ++i) {
      inner.begin(i, 1000 + i);
      inner.end(5 + i);
    }
    if (visit < 2) bench.table.end_visit(1);
  }
  bench.visit(4, 1).begin(3, 4000);
  const spool::LoopTable table = bench.read();
  REQUIRE(table.loops.size() == 2);
  CHECK(table.open == std::vector<std::size_t>{0, 1});
  CHECK(table.loops[0].loop == 7);
  CHECK(table.loops[0].parent == spool::kNoLoop);
  CHECK(table.loops[0].body_events == 17);
  CHECK(table.loops[0].first_ticks == 101);
  CHECK(table.loops[0].visits == 1);
  CHECK(table.loops[0].iterations == 0);
  CHECK(table.loops[0].begin_ticks == 200);
  CHECK(table.loops[0].recent_ticks.empty());
  const spool::LoopTable::Loop& inner = table.loops[1];
  CHECK(inner.loop == 4);
  CHECK(inner.parent == 7);
  CHECK(inner.level == 1);
  CHECK(inner.visits == 4);
  CHECK(inner.iterations == 30);
  CHECK(inner.total_ticks == 3 * (10 * 5 + 45));
  CHECK(inner.least_ticks == 5);
  CHECK(inner.greatest_ticks == 14);
  CHECK(inner.number == 3);
  CHECK(inner.begin_ticks == 4000);
  REQUIRE(inner.recent_ticks.size() == spool::kRecentIterations);
  CHECK(inner.recent_ticks.back() == 14);
  CHECK(inner.recent_ticks.front() == 9);
  // The outer loop is left, and with it the inner one.
  bench.table.end_visit(0);
  CHECK(bench.read().open.empty());
  CHECK(bench.read().loops[1].begin_ticks == 0);
}

TEST_CASE("LoopTable: more loops than places - the last entry has the rest") {
  Bench bench;
  constexpr std::uint32_t kLoops = 1000;
  for (int visit = 0; visit < 2; ++visit)
    for (std::uint32_t loop = 0; loop < kLoops; ++loop) {
      filters::LoopCounts& counts = bench.visit(loop * 512 + 3, 0);
      counts.begin(0, 1);
      counts.end(2);
      bench.table.end_visit(0);
    }
  const spool::LoopTable table = bench.read();
  REQUIRE(table.loops.size() == spool::kLoopEntries);
  std::uint64_t iterations = 0;
  for (std::size_t i = 0; i < table.loops.size(); ++i) {
    const bool last = i + 1 == table.loops.size();
    CHECK(table.loops[i].loop == (last ? spool::kNoLoop : i * 512 + 3));
    if (!last) CHECK(table.loops[i].visits == 2);
    iterations += table.loops[i].iterations;
  }
  CHECK(iterations == 2 * kLoops);
  // They have no sums of their own.
  spool::Journal journal;
  spool::add_loop_sums(table, journal);
  CHECK(journal.summaries.size() == spool::kLoopEntries - 1);
  CHECK(journal.loops.size() == spool::kLoopEntries - 1);
}

TEST_CASE("LoopTable: damaged - as far as it fits together") {
  Bench bench;
  bench.visit(1, 0);
  auto* const header = reinterpret_cast<spool::LoopTableHeader*>(bench.area.data());
  header->entries.store(0xffffffff);
  header->open_levels.store(0xffffffff);
  header->open_entry[1].store(0xffffffff);
  const spool::LoopTable table = bench.read();
  CHECK(table.loops.size() == spool::kLoopEntries);
  CHECK(table.open.size() == spool::kOpenLoops - 1);
  CHECK(spool::read_loop_table(bench.area.first(1000)).loops.empty());
  CHECK(spool::read_loop_table({}).loops.empty());
}

TEST_CASE("LoopTable: no area - iterations are counted nowhere") {
  LoopTable table;
  table.open(nullptr);
  filters::LoopMark mark{};
  filters::LoopCounts* const counts = table.begin_visit(mark);
  REQUIRE(counts != nullptr);
  counts->begin(0, 1);
  counts->end(1);
  table.end_visit(0);
}

}  // namespace refrain::runtime::loop_table_test
