// Rows of iterations: which steps of loops and phases begin one, on the thread that makes them and on others.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "tracer/recorder/boards.h"
#include "tracer/recorder/synthetic_rows.h"

namespace refrain::recorder::iteration_row_steps_test {
namespace {

using namespace synthetic_rows;

TEST_CASE("IterationRows: an iteration that breaks - its row is what follows the loop") {
  Area area(100);
  std::uint64_t ticks = kBegin;
  const auto step = [&](IterationStep step) {
    step.ticks = ticks += 10;
    return area.rows_.step(step, area.now(ticks));
  };
  CHECK(step({.first = true, .loop = 2, .number = 0, .total = 0, .border = 1}));
  CHECK(step({.loop = 2, .number = 1, .total = 1}));
  CHECK(step({.kind = Kind::kLeft, .loop = 2, .number = 1, .total = 1, .border = 2}));
  area.rows_.set_total(1);
  const auto rows = area.read(ticks + 100).rows;
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].loop == 2);
  CHECK(rows[1].count == 1);
  CHECK(rows[2].loop == spool::kNoLoopRow);
  CHECK(rows[2].count == 0);
  CHECK(rows[2].begin == kBegin + 20);
  CHECK(rows[2].end == kBegin + 130);
}

// A fork is fed after its region has begun in the call tree.
TEST_CASE("IterationRows: a loop that is left before regions begin - it ended then") {
  Area area(16);
  const auto step = [&](IterationStep step, std::uint64_t ticks, std::uint64_t now) {
    step.ticks = kBegin + ticks;
    IterationRows::Now here = area.now(kBegin + now);
    const CallTree::ClassBefore before = area.tree.class_before();
    here.before_since = before.since;
    here.before_cls = before.cls;
    return area.rows_.step(step, here);
  };
  step({.first = true, .loop = 2, .number = 0, .total = 0, .border = 1}, 10, 10);
  area.tree.enter(key_of(2), kBegin + 10);
  area.tree.leave(kBegin + 20);
  area.rows_.set_total(1);
  area.tree.enter(key_of(2), kBegin + 100);
  area.tree.enter(key_of(1), kBegin + 100);
  CHECK(area.tree.class_before().since == kBegin + 20);
  CHECK(step({.kind = Kind::kLeft, .loop = 2, .number = 1, .total = 1, .border = 2}, 20,
             100));
  area.tree.leave(kBegin + 130);
  area.tree.leave(kBegin + 130);
  CHECK(area.tree.class_before().since == kBegin + 130);
  const auto rows = area.read(kBegin + 140).rows;
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].begin == kBegin + 10);
  CHECK(rows[1].end == kBegin + 20);
  CHECK(rows[2].end == kBegin + 140);
  const auto sum = [](const auto& row) {
    return std::accumulate(row.times.begin(), row.times.end(), std::uint64_t{0});
  };
  CHECK(sum(rows[1]) <= 10);
  CHECK(sum(rows[2]) <= 120);
}

TEST_CASE("IterationRows: phases - what lies between them has rows of its own") {
  Area area(16);
  std::uint64_t ticks = kBegin, total = 0;
  const auto step = [&](IterationStep step) {
    step.ticks = ticks += 10;
    area.rows_.step(step, area.now(ticks));
  };
  for (std::uint64_t i = 0; i < 6; ++i) {
    step({.first = i == 0, .loop = 2, .number = i, .total = total, .border = 1});
    area.rows_.set_total(++total);
    step({.kind = Kind::kBetween, .loop = 2, .total = total});
  }
  step({.kind = Kind::kLeft, .loop = 2, .number = 6, .total = total, .border = 2});
  auto rows = area.read(ticks).rows;
  REQUIRE(rows.size() == 13);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i].count == i % 2);
    CHECK(rows[i].loop == (i % 2 == 1 ? 2 : spool::kNoLoopRow));
    CHECK(rows[i].begin == kBegin + 10 * i);
  }
}

