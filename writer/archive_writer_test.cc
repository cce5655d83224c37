#include "writer/archive_writer.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/support/trace_checks.h"
#include "writer/testing/archive_text.h"
#include "writer/testing/ten_iterations.h"

namespace refrain::writer::archive_writer_test {
namespace {

namespace fs = std::filesystem;
using spool::SpoolBuilder;

TEST_CASE("Archive: one region - forks, teams, regions and waits in their order") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  builder.region(1, 100, 200, 0x5000);
  const Written written = write_and_check(builder, folder);
  CHECK(lines(written.trace, 0) ==
        Lines{"1 ProgramBegin", "100 fork 2", "101 team 0",
              "101 enter !$omp parallel @0x4fff", "102 enter !$omp for @0x500f",
              "196 leave !$omp for @0x500f", "197 enter !$omp implicit barrier @0x4fff",
              "198 leave !$omp implicit barrier @0x4fff",
              "199 leave !$omp parallel @0x4fff", "199 team end 0", "200 join",
              "200 ProgramEnd"});
  CHECK(lines(written.trace, 1).front() == "101 team 0");
  const test::Group& team = written.trace.groups.at(written.trace.comms.at(0).group);
  CHECK(team.members == std::vector<std::uint64_t>{0, 1});
  CHECK(team.type == OTF2_GROUP_TYPE_COMM_GROUP);
  CHECK(written.trace.groups.at(0).type == OTF2_GROUP_TYPE_COMM_LOCATIONS);
  CHECK(written.trace.clock.ticks_per_second == spool::kTestTicksPerSecond);
  CHECK(written.result.events_written == written.result.events_seen);
  CHECK(written.result.events_unmatched == 0);
  CHECK_FALSE(fs::exists(folder / "spool"));
}

TEST_CASE("Archive: the program - a region that readers find by its begin") {
  const test::TemporaryFolder folder;
  const Written written = write_and_check(ten_iterations(1), folder);
  const test::Event& begin = written.trace.locations[0].events.front();
  REQUIRE(begin.type == test::EventType::kProgramBegin);
  const std::string path = written.trace.strings.at(begin.reference);
  std::size_t found = 0;
  for (const auto& [ref, region] : written.trace.regions) {
    if (region.paradigm != OTF2_PARADIGM_MEASUREMENT_SYSTEM) continue;
    ++found;
    CHECK(region.role == OTF2_REGION_ROLE_ARTIFICIAL);
    CHECK(region.name == path.substr(path.rfind('/') + 1));
    CHECK(region.canonical_name == path + " --fast");
  }
  CHECK(found == 1);
}

TEST_CASE("Archive: flushes - never events, however large the archive") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  // About 13 bytes an enter or leave: more than the 4 MiB that are kept in memory.
  for (std::uint64_t i = 0; i < 250'000; ++i)
    builder.location(0)
        .add(spool::kMaskedBegin, 100 + 20 * i, 0, 0x6000)
        .add(spool::kMaskedEnd, 110 + 20 * i, 0, 0x6000);
  const Written written = write_and_check(builder, folder);
  CHECK(fs::file_size(folder / "traces" / "0.evt") > (5U << 20));
  const auto types = test::count_by_type(written.trace);
  CHECK_FALSE(types.contains(test::EventType::kBufferFlush));
  CHECK(types.at(test::EventType::kEnter) == 250'000);
}

TEST_CASE("Archive: times - different for all enters and leaves of a location") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  for (int i = 0; i < 3; ++i)
    builder.location(0)
        .add(spool::kMaskedBegin, 100, 0, 0x6000)
        .add(spool::kMaskedEnd, 100, 0, 0x6000);
  builder.location(0).add(spool::kMaskedBegin, 103, 0, 0x6000);
  builder.location(0).add(spool::kMaskedEnd, 200, 0, 0x6000);
  const Written written = write_and_check(builder, folder);
  std::vector<std::uint64_t> times;
  for (const test::Event& event : written.trace.locations[0].events)
    if (event.type == test::EventType::kEnter || event.type == test::EventType::kLeave)
      times.push_back(event.time);
  CHECK(times == std::vector<std::uint64_t>{100, 101, 102, 103, 104, 105, 106, 200});
}

TEST_CASE("Archive: properties - settings, counts, losses, loops") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder = ten_iterations(2);
  builder.location(1).lost[spool::kLossReentrant] = 3;
  const Written written = write_and_check(builder, folder);
  const auto& properties = written.trace.properties;
  CHECK(properties.at("REFRAIN::VERSION") == "0.0.test");
  CHECK(properties.at("REFRAIN::COMMAND") == std::string("program --fast"));
  CHECK(properties.at("REFRAIN::SETTING::WINDOW_SIZE") == "3");
  CHECK(properties.at("REFRAIN::LOST::REENTRANT") == "3");
  CHECK(properties.at("REFRAIN::LOST") == "3");
  CHECK(written.trace.locations[1].properties.at("REFRAIN::LOST::reentrant") == "3");
  const auto loops = nlohmann::json::parse(properties.at("REFRAIN::LOOPS"));
  REQUIRE(loops.size() == 1);
  CHECK(loops[0]["iterations"] == 10);
  CHECK(loops[0]["written"] == 10);
  CHECK(loops[0]["mean_ns"] == 98.0);  // nine of 100 ticks, the last of 80
  CHECK(loops[0]["body"][0] == "!$omp parallel @0x4fff");
  const auto kinds = nlohmann::json::parse(properties.at("REFRAIN::EVENTS_BY_KIND"));
  CHECK(kinds["sync_region_wait_end"] == 20);
  CHECK(kinds["parallel_begin"] == 10);
}

