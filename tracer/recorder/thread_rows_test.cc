#include "tracer/recorder/thread_rows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <span>
#include <vector>

#include "spool/summary_areas.h"
#include "tracer/recorder/call_tree.h"
#include "tracer/recorder/synthetic_rows.h"

namespace refrain::recorder::thread_rows_test {
namespace {

using namespace synthetic_rows;

// A program that does something in each iteration, and what the rows must be: kept the plain way,
// a row for each iteration.
class Program {
 public:
  struct Iteration {
    std::uint64_t begin;
    std::uint64_t loop;
    std::uint64_t number;
    std::array<std::int64_t, spool::kRowClasses> times{};
  };

  Program(Area& area, unsigned seed) : area_(area), random_(seed) {
    open_row(spool::kNoLoopRow, 0);
  }

  void work() {
    for (int i = 0; i < 6; ++i) {
      spend(1 + random_() % 50);
      if (open_.size() < 4 && random_() % 2 == 0) {
        area_.tree.enter(key_of(random_() % 5), ticks_);
        open_.push_back(area_.tree.current_class());
      } else if (!open_.empty()) {
        area_.tree.leave(ticks_);
        open_.pop_back();
      }
      CHECK(area_.tree.current_class() == cls());
    }
  }
  void iteration(std::uint32_t loop, std::uint64_t number, bool first) {
    IterationStep step{.first = first, .loop = loop, .number = number, .total = total_++};
    if (first) step.border = ++borders_;
    take(step);
    open_row(loop, number);
  }
  void left(std::uint32_t loop, std::uint64_t complete) {
    take({.kind = Kind::kLeft,
          .loop = loop,
          .number = complete,
          .total = total_,
          .border = ++borders_});
    open_row(spool::kNoLoopRow, 0);
  }
  std::uint64_t ticks() const { return ticks_; }
  std::uint64_t iterations() const { return total_; }
  const std::vector<Iteration>& expected() const { return rows_; }

 private:
  std::uint8_t cls() const {
    return open_.empty() ? std::uint8_t{spool::kOutsideClass} : open_.back();
  }
  void spend(std::uint64_t ticks) {
    ticks_ += ticks;
    rows_.back().times[cls()] += static_cast<std::int64_t>(ticks);
  }
  void open_row(std::uint64_t loop, std::uint64_t number) {
    rows_.push_back({ticks_, loop, number, {}});
  }
  void take(IterationStep step) {
    step.ticks = ticks_;
    area_.rows_.set_total(total_);
    area_.rows_.step(step, area_.now(ticks_));
  }

