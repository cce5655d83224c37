#include "convert/convert.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "base/notes.h"
#include "reader/foreign_archive.h"
#include "test/support/files.h"
#include "test/support/leaks.h"
#include "test/support/paraver.h"
#include "writer/testing/ten_iterations.h"

namespace refrain::convert::convert_test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

base::Result<ConvertResult> convert(const fs::path& archive, Format format) {
  ConvertOptions options;
  options.archive = archive;
  options.format = format;
  options.overwrite = true;
  return convert_archive(options);
}

Lines rows_of(const fs::path& archive, const std::string& part) {
  CHECK(convert(archive, Format::kCsv).ok());
  std::istringstream text(test::read_file(archive / "traces.csv"));
  Lines rows;
  for (std::string line; std::getline(text, line);) {
    REQUIRE(line.ends_with('\r'));
    line.pop_back();
    if (line.find(part) != std::string::npos) rows.push_back(line);
  }
  return rows;
}

std::vector<test::ParaverEvent> of_type(const std::vector<test::ParaverEvent>& events,
                                        std::uint64_t type) {
  std::vector<test::ParaverEvent> result;
  for (const auto& event : events)
    if (event.type == type) result.push_back(event);
  return result;
}

TEST_CASE("Convert: csv - an archive of another tool, names quoted, references resolved") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder.path());
  CHECK(rows_of(folder.path(), "main").front() ==
        "0,0,0,Enter,\"main(int, char**)\",\"a, b.c\",12,,,,,,,,"
        "\"note=say \"\"hello\"\", world;77=1.5\"");
  CHECK(rows_of(folder.path(), "Metric").front() ==
        "0,0,0,Metric,metric 1,,,,,,,,,PAPI_TOT_INS=100;load=0.25,");
  CHECK(rows_of(folder.path(), "MpiIsend,") ==
        Lines{"100,0,0,MpiIsend,,,,world,1,8,111,,1,,",
              "140,0,0,MpiIsend,,,,world,1,8,222,,2,,"});
  CHECK(rows_of(folder.path(), "undefined region").size() == 2);
  CHECK(rows_of(folder.path(), "kernel").front().starts_with("200,1,1,Enter,"));
  // Merged by time.
  std::uint64_t last = 0;
  for (const std::string& row : rows_of(folder.path(), "e,")) {
    if (row.starts_with("time")) continue;
    CHECK(std::stoull(row) >= last);
    last = std::stoull(row);
  }
}

TEST_CASE("Convert: csv - complete for any number of events of a location") {
  // A batch of the reader is 512 events; 17 or 15 come besides these.
  for (const std::uint64_t more : {0, 247, 248, 249, 503, 504, 505, 5000}) {
    for (const bool undefined : {false, true}) {
      const test::TemporaryFolder folder;
      reader::write_foreign_archive(folder.path(),
                                    {.more_enters = more, .undefined = undefined});
      CAPTURE(more);
      CHECK(rows_of(folder.path(), "Enter,\"main").size() == 2 + more);
      CHECK(rows_of(folder.path(), "Leave,\"main").size() == 2 + more);
    }
  }
}

TEST_CASE("Convert: wrong definitions - numbers of events are not trusted") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder.path(), {.said_events = ~std::uint64_t{0} / 2});
  CHECK(rows_of(folder.path(), "Enter,\"main").size() == 2);
  CHECK(convert(folder.path(), Format::kParaver).ok());
}

TEST_CASE("Convert: paraver - an archive of another tool") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder.path());
  const ConvertResult result = *convert(folder.path(), Format::kParaver);
  REQUIRE(result.notes.size() == 1);
  CHECK_THAT(result.notes[0],
             Catch::StartsWith("1 sends and 0 receives have no other end"));
  CHECK_THAT(result.notes[0], Catch::Contains("1 ends have no known communicator"));
  const test::ParaverTrace trace = test::read_paraver(folder / "traces.prv");
  CHECK(test::text(test::check_paraver(trace)) == "");
  CHECK(trace.end == 1000);
  REQUIRE(trace.tasks.size() == 2);
  CHECK(trace.tasks[0].threads == 2);
  CHECK(trace.tasks[1].threads == 2);
  CHECK(trace.tasks[0].node != trace.tasks[1].node);
  CHECK(trace.comms == std::map<std::uint64_t, std::vector<std::uint64_t>>{{1, {1, 2}}});
  // The first send belongs to the receive that was posted first.
  REQUIRE(trace.communications.size() == 2);
  const auto& first = trace.communications[0];
  CHECK(first.bytes == 111);
  CHECK(first.tag == 8);
  CHECK(first.logical_send == 100);
  CHECK(first.physical_send == 120);
  CHECK(first.logical_receive == 40);
  CHECK(first.physical_receive == 300);
  CHECK(trace.communications[1].bytes == 222);
  CHECK(trace.communications[1].logical_receive == 60);
  CHECK(trace.communications[1].physical_receive == 240);
  // Counters: what was added since the last time.
  const auto events = test::events_of(trace, 1, 1);
  const auto counts = of_type(events, 42000050);
  REQUIRE(counts.size() == 2);
  CHECK(counts[0].value == 100);
  CHECK(counts[1].value == 75);
  CHECK(counts[1].time == 400);
  const auto calls = of_type(events, 50000001);
  REQUIRE(calls.size() == 6);
  CHECK(calls[0].value == 3);
  CHECK(calls[4].value == 6);
  CHECK(trace.value_names.at(60000019).at(of_type(events, 60000019)[0].value) ==
        "main(int, char**)");
}