TEST_CASE("Archive: iterations - marks lie around their events, at exact ticks") {
  const test::TemporaryFolder folder;
  const Written written = write_and_check(ten_iterations(2), folder);
  const Lines all = lines(written.trace, 0);
  const auto third = std::find(all.begin(), all.end(), "1201 iteration 2");
  REQUIRE(third != all.end());
  CHECK(Lines(third - 3, third + 2) == Lines{"1180 join", "1200 leave loop 1 @ 0x4fff",
                                             "1201 enter loop 1 @ 0x4fff [1]",
                                             "1201 iteration 2", "1201 fork 2"});
  // The end of the loop and that of its last region have the same time.
  CHECK(Lines(all.end() - 3, all.end()) ==
        Lines{"1980 join", "1980 leave loop 1 @ 0x4fff", "1980 ProgramEnd"});
  for (const auto& [ref, region] : written.trace.regions)
    if (region.name.starts_with("loop")) CHECK(region.flags == OTF2_REGION_FLAG_PHASE);
}

TEST_CASE("Archive: iterations - an unfinished one is marked") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  builder.loop(1, 350, 0x5000);
  for (std::uint64_t i = 0; i < 3; ++i) {
    builder.region(i + 1, 100 + 100 * i, 180 + 100 * i, 0x5000);
    builder.iteration(1, i, 100 + 100 * i);
  }
  const Written written = write_and_check(builder, folder);
  CHECK(lines_with(written.trace, 0, "enter loop").back() ==
        "301 enter loop 1 @ 0x4fff [1] incomplete");
  CHECK(written.result.loops.at(0).iterations == 2);
}

TEST_CASE("Archive: nested loops - inner iterations inside outer ones") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  for (std::uint64_t i = 0; i < 4; ++i)
    builder.region(i + 1, 100 + 100 * i, 180 + 100 * i, 0x5000);
  builder.loop(1, 310, 0x5000, 1);
  builder.iteration(1, 0, 100, 1);
  builder.iteration(1, 1, 200, 1);
  builder.iteration(1, 0, 300, 1);
  builder.iteration(1, 1, 400, 1);
  builder.left(1, 2, 480);
  builder.loop(2, 490, 0x5000);
  builder.iteration(2, 0, 100);
  builder.iteration(2, 1, 300);
  builder.left(2, 2, 480);
  const Written written = write_and_check(builder, folder);
  Lines marks = lines_with(written.trace, 0, "loop");
  for (std::string& mark : marks) mark = mark.substr(0, mark.find(" @"));
  // Numbered from the outermost, though that one was detected last.
  CHECK(marks == Lines{"100 enter loop 1", "101 enter loop 2", "200 leave loop 2",
                       "201 enter loop 2", "300 leave loop 2", "301 leave loop 1",
                       "302 enter loop 1", "303 enter loop 2", "400 leave loop 2",
                       "401 enter loop 2", "480 leave loop 2", "481 leave loop 1"});
}

TEST_CASE("Archive: markers - what happened and why") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder = ten_iterations(1);
  builder.gap(0, 4, 1300);
  builder.resumed(0, 8, 1700);
  builder.journal().add(spool::kLoopMismatch, 1950, 1, 9);
  builder.journal().add(spool::kLimitReached, 1960, 0, 10, spool::kLossDiskLimit);
  const Written written = write_and_check(builder, folder);
  Lines markers;
  for (const test::Marker& marker : written.trace.markers)
    markers.push_back(std::to_string(marker.time) + " " + marker.category + ": " +
                      marker.text);
  std::sort(markers.begin(), markers.end());
  CHECK(
      markers ==
      Lines{"1250 loop detected: loop 1 @ 0x4fff: 1 events repeat",
            "1300 writing suspended: loop 1 @ 0x4fff: limit of iterations reached",
            "1700 writing resumed: loop 1 @ 0x4fff: pattern broken",
            "1950 pattern broken: loop 1 @ 0x4fff: iteration 9 differed from those before",
            "1960 limit reached: disk_limit"});
}