  Area& area_;
  std::mt19937_64 random_;
  std::uint64_t ticks_ = kBegin;
  std::uint64_t total_ = 0, borders_ = 0;
  std::vector<std::uint8_t> open_;
  std::vector<Iteration> rows_;
};

// Each row is the sum of the iterations from its start to its end.
void compare(const spool::IterationRows& rows, const Program& program) {
  REQUIRE_FALSE(rows.damaged);
  REQUIRE_FALSE(rows.rows.empty());
  CHECK(rows.rows.front().begin == kBegin);
  CHECK(rows.rows.back().end == program.ticks());
  std::size_t next = 0;
  std::uint64_t iterations = 0;
  for (const spool::IterationRows::Row& row : rows.rows) {
    std::array<std::int64_t, spool::kRowClasses> times{};
    std::uint64_t count = 0;
    const auto& all = program.expected();
    REQUIRE(next < all.size());
    CHECK(all[next].begin == row.begin);
    for (; next != all.size() && (all[next].begin < row.end || &row == &rows.rows.back());
         ++next) {
      count += all[next].loop != spool::kNoLoopRow;
      if (count == 1 && all[next].loop != spool::kNoLoopRow &&
          row.loop != spool::kMixedRow) {
        CHECK(row.loop == all[next].loop);
        CHECK(row.first == all[next].number);
      }
      for (std::size_t i = 0; i < times.size(); ++i) times[i] += all[next].times[i];
    }
    CHECK(row.times == times);
    CHECK(row.count == count);
    iterations += row.count;
  }
  CHECK(next == program.expected().size());
  CHECK(iterations == program.iterations());
}

TEST_CASE("IterationRows: one loop - a row for each iteration, with all of its time") {
  Area area(100);
  Program program(area, 1);
  program.work();
  for (std::uint64_t i = 3; i < 40; ++i) {
    program.iteration(5, i, i == 3);
    program.work();
    program.work();
  }
  program.left(5, 40);
  program.work();
  const auto rows = area.read(program.ticks());
  CHECK(rows.rows.size() == 39);
  compare(rows, program);
}

TEST_CASE("IterationRows: more iterations than rows - merged two by two, sums as before") {
  for (const std::uint64_t capacity : {16, 17, 50, 64}) {
    for (unsigned seed = 1; seed <= 8; ++seed) {
      CAPTURE(capacity, seed);
      Area area(capacity);
      Program program(area, seed);
      std::mt19937_64 random(seed);
      for (std::uint32_t visit = 0; visit < 1 + seed % 4; ++visit) {
        const std::uint64_t first = random() % 5, count = 1 + random() % 1500;
        program.work();
        for (std::uint64_t i = 0; i < count; ++i) {
          program.iteration(visit, first + i, i == 0);
          program.work();
        }
        program.left(visit, first + count);
      }
      program.work();
      const auto rows = area.read(program.ticks());
      CHECK(rows.rows.size() <= capacity);
      CHECK(rows.rows.size() > capacity / 4);
      compare(rows, program);
    }
  }
}

TEST_CASE("IterationRows: very many short visits - merged as well, sums as before") {
  Area area(32);
  Program program(area, 9);
  for (std::uint32_t visit = 0; visit < 2000; ++visit) {
    program.work();
    for (std::uint64_t i = 0; i < 3; ++i) {
      program.iteration(visit % 2, i, i == 0);
      program.work();
    }
    program.left(visit % 2, 3);
  }
  const auto rows = area.read(program.ticks());
  CHECK(rows.rows.size() <= 32);
  CHECK(rows.rows.size() > 8);
  CHECK(std::any_of(rows.rows.begin(), rows.rows.end(),
                    [](const auto& row) { return row.loop == spool::kMixedRow; }));
  compare(rows, program);
}

// Steps that no detector reports: each would begin a row, however few are kept.
TEST_CASE("IterationRows: steps of number 0 only - no more rows than fit") {
  Area area(16);
  for (std::uint64_t total = 1; total <= 1000; ++total) {
    const std::uint64_t ticks = kBegin + 10 * total;
    IterationStep step{.loop = 1, .number = 0, .total = total - 1};
    step.ticks = ticks;
    area.rows_.set_total(total);
    area.rows_.step(step, area.now(ticks));
  }
  const spool::IterationRows read = area.read(kBegin + 20'000);
  CHECK_FALSE(read.damaged);
  CHECK(read.rows.size() <= 16);
  std::uint64_t iterations = 0;
  for (const auto& row : read.rows) iterations += row.count;
  CHECK(iterations == 1000);
}

TEST_CASE(
    "IterationRows: threads with tables of different sizes - begins of the coarser one") {
  Area fine(256), coarse(32);
  Program a(fine, 3), b(coarse, 3);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    for (Program* program : {&a, &b}) {
      program->iteration(1, i, i == 0);
      program->work();
    }
  }
  std::vector<std::uint64_t> begins;
  for (const auto& row : fine.read(a.ticks()).rows) begins.push_back(row.begin);
  for (const auto& row : coarse.read(b.ticks()).rows)
    CHECK(std::binary_search(begins.begin(), begins.end(), row.begin));
}

TEST_CASE("IterationRows: killed at any moment of a merge - the sums are there") {
  Area area(32);
  Program program(area, 4);
  for (std::uint64_t i = 0; i < 31; ++i) {
    program.iteration(1, i, i == 0);
    program.work();
  }
  const auto before = area.read(program.ticks());
  REQUIRE(before.rows.size() == 32);
  // As merge() does, with the row that comes next torn.
  auto* const header = reinterpret_cast<spool::IterationRowsHeader*>(area.area.begin());
  auto* const rows = reinterpret_cast<spool::IterationRow*>(
      reinterpret_cast<std::byte*>(header) + spool::kIterationRowsHeaderBytes);
  for (std::uint64_t merged = 1; merged < 16; ++merged) {
    rows[merged] = rows[2 * merged];
    header->state.store(spool::RowState{32, merged + 1, 2 * merged + 2}.word());
    spool::IterationRow& torn = rows[merged + 1];
    const spool::IterationRow whole = torn;
    if (merged + 1 < 16) torn.begin = 7;
    const auto read = area.read(program.ticks());
    torn = whole;
    REQUIRE_FALSE(read.damaged);
    CHECK(read.rows.size() == 32 - merged - 1);
    std::array<std::int64_t, spool::kRowClasses> sums{}, all{};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      for (const auto& row : read.rows) sums[i] += row.times[i];
      for (const auto& row : before.rows) all[i] += row.times[i];
    }
    CHECK(sums == all);
  }
}

TEST_CASE("IterationRows: damaged areas - nothing is read from outside of them") {
  Area area(64, 1);
  Program program(area, 2);
  for (std::uint64_t i = 0; i < 50; ++i) {
    program.iteration(1, i, i == 0);
    program.work();
  }
  const std::span<const std::byte> bytes = area.area.bytes();
  const spool::CallTree none;
  for (std::size_t size = 0; size < bytes.size(); size += 61)
    (void)spool::read_iteration_rows(bytes.first(size), none, program.ticks(),
                                     program.ticks());
  std::mt19937_64 random(6);
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    const std::size_t most = i % 2 == 0 ? 256 : bytes.size();
    for (int k = 0; k < 3; ++k) copy[random() % most] = static_cast<std::byte>(random());
    const auto read =
        spool::read_iteration_rows(copy, none, program.ticks(), program.ticks());
    for (std::size_t k = 1; k < read.rows.size(); ++k)
      REQUIRE(read.rows[k].begin == read.rows[k - 1].end);
  }
}