TEST_CASE("Convert: paraver - states from begin to end of every thread") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder.path());
  REQUIRE(convert(folder.path(), Format::kParaver).ok());
  const test::ParaverTrace trace = test::read_paraver(folder / "traces.prv");
  Lines states;
  for (const auto& state : trace.states)
    if (state.object.task == 2 && state.object.thread == 1)
      states.push_back(std::to_string(state.begin) + " " + std::to_string(state.end) + " " +
                       std::to_string(state.state));
  CHECK(states == Lines{"0 20 2", "20 40 1", "40 50 11", "50 60 1", "60 70 11", "70 200 1",
                        "200 300 8", "300 1000 1"});
}

TEST_CASE("Convert: paraver - iterations, periods, and where nothing was written") {
  const test::TemporaryFolder folder;
  writer::TenIterations run;
  for (const std::uint32_t location : {0, 1}) run.trimmed(location, 8);
  run.builder().resumed(0, 8, 1700);
  writer::write_and_check(run.builder(), folder);
  REQUIRE(convert(folder.path(), Format::kParaver).ok());
  const test::ParaverTrace trace = test::read_paraver(folder / "traces.prv");
  CHECK(test::text(test::check_paraver(trace)) == "");
  const auto events = test::events_of(trace, 1, 1);
  std::vector<std::uint64_t> numbers;
  for (const auto& event : of_type(events, 40000000)) numbers.push_back(event.value);
  CHECK(numbers == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0});
  const auto periods = of_type(events, 666001);
  REQUIRE(periods.size() == 2);
  CHECK(trace.value_names.at(666001).at(periods[0].value) == "Period #1: loop 1 @ 0x4fff");
  CHECK(periods[1].value == 0);
  for (const std::uint64_t thread : {1, 2}) {
    const auto tracing = of_type(test::events_of(trace, 1, thread), 40000012);
    REQUIRE(tracing.size() == 3);
    CHECK(tracing[0].value == 1);
    CHECK(tracing[1].value == 0);
    CHECK(tracing[2].value == 1);
    CHECK(tracing[2].time - tracing[1].time == 400);
    std::uint64_t off = 0;
    for (const auto& state : trace.states)
      if (state.object.thread == thread && state.state == 14)
        off += state.end - state.begin;
    CHECK(off == 400);
  }
}

TEST_CASE("Convert: chrome - valid JSON for any names") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder.path());
  REQUIRE(convert(folder.path(), Format::kChrome).ok());
  const auto json = nlohmann::json::parse(test::read_file(folder / "traces.json"));
  std::map<std::string, int> phases;
  for (const auto& event : json.at("traceEvents")) ++phases[event.at("ph")];
  CHECK(phases["B"] == 10);
  CHECK(phases["E"] == 10);
  CHECK(phases["s"] == 2);
  CHECK(phases["f"] == 2);
  CHECK(phases["C"] == 4);
  for (const auto& event : json.at("traceEvents"))
    if (event.at("ph") == "B" && event.at("name") == "MPI_Waitall" && event.at("pid") == 1)
      CHECK(event.at("ts") == 0.2);
}

TEST_CASE("Convert: refusal - nothing left of an incomplete output") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder.path(), {.more_enters = 5000});
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path()))
      names.insert(entry.path().filename());
    return names;
  };
  const auto before = files();
  const std::string definitions = test::read_file(folder / "traces.def");
  fs::resize_file(folder / "traces.def", definitions.size() / 2);
  for (const Format format : {Format::kCsv, Format::kChrome, Format::kParaver}) {
    CHECK_THAT(convert(folder.path(), format).error(), Catch::Contains("definitions"));
    CHECK(files() == before);
  }
  std::ofstream(folder / "traces.def", std::ios::binary) << definitions;
  ConvertOptions options;
  options.archive = folder.path();
  options.output = "/dev/full";
  CHECK_THAT(convert_archive(options).error(), Catch::Contains("No space left"));
}

TEST_CASE("Convert: a file of events is missing - the others, and a line about it") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder.path(), {.more_enters = 5000});
  fs::remove(folder / "traces" / "42.evt");
  for (const Format format : {Format::kCsv, Format::kChrome, Format::kParaver}) {
    base::take_notes();
    const auto result = convert(folder.path(), format);
    REQUIRE(result);
    CHECK(result->events > 10000);
    CHECK_THAT(base::take_notes().at(0),
               Catch::Contains("only 0 of 12 events of location 'location 42'"));
  }
}

TEST_CASE("Convert: damaged files - an error or a conversion, never a crash") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder.path(), {.more_enters = 50});
  const Lines names = {"traces.def", "traces/7.evt", "traces/42.evt"};
  std::mt19937 random(20261121);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    const std::string& name = names[random() % names.size()];
    const std::string whole = test::read_file(folder / name);
    std::string damaged = whole;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i)
      damaged[32 + random() % (damaged.size() - 32)] = static_cast<char>(random());
    std::ofstream(folder / name, std::ios::binary) << damaged;
    const test::LibraryMayLeak archive_that_cannot_be_opened;
    const Format format = static_cast<Format>(random() % 3);
    refused += !convert(folder.path(), format).ok();
    std::ofstream(folder / name, std::ios::binary) << whole;
  }
  CHECK(refused > 0);
  CHECK(refused < 300);
}

}  // namespace
}  // namespace refrain::convert::convert_test