TEST_CASE(
    "IterationRows: meetings - rows between them, which loops do not lose theirs for") {
  Area area(4096);
  std::uint64_t ticks = kBegin, meetings = 0;
  const auto step = [&](IterationStep step) {
    step.ticks = ticks += 10;
    return area.rows_.step(step, area.now(ticks));
  };
  const auto meet = [&](std::uint64_t number) {
    for (std::uint64_t i = 0; i < number; ++i)
      step({.kind = Kind::kMeeting, .number = ++meetings});
  };
  meet(20);
  auto rows = area.read(ticks).rows;
  REQUIRE(rows.size() == 21);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].first == i);
    CHECK(rows[i].loop == spool::kNoLoopRow);
    CHECK(rows[i].count == 0);
    CHECK(rows[i].begin == kBegin + 10 * i);
  }
  step({.first = true, .loop = 2, .border = 1});
  for (std::uint64_t i = 1; i < 500; ++i) step({.loop = 2, .number = i, .total = i});
  step({.kind = Kind::kLeft, .loop = 2, .number = 500, .total = 500, .border = 2});
  area.rows_.set_total(500);
  meetings += 500;  // in the loop
  meet(1000);
  rows = area.read(ticks).rows;
  std::uint64_t iterations = 0, outside = 0, last = 0;
  for (const auto& row : rows) {
    if (row.loop == 2) {
      CHECK(row.count == 1);
      ++iterations;
      continue;
    }
    ++outside;
    // From one meeting on that all threads and ranks keep.
    if (row.first == 0) continue;
    CHECK(row.first % 16 == 0);
    CHECK(row.first > last);
    last = row.first;
  }
  CHECK(iterations == 500);
  CHECK(outside > 16);
  CHECK(outside <= 64 + 2);
  for (std::size_t i = 1; i < rows.size(); ++i) CHECK(rows[i - 1].end == rows[i].begin);
  CHECK(rows.back().end == ticks);
}

TEST_CASE("IterationRows: meetings - memory is the loops'") {
  Area area(16);
  std::uint64_t ticks = kBegin;
  const auto step = [&](IterationStep step) {
    step.ticks = ticks += 10;
    return area.rows_.step(step, area.now(ticks));
  };
  for (std::uint64_t i = 1; i <= 40; ++i) step({.kind = Kind::kMeeting, .number = i});
  step({.first = true, .loop = 2, .border = 1});
  for (std::uint64_t i = 1; i < 1000; ++i) {
    step({.loop = 2, .number = i, .total = i});
    area.rows_.set_total(i + 1);
  }
  const auto rows = area.read(ticks).rows;
  CHECK(rows.size() <= 16);
  std::uint64_t iterations = 0;
  for (const auto& row : rows) iterations += row.count;
  CHECK(iterations == 1000);
}

TEST_CASE("IterationRows: other threads - rows begin where they passed the epoch") {
  IterationBoard board;
  Area area(64);
  const CallKey task = CallKey::make(spool::kImplicitTaskBegin, 0, 1);
  const auto publish = [&](std::uint64_t number, std::uint64_t epoch, std::uint64_t ticks) {
    board.publish({.first = number == 0,
                   .loop = 3,
                   .number = number,
                   .total = number,
                   .border = 1,
                   .ticks = ticks,
                   .epoch = epoch});
  };
  // Before its region begins: when the iteration did, for it was idle.
  publish(0, 1, kBegin + 100);
  area.rows_.follow(board, 1, area.now(kBegin + 130));
  area.tree.enter(task, kBegin + 130);
  // In a region: iterations begin after a barrier, which it has passed before it is known.
  area.rows_.pass(2, area.now(kBegin + 200));
  area.rows_.follow(board, 2, area.now(kBegin + 200));
  publish(1, 2, kBegin + 205);
  area.tree.enter(key_of(1), kBegin + 250);
  area.tree.leave(kBegin + 300);
  area.rows_.pass(3, area.now(kBegin + 300));
  area.rows_.follow(board, 3, area.now(kBegin + 300));
  // Of a later epoch: not yet.
  publish(2, 5, kBegin + 400);
  area.rows_.follow(board, 3, area.now(kBegin + 310));
  area.tree.leave(kBegin + 350);
  // While it slept.
  publish(3, 6, kBegin + 500);
  area.rows_.follow(board, 7, area.now(kBegin + 600));
  const auto rows = area.read(kBegin + 700).rows;
  REQUIRE(rows.size() == 5);
  const auto useful = static_cast<std::size_t>(summary::TimeClass::kUseful);
  const auto sync = static_cast<std::size_t>(summary::TimeClass::kSynchronization);
  const std::uint64_t begins[] = {0, 100, 200, 400, 500};
  const std::int64_t outside[] = {100, 30, 50, 100, 200}, inside[] = {0, 70, 100, 0, 0},
                     waits[] = {0, 0, 50, 0, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(rows[i].begin == kBegin + begins[i]);
    CHECK(rows[i].times[spool::kOutsideClass] == outside[i]);
    CHECK(rows[i].times[useful] == inside[i]);
    CHECK(rows[i].times[sync] == waits[i]);
    CHECK(rows[i].count == (i == 0 ? 0 : 1));
  }
}