TEST_CASE("Archive: locations - the same for any number of writing threads") {
  const test::TemporaryFolder one;
  const test::TemporaryFolder many;
  WriteOptions serial;
  serial.threads = 1;
  WriteOptions parallel;
  parallel.threads = 8;
  const Written a = write_and_check(ten_iterations(64), one, serial);
  const Written b = write_and_check(ten_iterations(64), many, parallel);
  REQUIRE(a.trace.locations.size() == 64);
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(a.trace.locations[i].reference == (i << 32 | i));
    CHECK(lines(a.trace, i) == lines(b.trace, i));
  }
  CHECK(a.trace.comms.size() == 1);
  CHECK(a.result.archive_bytes == b.result.archive_bytes);
}

// A definition must fit into a chunk of libotf2.
TEST_CASE("Archive: definitions - a text longer than the smallest chunk is complete") {
  for (const std::size_t bytes : {60'000, 70'000, 600'000}) {
    CAPTURE(bytes);
    const test::TemporaryFolder folder;
    SpoolBuilder builder = ten_iterations(2);
    const std::string argument(bytes, 'x');
    builder.journal().text(spool::kTextCommand,
                           std::string("program\0", 8) + argument + '\0');
    const Written written = write_and_check(builder, folder);
    const auto is_it = [&](const auto& entry) { return entry.second == argument; };
    CHECK(std::any_of(written.trace.strings.begin(), written.trace.strings.end(), is_it));
  }
}

TEST_CASE("Archive: teams - one communicator for each set of members") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(3);
  builder.region(1, 100, 200, 0x5000);
  builder.location(0).region(2, 300, 400, 0x6000, 2);
  builder.location(2).member(2, 300, 400, 0x6000, 1, 2);  // not the neighbour
  builder.region(3, 500, 600, 0x5000);
  builder.location(0).region(4, 700, 800, 0x6000, 2);
  builder.location(2).member(4, 700, 800, 0x6000, 1, 2);
  const Written written = write_and_check(builder, folder);
  REQUIRE(written.trace.comms.size() == 2);
  CHECK(written.trace.groups.at(written.trace.comms.at(1).group).members ==
        std::vector<std::uint64_t>{0, 2});
  CHECK(lines_with(written.trace, 2, "team ") ==
        Lines{"101 team 0", "199 team end 0", "301 team 1", "399 team end 1", "501 team 0",
              "599 team end 0", "701 team 1", "799 team end 1"});
  CHECK(lines_with(written.trace, 2, "enter !$omp parallel").at(1) ==
        "301 enter !$omp parallel @0x5fff");
}

TEST_CASE("Archive: workers - a late end gets the time of the join") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  builder.location(0).region(1, 100, 200, 0x5000, 2).region(2, 900, 1000, 0x5000, 2);
  builder.location(1).member(1, 100, 905, 0x5000, 1, 2).member(2, 900, 1000, 0x5000, 1, 2);
  auto& late = builder.location(1).log;
  late[3].ticks = 180;  // the loop's end and the barrier's begin were in time
  late[4].ticks = 190;
  const Written written = write_and_check(builder, folder);
  CHECK(lines_with(written.trace, 1, "leave !$omp parallel").front() ==
        "201 leave !$omp parallel @0x4fff");
  CHECK(lines_with(written.trace, 1, "leave !$omp implicit barrier").front() ==
        "200 leave !$omp implicit barrier @0x4fff");
}

TEST_CASE("Archive: filter - removes regions, the rest stays balanced") {
  const test::TemporaryFolder folder;
  WriteOptions options;
  options.filter =
      "SCOREP_REGION_NAMES_BEGIN EXCLUDE *barrier* !$omp\\ parallel*\n"
      "SCOREP_REGION_NAMES_END";
  const Written written = write_and_check(ten_iterations(2), folder, options);
  CHECK(lines_with(written.trace, 0, "barrier").empty());
  CHECK(lines_with(written.trace, 1, "parallel").empty());
  CHECK(lines_with(written.trace, 1, "team 0").size() == 10);
  CHECK(lines_with(written.trace, 0, "enter !$omp for").size() == 10);
  CHECK(lines_with(written.trace, 0, "enter loop").size() == 10);
  CHECK(written.result.events_filtered == 2 * 10 * 4);
  CHECK(written.trace.properties.at("REFRAIN::EVENTS_FILTERED") == "80");
}

TEST_CASE("Archive: large - more than libotf2's memory for a location") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  for (std::uint64_t i = 0; i < 60'000; ++i)
    builder.region(i + 1, 1000 + 100 * i, 1080 + 100 * i, 0x5000);
  const Written written = write_and_check(builder, folder);
  CHECK(written.result.archive_events > 1'000'000);
  CHECK(written.trace.comms.size() == 1);
}

TEST_CASE("Archive: an empty process - still a valid archive") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(0);
  builder.journal().not_ended();
  WriteOptions options;
  options.recovered = true;
  const Written written = write_and_check(builder, folder, options);
  CHECK(written.trace.locations.size() == 1);
}

}  // namespace
}  // namespace refrain::writer::archive_writer_test
