// What is recovered of a process that was killed: the latest iterations, at whatever moment
// of a suspend or a resume it died.
#include <catch2/catch.hpp>
#include <cstring>

#include "filters/region_filter.h"
#include "spool/spool_folder.h"
#include "writer/model/process_model.h"
#include "writer/testing/ten_iterations.h"

namespace refrain::writer::recovery_test {
namespace {

using spool::SpoolBuilder;

WriteOptions after_a_kill() {
  WriteOptions options;
  options.recovered = true;
  return options;
}

// Killed while suspended: the rings have the latest events.
Written recovered(std::uint64_t primary_from, std::uint64_t worker_from, bool worker_full,
                  const test::TemporaryFolder& folder) {
  TenIterations run;
  const std::uint64_t from[] = {primary_from, worker_from};
  for (std::uint32_t location : {0U, 1U}) {
    run.run(location, 0, 3);
    run.builder()
        .location(location)
        .add(spool::kSuspend, 1390, 0, 4)
        .not_ended()
        .suspend_in_ring();
    if (location == 1 && worker_full)  // pretend that more was recorded
      run.builder().location(1).add(spool::kFlush, 1399, 0, 0x9000);
    run.run(location, from[location], 10);
  }
  return write_and_check(run.builder(), folder, after_a_kill());
}

TEST_CASE("Recovery: rings - the last iterations are in the archive") {
  const test::TemporaryFolder folder;
  // The loop was left at 1980, so the last-but-one iteration is the one of 1800.
  const Written written = recovered(3, 3, false, folder);
  const Lines expected = {"1 enter", "102 enter", "202 enter", "300 off",
                          "800 on",  "802 enter", "902 enter"};
  CHECK(outline(written.trace, 0) == expected);
  CHECK(outline(written.trace, 1) == plain(expected));
  CHECK(written.trace.properties.at("REFRAIN::RECOVERED") == "1");
  const bool reported = std::any_of(
      written.trace.markers.begin(), written.trace.markers.end(),
      [](const test::Marker& m) { return m.text.find("process died") != m.text.npos; });
  CHECK(reported);
}

TEST_CASE("Recovery: rings - a text in the journal is not an iteration") {
  const test::TemporaryFolder folder;
  TenIterations run(false);
  // Bytes that would be one of the loop's, long after the end.
  spool::Record iteration = spool::make_record(spool::kIteration, 1 << 30, 0, 99);
  iteration.aux32 = 1;
  std::string text(sizeof iteration, '\0');
  std::memcpy(text.data(), &iteration, sizeof iteration);
  run.builder().journal().text(spool::kTextHost, text);
  run.builder().left(1, 10, 1980);
  for (std::uint32_t location : {0U, 1U}) {
    run.run(location, 0, 3);
    run.builder()
        .location(location)
        .add(spool::kSuspend, 1390, 0, 4)
        .not_ended()
        .suspend_in_ring();
    run.run(location, 3, 10);
  }
  const Written written = write_and_check(run.builder(), folder, after_a_kill());
  const Lines expected = {"1 enter", "102 enter", "202 enter", "300 off",
                          "800 on",  "802 enter", "902 enter"};
  CHECK(outline(written.trace, 0) == expected);
}

TEST_CASE("Recovery: rings - cut at the begin of the shortest one") {
  const test::TemporaryFolder folder;
  const Written written = recovered(3, 9, true, folder);
  const Lines expected = {"1 enter", "102 enter", "202 enter",
                          "300 off", "900 on",    "902 enter"};
  CHECK(outline(written.trace, 0) == expected);
  CHECK(outline(written.trace, 1) == plain(expected));
}

TEST_CASE("Recovery: killed while resuming - a ring that was not copied yet counts") {
  const test::TemporaryFolder folder;
  TenIterations run;
  run.builder().resumed(0, 8, 1700);
  run.trimmed(0, 8);
  run.run(1, 0, 3);
  run.builder().location(1).add(spool::kSuspend, 1390, 0, 4).not_ended().suspend_in_ring();
  run.run(1, 3, 10);
  const Written written = write_and_check(run.builder(), folder, after_a_kill());
  CHECK(outline(written.trace, 0) == kFourSkipped);
  CHECK(outline(written.trace, 1) == kFourSkippedPlain);
}

TEST_CASE("Recovery: killed before the first event - the end is not before the begin") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  // What the journal says of the process comes before its recording begins.
  builder.journal().add(spool::kMpiWorld, 300, 0, 1).not_ended().start_ticks = 500;
  builder.location(0).not_ended().start_ticks = 500;
  builder.write(folder.path());
  const spool::SpoolFolder spools = spool::open_spool_of(folder.path(), 0);
  REQUIRE(spools.processes.size() == 1);
  filters::RegionFilter filter;
  regions::RegionTable regions(filter);
  const ProcessModel model(spools.processes[0], regions, true, 1);
  CHECK(model.start_ticks() == 500);
  CHECK(model.end_ticks() == 500);
}

TEST_CASE("Recovery: open regions - closed at the last recorded time") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  builder.region(1, 100, 200, kAddress);
  for (std::uint32_t location : {0U, 1U}) {
    auto& log = builder.location(location).log;
    log.resize(log.size() - (location == 0 ? 2 : 4));
    builder.location(location).not_ended();
  }
  const Written written = write_and_check(builder, folder, after_a_kill());
  CHECK(lines(written.trace, 1) ==
        Lines{"101 team 0", "101 enter !$omp parallel @0x4fff",
              "102 enter !$omp for @0x500f", "198 leave !$omp for @0x500f",
              "199 leave !$omp parallel @0x4fff", "199 team end 0"});
}