TEST_CASE("IterationRows: a thread that is far behind - its row covers what it missed") {
  IterationBoard board;
  Area area(1000);
  for (std::uint64_t i = 0; i < 600; ++i)
    board.publish({.first = i == 0,
                   .loop = 3,
                   .number = i,
                   .total = i,
                   .ticks = kBegin + 10 * i,
                   .epoch = i});
  area.rows_.follow(board, 600, area.now(kBegin + 6000));
  const auto rows = area.read(kBegin + 7000).rows;
  CHECK(rows.size() == IterationBoard::kKept - 1);
  CHECK(rows[0].count == 600 - IterationBoard::kKept + 2);
  CHECK(rows[1].first == 600 - IterationBoard::kKept + 2);
  CHECK(rows.back().count == 1);
}

TEST_CASE("IterationRows: counters - what they were at the end of each row") {
  Area area(64, 2);
  std::uint64_t ticks = kBegin;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::uint64_t values[] = {100 * i, i};
    area.rows_.set_counters(values, 2);
    IterationStep step{
        .first = i == 0, .loop = 1, .number = i, .total = i, .ticks = ticks += 5};
    area.rows_.step(step, area.now(ticks));
  }
  const std::uint64_t last[] = {1000, 9};
  area.rows_.set_counters(last, 2);
  const auto rows = area.read(ticks + 5).rows;
  REQUIRE(rows.size() == 6);
  for (std::uint64_t i = 0; i < 5; ++i) {
    CHECK(rows[i].counters == std::vector<std::uint64_t>{100 * i, i});
  }
  CHECK(rows[5].counters == std::vector<std::uint64_t>{1000, 9});
}

TEST_CASE("IterationRows: use of the machine - of each row, what it grew by") {
  Area area(64);
  std::uint64_t ticks = kBegin;
  for (std::uint64_t i = 0; i < 5; ++i) {
    area.rows_.set_use({100 * i * i, 300 * i, 10 * i, i});
    IterationStep step{
        .first = i == 0, .loop = 1, .number = i, .total = i, .ticks = ticks += 5};
    area.rows_.step(step, area.now(ticks));
  }
  area.rows_.set_use({5000, 1201, 41, 9});
  const auto rows = area.read(ticks + 5).rows;
  REQUIRE(rows.size() == 6);
  CHECK(rows[0].use == spool::RowUse{});
  for (std::uint64_t i = 0; i < 4; ++i)
    CHECK(rows[i + 1].use == spool::RowUse{100 * (2 * i + 1), 300, 10, 1});
  CHECK(rows[5].use == spool::RowUse{3400, 1, 1, 5});
}

