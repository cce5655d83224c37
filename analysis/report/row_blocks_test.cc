// Rows of iterations as pictures of columns and lines.
#include "analysis/report/row_blocks.h"

#include <catch2/catch.hpp>
#include <numeric>

namespace refrain::report::row_blocks_test {
namespace {

using analysis::IterationProfile;

constexpr std::size_t kUseful = 0, kImbalance = 2;

// `rows` of `count` iterations each; each iteration takes 10 ns, of which `waits` are imbalance.
IterationProfile::Location location(std::uint32_t process, std::uint32_t thread,
                                    std::size_t rows, std::uint64_t count, double waits) {
  IterationProfile::Location out;
  out.process = process;
  out.thread = thread;
  out.primary = thread == 0;
  out.worker = thread != 0;
  for (std::size_t i = 0; i < rows; ++i) {
    IterationProfile::Row& row = out.rows.emplace_back();
    row.loop = 0;
    row.first = i * count;
    row.count = count;
    const auto ns = static_cast<double>(10 * count);
    row.begin_ns = 100 + static_cast<double>(i) * ns;
    row.end_ns = row.begin_ns + ns;
    row.times[kImbalance] = waits * static_cast<double>(count);
    row.times[kUseful] = ns - row.times[kImbalance];
    row.counters = {count};
  }
  return out;
}

IterationProfile profile(std::uint32_t processes, std::uint32_t threads, std::size_t rows,
                         std::uint64_t count = 1) {
  IterationProfile out;
  out.counters = {"PAPI_X"};
  out.loops.push_back({.number = 3, .name = "loop 3"});
  for (std::uint32_t process = 0; process < processes; ++process)
    for (std::uint32_t thread = 0; thread < threads; ++thread)
      out.locations.push_back(location(process, thread, rows, count, thread));
  for (const auto& each : out.locations)
    for (const auto& row : each.rows)
      for (std::size_t cls = 0; cls < row.times.size(); ++cls)
        out.loops[0].times[cls] += row.times[cls];
  return out;
}

double sum(const RowPicture& picture, std::size_t kind) {
  const std::size_t plane = picture.lines.size() * picture.columns.size();
  const auto begin = picture.values.begin() + static_cast<std::ptrdiff_t>(kind * plane);
  return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(plane), 0.0);
}

TEST_CASE("Row pictures: rows of one iteration - each number in its place") {
  const RowPicture picture = row_picture(profile(1, 2, 5), 0);
  REQUIRE(picture.classes == std::vector<std::size_t>{kUseful, kImbalance});
  REQUIRE(picture.columns.size() == 5);
  REQUIRE(picture.lines.size() == 2);
  CHECK(picture.exact);
  CHECK(picture.columns[4].first == 4);
  CHECK(picture.columns[4].begin_ns == 140);
  CHECK(picture.columns[4].end_ns == 150);
  REQUIRE(picture.values.size() == 3 * 2 * 5);
  for (std::size_t column = 0; column < 5; ++column) {
    CHECK(picture.values[column] == 10);      // useful, primary
    CHECK(picture.values[5 + column] == 9);   // useful, worker
    CHECK(picture.values[15 + column] == 1);  // imbalance, worker
    CHECK(picture.values[20 + column] == 1);  // the counter
  }
}

TEST_CASE("Row pictures: iterations before the first row - columns count from there") {
  IterationProfile made = profile(1, 1, 4);
  for (IterationProfile::Row& row : made.locations[0].rows) row.first += 3;
  // Another visit, of which no row is missing.
  IterationProfile::Row again = made.locations[0].rows.back();
  again.first = 7;
  again.begin_ns += 100;
  again.end_ns += 100;
  made.locations[0].rows.push_back(again);
  const RowPicture picture = row_picture(made, 0);
  REQUIRE(picture.columns.size() == 5);
  CHECK(picture.columns[0].first == 3);
  CHECK(picture.columns[3].first == 6);
  CHECK(picture.columns[4].first == 7);
}

TEST_CASE("Row pictures: too many columns - neighbours together, sums stay") {
  const IterationProfile made = profile(2, 1, 1000);
  const RowPicture picture = row_picture(made, 0, {.columns = 300, .numbers = 100'000});
  CHECK(picture.columns.size() == 250);
  CHECK(!picture.exact);
  CHECK(picture.columns[1].first == 4);
  CHECK(picture.columns[1].count == 4);
  CHECK(sum(picture, 0) == made.loops[0].times[kUseful]);
}

TEST_CASE(
    "Row pictures: 256 ranks with 8 threads - lines of several, of which it is the mean") {
  const IterationProfile made = profile(256, 8, 40);
  const RowPicture picture = row_picture(made, 0, {.lines = 256});
  REQUIRE(picture.lines.size() == 256);
  CHECK(picture.lines[1].first == 8);
  CHECK(picture.lines[1].second == 15);
  // 0 to 7 ns of waiting in each iteration.
  CHECK(picture.values[256 * 40] == Approx(3.5));
  CHECK(sum(picture, 1) == Approx(made.loops[0].times[kImbalance] / 8));
}

TEST_CASE("Row pictures: another resolution - rows are divided between columns") {
  IterationProfile made = profile(1, 1, 8);
  made.locations.push_back(location(1, 0, 4, 2, 0));
  made.locations.push_back(location(1, 1, 2, 4, 5));  // a worker, by time
  const RowPicture picture = row_picture(made, 0);
  REQUIRE(picture.columns.size() == 8);
  REQUIRE(picture.lines.size() == 3);
  const std::size_t kinds = picture.classes.size() + 1;
  const std::size_t counter = (kinds - 1) * 3 * 8;
  for (std::size_t column = 0; column < 8; ++column) {
    CHECK(picture.values[8 + column] == Approx(10));
    CHECK(picture.values[counter + 8 + column] == Approx(1));
    CHECK(picture.values[counter + 16 + column] == Approx(1));
  }
}

TEST_CASE(
    "Row pictures: iterations that the first process did not do - go to the nearest column") {
  IterationProfile made = profile(1, 1, 2);
  made.locations.push_back(location(1, 0, 5, 1, 0));
  const RowPicture picture = row_picture(made, 0);
  REQUIRE(picture.columns.size() == 2);
  CHECK(picture.values[2] == 10);
  CHECK(picture.values[3] == 40);
}

TEST_CASE("Row pictures: a loop without rows - nothing") {
  IterationProfile made = profile(1, 1, 2);
  made.loops.push_back({.number = 9, .name = "loop 9"});
  CHECK(row_picture(made, 1).columns.empty());
}

}  // namespace
}  // namespace refrain::report::row_blocks_test