// The thread waits in its team's last barrier, which is reported as over when it gets its
// next team: never, if the process is killed before.
TEST_CASE("Recovery: nested teams - ended ones are not open until the kill") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  const auto team_of_one = [&builder](std::uint32_t location, std::uint64_t ticks,
                                      std::uint64_t instance) {
    builder.location(location)
        .add(spool::kParallelBegin, ticks, instance, 0x7000 | 1ULL << 48,
             spool::kTeamNested)
        .add(spool::kImplicitTaskBegin, ticks, instance, 1ULL << 32, spool::kTeamNested)
        .add(spool::kImplicitTaskEnd, ticks + 10, instance, 1ULL << 32, spool::kTeamNested)
        .add(spool::kParallelEnd, ticks + 10, instance, 0x7000, spool::kTeamNested);
  };
  // Both may have had nested teams: the worker before it waits, its master since then.
  const bool others = GENERATE(false, true);
  const bool over = GENERATE(true, false);
  INFO("over " << over << ", others " << others);
  builder.location(0)
      .sync(1, 100)
      .add(spool::kParallelBegin, 100, 1, 0x5000 | 1ULL << 48)
      .add(spool::kImplicitTaskBegin, 100, 1, 1ULL << 32)
      .add(spool::kParallelBegin, 200, 1, 0x6000 | 2ULL << 48, spool::kTeamNested)
      .add(spool::kImplicitTaskBegin, 200, 1, 2ULL << 32, spool::kTeamNested);
  if (over)
    builder.location(0)
        .add(spool::kImplicitTaskEnd, 300, 1, 2ULL << 32, spool::kTeamNested)
        .add(spool::kParallelEnd, 300, 1, 0x6000, spool::kTeamNested);
  if (others) team_of_one(0, 310, 3);
  builder.location(0).add(spool::kFlush, 390, 0, 0x6000).not_ended();
  builder.location(1).add(spool::kImplicitTaskBegin, 210, 1, 2ULL << 32 | 1,
                          spool::kTeamNested);
  if (others) team_of_one(1, 220, 2);
  builder.location(1).add(spool::kSyncRegionBegin, 280, 0, 0, 9).not_ended();
  const Written written = write_and_check(builder, folder, after_a_kill());
  const std::string end = over ? "300" : "390";
  // A tick after the barrier's end, which is also that of the region.
  const std::string last = over ? "301" : "391";
  CHECK(lines_with(written.trace, 1, "leave !$omp implicit barrier").front() ==
        end + " leave !$omp implicit barrier @0x5fff");
  CHECK(lines(written.trace, 1).back() == last + " team end 1");
}

const Lines kLastTwo = {"1 enter", "102 enter", "202 enter", "300 off",
                        "800 on",  "802 enter", "902 enter"};

TEST_CASE("Recovery: killed before a suspend - the latest iterations are in the logs") {
  const test::TemporaryFolder folder;
  TenIterations run;
  run.run(0, 0, 10);
  SECTION("no location has suspended") { run.run(1, 0, 10); }
  SECTION("the primary has not, another one has") {
    run.run(1, 0, 3);
    run.builder().location(1).add(spool::kSuspend, 1390, 0, 4).suspend_in_ring();
    run.run(1, 3, 10);
  }
  run.builder().location(0).not_ended();
  run.builder().location(1).not_ended();
  const Written written = write_and_check(run.builder(), folder, after_a_kill());
  CHECK(outline(written.trace, 0) == kLastTwo);
  CHECK(outline(written.trace, 1) == plain(kLastTwo));
}

TEST_CASE("Recovery: killed at the cut - a ring without its Suspend counts") {
  const test::TemporaryFolder folder;
  TenIterations run;
  for (std::uint32_t location : {0U, 1U}) {
    run.run(location, 0, 3);
    if (location == 0) run.builder().location(0).add(spool::kSuspend, 1390, 0, 4);
    run.builder().location(location).not_ended().suspend_in_ring();
    run.run(location, 3, 10);
  }
  const Written written = write_and_check(run.builder(), folder, after_a_kill());
  CHECK(outline(written.trace, 0) == kLastTwo);
  CHECK(outline(written.trace, 1) == plain(kLastTwo));
}