TEST_CASE("IterationRows: killed between the stores of a change - complete up to there") {
  Area area(64);
  area.tree.enter(key_of(0), kBegin + 100);
  auto* const header = reinterpret_cast<spool::IterationRowsHeader*>(area.area.begin());
  area.tree.enter(key_of(1), kBegin + 150);
  header->times[static_cast<std::size_t>(summary::TimeClass::kSynchronization)] +=
      kBegin + 150;
  const auto rows = area.read(kBegin + 200).rows;
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].times[spool::kOutsideClass] == 100);
  CHECK(rows[0].times[0] == 50);
  CHECK(rows[0].times[static_cast<std::size_t>(summary::TimeClass::kSynchronization)] ==
        50);
}

TEST_CASE("IterationRows: rows after the end of a team that a thread has not learned of") {
  IterationBoard board;
  Area area(64);
  area.tree.enter(CallKey::make(spool::kImplicitTaskBegin, 0, 1), kBegin + 100);
  area.tree.enter(key_of(2), kBegin + 150);
  for (std::uint64_t i = 0; i < 3; ++i)
    board.publish({.first = i == 0,
                   .loop = 3,
                   .number = i,
                   .total = i,
                   .ticks = kBegin + 200 + 100 * i,
                   .epoch = 9});
  area.rows_.follow(board, 9, area.now(kBegin + 500));
  const auto rows = spool::read_iteration_rows(
      area.area.bytes(), spool::read_call_tree(area.tree_area.bytes()), kBegin + 220,
      kBegin + 600);
  REQUIRE(rows.rows.size() == 4);
  const auto imbalance = static_cast<std::size_t>(summary::TimeClass::kImbalance);
  const std::int64_t inside[] = {50, 20, 0, 0}, outside[] = {100, 80, 100, 200};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(rows.rows[i].times[imbalance] == inside[i]);
    CHECK(rows.rows[i].times[spool::kOutsideClass] == outside[i]);
  }
}

TEST_CASE(
    "IterationRows: a loop that comes round late - inner rows lie in its first iteration") {
  Area area(100);
  Area other(100);  // of a thread that follows
  std::uint64_t ticks = kBegin;
  IterationBoard board;
  const auto step = [&](IterationStep step) {
    step.ticks = ticks += 10;
    if (area.rows_.step(step, area.now(ticks))) board.publish(step);
    other.rows_.follow(board, ~std::uint64_t{0}, other.now(ticks));
  };
  step({.kind = Kind::kMeeting, .number = 1});
  ticks += 5;
  IterationRows::Moment begin;
  REQUIRE(area.rows_.moment(ticks, area.now(ticks), begin));
  const std::uint64_t since = ticks;
  // An inner loop of three iterations, before anybody knows of the one around it.
  for (std::uint64_t i = 0; i < 3; ++i) {
    step({.first = i == 0, .loop = 2, .number = i, .total = i, .border = 1});
    area.rows_.set_total(i + 1);
  }
  step({.kind = Kind::kLeft, .loop = 2, .number = 3, .total = 3, .border = 2});
  IterationStep late{
      .kind = Kind::kCameRound, .loop = 5, .total = 3, .border = 3, .ticks = since};
  area.rows_.came_round(late, &begin);
  area.rows_.follow_own();
  board.publish(late);
  step({.first = true, .loop = 5, .number = 1, .total = 3, .border = 4});
  area.rows_.set_total(4);
  for (const bool follows : {false, true}) {
    CAPTURE(follows);
    const auto rows = (follows ? other : area).read(ticks + 10).rows;
    REQUIRE(rows.size() == (follows ? 7 : 8));
    std::uint64_t at = kBegin, begun = 0;
    for (const auto& row : rows) {
      CHECK(row.begin == at);
      at = row.end;
      const bool inside = row.begin >= since && row.loop != 5;
      CHECK(row.around == (inside ? 5 : spool::kNoLoopRow));
      CHECK(row.count == (row.loop == spool::kNoLoopRow ? 0 : 1));
      begun += row.begins_around;
      if (row.begins_around) CHECK(row.begin == since);
    }
    CHECK(begun == (follows ? 0 : 1));
    CHECK(rows.back().loop == 5);
    CHECK(rows.back().first == 1);
  }
}

}  // namespace
}  // namespace refrain::recorder::iteration_row_steps_test
