// Archives with intervals left out: what the recorder trimmed, what it did not, and what
// was open across the edges.
#include <catch2/catch.hpp>

#include "writer/testing/ten_iterations.h"

namespace refrain::writer::gaps_test {
namespace {

using spool::make_record;
using spool::Record;
using spool::SpoolBuilder;

TEST_CASE("Gaps: trimmed - off and on at the cuts") {
  const test::TemporaryFolder folder;
  TenIterations run;
  run.builder().resumed(0, 8, 1700);
  run.trimmed(0, 8);
  run.trimmed(1, 8);
  const Written written = write_and_check(run.builder(), folder);
  CHECK(outline(written.trace, 0) == kFourSkipped);
  CHECK(outline(written.trace, 1) == kFourSkippedPlain);
  CHECK(written.result.gaps == 1);
  // Every iteration has its mark, skipped or not.
  Lines marks;
  for (const std::string& line : lines_with(written.trace, 0, "enter loop"))
    marks.push_back(line.substr(0, 4) + line.substr(line.find(" [")));
  CHECK(marks == Lines{"1000 [1]", "1101 [1]", "1201 [1]", "1301 [0]", "1401 [0]",
                       "1501 [0]", "1601 [0]", "1701 [1]", "1801 [1]", "1901 [1]"});
  CHECK(written.result.loops.at(0).written == 6);
  CHECK(written.result.loops.at(0).iterations == 10);
}

TEST_CASE("Gaps: not trimmed - a late location is cut like the others") {
  const test::TemporaryFolder folder;
  TenIterations run;
  run.builder().resumed(0, 8, 1700);
  run.trimmed(0, 8);
  run.run(1, 0, 10);
  const Written written = write_and_check(run.builder(), folder);
  CHECK(outline(written.trace, 0) == kFourSkipped);
  CHECK(outline(written.trace, 1) == kFourSkippedPlain);
}

TEST_CASE("Gaps: one cut - what one location has lost is left out on all") {
  const test::TemporaryFolder folder;
  TenIterations run;
  run.builder().resumed(0, 6, 1500);
  run.trimmed(0, 6);
  run.trimmed(1, 8);
  const Written written = write_and_check(run.builder(), folder);
  CHECK(outline(written.trace, 0) == kFourSkipped);
  CHECK(outline(written.trace, 1) == kFourSkippedPlain);
}

// Iterations of 10 000 ticks with two regions each: a short one, and one that begins after
// `second` ticks. Of iteration 3, one location has lost the part before the second.
std::uint64_t written_of_late_iteration(std::uint64_t second) {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  const auto regions = [&](std::uint32_t location, std::uint64_t first,
                           std::uint64_t last) {
    for (std::uint64_t epoch = first; epoch < last; ++epoch) {
      const bool is_second = epoch % 2 == 0;
      const std::uint64_t begin = 10'000 * (1 + (epoch - 1) / 2) + (is_second ? second : 0);
      const std::uint64_t end = begin + 40;
      if (location == 0)
        builder.location(0).region(epoch, begin, end, kAddress, 2);
      else
        builder.location(1).member(epoch, begin, end, kAddress, 1, 2);
    }
  };
  builder.loop(1, 10'000, kAddress);
  for (std::uint64_t i = 0; i < 6; ++i) builder.iteration(1, i, 10'000 * (i + 1));
  builder.left(1, 6, 69'999);
  builder.gap(0, 5, 30'000);
  builder.resumed(0, 7, 40'000);
  for (std::uint32_t location = 0; location < 2; ++location) {
    const std::uint64_t resumed_at = location == 0 ? 7 : 8;
    regions(location, 1, 5);
    builder.location(location)
        .add(spool::kSuspend, 30'500, 0, 5)
        .add(spool::kResume, 69'998, 0, resumed_at);
    regions(location, resumed_at, 13);
  }
  const Written written = write_and_check(builder, folder);
  const Lines marks = lines_with(written.trace, 0, "enter loop");
  REQUIRE(marks.size() == 6);
  CHECK(marks[2].substr(marks[2].find(" [")) == " [0]");
  CHECK(marks[4].substr(marks[4].find(" [")) == " [1]");
  const std::string& late = marks[3];
  return std::stoull(late.substr(late.find(" [") + 2));
}

TEST_CASE("Gaps: resumed late - an iteration that lacks a small part is written in part") {
  // Less than a 64th of it is missing, or there.
  CHECK(written_of_late_iteration(100) == 2);
  CHECK(written_of_late_iteration(9'900) == 2);
}

TEST_CASE("Gaps: undone - one that was too short leaves no trace") {
  const test::TemporaryFolder folder;
  TenIterations run;
  run.builder().resumed(0, 4, 1300, spool::kGapTooShort);
  run.trimmed(0, 4);
  run.run(1, 0, 10);
  const Written written = write_and_check(run.builder(), folder);
  CHECK(outline(written.trace, 0).size() == 10);
  CHECK(lines_with(written.trace, 0, " off").empty());
  CHECK(written.result.gaps == 0);
  CHECK(written.result.events_written == written.result.events_seen);
}

TEST_CASE("Gaps: until the end - off, marks, and on where the program ends") {
  const test::TemporaryFolder folder;
  TenIterations run;
  for (std::uint32_t location : {0U, 1U}) {
    run.run(location, 0, 3);
    run.builder().location(location).add(spool::kSuspend, 1390, 0, 4).suspend_in_ring();
    run.run(location, 3, 10);
  }
  const Written written = write_and_check(run.builder(), folder);
  CHECK(outline(written.trace, 1) ==
        Lines{"1 enter", "101 enter", "201 enter", "300 off", "980 on"});
  CHECK(lines_with(written.trace, 0, "iteration").size() == 10);
  CHECK(lines(written.trace, 0).back() == "1980 ProgramEnd");
}

TEST_CASE("Gaps: idle - a location without events has its switches, too") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  builder.location(0)
      .region(1, 100, 200, kAddress, 1)
      .add(spool::kSuspend, 310, 0, 2)
      .add(spool::kResume, 890, 0, 5)
      .region(5, 900, 1000, kAddress, 1);
  SECTION("events before and after") {
    builder.location(1)
        .add(spool::kFlush, 150, 0, 0x9000)
        .add(spool::kFlush, 950, 0, 0x9000);
  }
  SECTION("no events at all") {}
  builder.gap(0, 2, 300);
  builder.resumed(0, 5, 900);
  const Written written = write_and_check(builder, folder);
  Lines switches = lines_with(written.trace, 1, " o");
  std::erase_if(switches, [](const std::string& s) { return s.find("omp") != s.npos; });
  CHECK(switches == Lines{"300 off", "900 on"});
}

// One long region: begin at 100, end at 2000; barriers at 300 (epoch 2), 500 (3), ...
// Suspended in epochs 3 to 5, with what `edit` adds in between.
struct LongRegion {
  Record fork = make_record(spool::kParallelBegin, 100, 1, kAddress | 1ULL << 48);
  Record task = make_record(spool::kImplicitTaskBegin, 101, 1, 1ULL << 32);
  Record outer = make_record(spool::kMaskedBegin, 210, 0, 0x6000);
  SpoolBuilder builder{1};

  LongRegion() {
    builder.gap(0, 3, 500);
    builder.resumed(0, 6, 1100);
    builder.location(0).sync(1, 100).add(fork).add(task).add(outer);
    builder.location(0).sync(2, 300, {fork, task, outer});
  }
  void finish() {
    builder.location(0)
        .add(spool::kImplicitTaskEnd, 1990, 1, 1ULL << 32)
        .add(spool::kParallelEnd, 2000, 1, kAddress);
  }
};

const Lines kLongRegion = {"1 ProgramBegin",
                           "100 fork 1",
                           "101 team 0",
                           "101 enter !$omp parallel @0x4fff",
                           "210 enter !$omp masked @0x5fff",
                           "500 off",
                           "700 on edge",
                           "700 leave !$omp masked @0x5fff",
                           "700 off edge",
                           "900 on edge",
                           "900 enter !$omp masked @0x6fff",
                           "900 off edge",
                           "1100 on",
                           "1200 leave !$omp masked @0x6fff",
                           "1990 leave !$omp parallel @0x4fff",
                           "1990 team end 0",
                           "2000 join",
                           "2000 ProgramEnd"};

TEST_CASE("Gaps: open regions - true times, by carried ends and snapshots") {
  const test::TemporaryFolder folder;
  LongRegion run;
  const Record late = make_record(spool::kMaskedBegin, 900, 0, 0x7000);
  run.builder.location(0)
      .add(spool::kSuspend, 600, 0, 3)
      .add(spool::kMaskedEnd, 700, 0, 0x6000)
      .add(spool::kResume, 1150, 0, 6)
      .sync(6, 1100, {run.fork, run.task, late})
      .add(spool::kMaskedEnd, 1200, 0, 0x7000);
  run.finish();
  CHECK(lines(write_and_check(run.builder, folder).trace, 0) == kLongRegion);
}

TEST_CASE("Gaps: open regions - true times, where nothing was trimmed") {
  const test::TemporaryFolder folder;
  LongRegion run;
  const Record late = make_record(spool::kMaskedBegin, 900, 0, 0x7000);
  run.builder.location(0)
      .sync(3, 500, {run.fork, run.task, run.outer})
      .add(spool::kMaskedEnd, 700, 0, 0x6000)
      .add(spool::kMaskedBegin, 710, 0, 0x8000)  // begun and ended inside: not recorded
      .sync(4, 720, {run.fork, run.task})
      .add(spool::kMaskedEnd, 730, 0, 0x8000)
      .add(late)
      .sync(6, 1100, {run.fork, run.task, late})
      .add(spool::kMaskedEnd, 1200, 0, 0x7000);
  run.finish();
  CHECK(lines(write_and_check(run.builder, folder).trace, 0) == kLongRegion);
}

TEST_CASE("Gaps: open regions - one that is open across a gap is one region") {
  const test::TemporaryFolder folder;
  LongRegion run;
  run.builder.location(0)
      .add(spool::kSuspend, 600, 0, 3)
      .add(spool::kResume, 1150, 0, 6)
      .sync(6, 1100, {run.fork, run.task, run.outer})
      .add(spool::kMaskedEnd, 1200, 0, 0x6000);
  run.finish();
  const Written written = write_and_check(run.builder, folder);
  CHECK(lines_with(written.trace, 0, "masked") ==
        Lines{"210 enter !$omp masked @0x5fff", "1200 leave !$omp masked @0x5fff"});
}

TEST_CASE("Gaps: open regions - an undone gap keeps the records from the ring") {
  const test::TemporaryFolder folder;
  LongRegion run;
  run.builder.resumed(0, 3, 500, spool::kGapTooShort);
  run.builder.location(0)
      .add(spool::kSuspend, 600, 0, 3)
      .add(spool::kMaskedEnd, 700, 0,
           0x6000)  // carried over, and again in the records that follow
      .add(spool::kResume, 1150, 0, 3)
      .sync(3, 500, {run.fork, run.task, run.outer})
      .add(spool::kMaskedEnd, 700, 0, 0x6000);
  run.finish();
  const Written written = write_and_check(run.builder, folder);
  CHECK(lines_with(written.trace, 0, "masked") ==
        Lines{"210 enter !$omp masked @0x5fff", "700 leave !$omp masked @0x5fff"});
  CHECK(written.result.events_unmatched == 0);
}

TEST_CASE("Gaps: marks=summary - the last written iteration ends at the gap") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  builder.journal().text(spool::kTextSettings, "marks=summary\n");
  builder.loop(1, 1250, kAddress);
  for (std::uint64_t i = 0; i < 3; ++i) {
    builder.region(i + 1, 1000 + 100 * i, 1080 + 100 * i, kAddress);
    builder.iteration(1, i, 1000 + 100 * i);
  }
  builder.gap(0, 4, 1300);
  builder.location(0).add(spool::kSuspend, 1390, 0, 4).add(spool::kResume, 1995, 0, 8);
  builder.journal()
      .add(spool::kSkippedSummary, 1980, 1, 7)
      .add(spool::kSkippedValue, 1980, 1, 700, 0)
      .add(spool::kSkippedValue, 1980, 1, 50, 1)
      .add(spool::kSkippedValue, 1980, 1, 200, 2);
  builder.resumed(0, 8, 1700);
  builder.left(1, 10, 1980);
  builder.region(8, 1700, 1980, kAddress);
  const Written written = write_and_check(builder, folder);
  CHECK(lines_with(written.trace, 0, "leave loop").back() == "1300 leave loop 1 @ 0x4fff");
  const LoopSummary& loop = written.result.loops.at(0);
  CHECK(loop.iterations == 10);
  CHECK(loop.written == 3);
  CHECK(loop.total_ns == 1000);
  CHECK(loop.min_ns == 50);
  CHECK(loop.max_ns == 200);
  const auto skipped = std::find_if(
      written.trace.markers.begin(), written.trace.markers.end(),
      [](const test::Marker& marker) { return marker.category == "iterations skipped"; });
  REQUIRE(skipped != written.trace.markers.end());
  CHECK_THAT(skipped->text, Catch::Contains("7 iterations, total 700 ns, mean 100 ns"));
}

}  // namespace
}  // namespace refrain::writer::gaps_test