// Where memory ends before rows do: fewer, and all of the time is still there.
TEST_CASE("IterationRows: little memory - rows are merged as if there were fewer") {
  Area area(4096, 0, 40 << 10);
  Program program(area, 3);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    program.iteration(1, i, i == 0);
    program.work();
  }
  const spool::IterationRows read = area.read(program.ticks());
  CHECK_FALSE(read.damaged);
  constexpr std::size_t kFit = 9 * kSummaryPage / sizeof(spool::IterationRow);
  CHECK(read.rows.size() > 43 * kFit / 100);
  CHECK(read.rows.size() <= kFit);
  CHECK(area.area.memory().used() <= 40 << 10);
  CHECK(area.area.made_once());
  CHECK(read.rows.front().begin == kBegin);
  CHECK(read.rows.back().end == program.ticks());
  std::uint64_t iterations = 0;
  for (const auto& row : read.rows) iterations += row.count;
  CHECK(iterations == 3000);
}

TEST_CASE("IterationRows: no room - nothing is kept, nothing happens") {
  SummaryArea area(8192, 1 << 20), little(1 << 20, 4096);
  IterationRows rows;
  CHECK_FALSE(rows.open(area.begin(), 4096, 4096, 0, kBegin, area.memory()));
  CHECK_FALSE(rows.open(area.begin(), area.size(), 4, 0, kBegin, area.memory()));
  CHECK_FALSE(rows.open(little.begin(), little.size(), 4096, 0, kBegin, little.memory()));
  IterationStep step;
  CHECK_FALSE(rows.step(step, {kBegin, kBegin, 0, nullptr}));
  rows.pass(1, {kBegin, kBegin, 0, nullptr});
  CHECK(rows.times() == nullptr);
}

}  // namespace
}  // namespace refrain::recorder::thread_rows_test