TEST_CASE("Recovery: killed at the cut - a ring that overflowed gives what it has") {
  const test::TemporaryFolder folder;
  TenIterations run;
  for (std::uint32_t location : {0U, 1U}) {
    run.run(location, 0, 3);
    run.builder().location(location).not_ended().suspend_in_ring();
    if (location == 1) run.builder().location(1).add(spool::kFlush, 1899, 0, 0x9000);
    run.run(location, location == 0 ? 3 : 9, 10);
  }
  const Written written = write_and_check(run.builder(), folder, after_a_kill());
  const Lines expected = {"1 enter", "102 enter", "202 enter",
                          "300 off", "900 on",    "902 enter"};
  CHECK(outline(written.trace, 0) == expected);
  CHECK(outline(written.trace, 1) == plain(expected));
  CHECK(lines_with(written.trace, 1, "flush").empty());
}

TEST_CASE("Recovery: killed at the cut - regions that ended in the hole are closed") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  const auto fork =
      spool::make_record(spool::kParallelBegin, 100, 1, kAddress | 1ULL << 48);
  const auto task = spool::make_record(spool::kImplicitTaskBegin, 101, 1, 1ULL << 32);
  const auto outer = spool::make_record(spool::kMaskedBegin, 210, 0, 0x6000);
  builder.gap(0, 3, 500);
  builder.resumed(0, 4, 700);
  builder.location(0).sync(1, 100).add(fork).add(task).add(outer).not_ended();
  builder.location(0).suspend_in_ring().sync(3, 500, {fork, task, outer});
  builder.location(0).add(spool::kMaskedEnd, 600, 0, 0x6000).sync(4, 700, {fork, task});
  builder.location(0).add(spool::kFlush, 710, 0, 0x9000);
  const Written written = write_and_check(builder, folder, after_a_kill());
  CHECK(lines_with(written.trace, 0, "masked") ==
        Lines{"210 enter !$omp masked @0x5fff", "600 leave !$omp masked @0x5fff"});
  CHECK(lines_with(written.trace, 0, "enter !$omp flush").size() == 1);
}

// Zeros are no records: a run began at the clock's 0 then, hours before.
TEST_CASE("Recovery: a page of zeros in a log - records are left out, which is said") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  for (std::uint64_t i = 0; i < 6; ++i)
    builder.region(1 + i, 1'000'000 + 100 * i, 1'000'050 + 100 * i, kAddress);
  auto& log = builder.location(1).log;
  const std::size_t first = log.size() / 3, count = log.size() / 3;
  std::fill_n(log.begin() + static_cast<std::ptrdiff_t>(first), count, spool::Record{});
  for (std::uint32_t location : {0U, 1U}) {
    builder.location(location).start_ticks = 1'000'000;
    builder.location(location).not_ended();
  }
  builder.journal().start_ticks = 1'000'000;
  builder.write(folder.path());
  WriteOptions options = after_a_kill();
  options.archive = folder.path().string();
  const auto result = write_archive(options);
  REQUIRE(result.ok());
  CHECK(result->duration_s < 1e-4);
  CHECK(result->records_damaged == count);
  REQUIRE(result->complaints.size() == 1);
  CHECK_THAT(
      result->complaints[0],
      Catch::EndsWith("location-1.spool: " + std::to_string(count) + " of " +
                      std::to_string(log.size()) + " records are damaged, and left out"));
}

TEST_CASE("Recovery: a thread's spool is missing - the archive says so") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(3);
  builder.region(1, 100, 200, kAddress);
  std::filesystem::remove(builder.write(folder.path()) / "location-2.spool");
  WriteOptions options = after_a_kill();
  options.archive = folder.path().string();
  const auto result = write_archive(options);
  REQUIRE(result.ok());
  CHECK(result->locations == 2);
  CHECK(result->threads_missing == 1);
  REQUIRE(result->complaints.size() == 1);
  CHECK_THAT(result->complaints[0], Catch::Contains("1 of 3 threads"));
}

TEST_CASE("Recovery: time window - nothing outside of it") {
  const test::TemporaryFolder folder;
  TenIterations run;
  run.builder().journal().log.back().sub = spool::kGapWindow;
  for (std::uint32_t location : {0U, 1U}) {
    run.run(location, 0, 3);
    run.builder().location(location).add(spool::kSuspend, 1390, 0, 4);
    run.builder().location(location).not_ended().suspend_in_ring();
    run.run(location, 3, 10);
  }
  const Written written = write_and_check(run.builder(), folder, after_a_kill());
  CHECK(outline(written.trace, 0) ==
        Lines{"1 enter", "102 enter", "202 enter", "300 off", "980 on"});
}

}  // namespace
}  // namespace refrain::writer::recovery_test
