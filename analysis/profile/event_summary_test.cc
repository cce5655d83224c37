#include "analysis/profile/event_summary.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "analysis/profile/message_calls.h"
#include "analysis/profile/run_profile.h"
#include "base/notes.h"
#include "reader/foreign_archive.h"
#include "reader/small_archive.h"
#include "test/support/files.h"

namespace refrain::analysis::event_summary_test {

TEST_CASE("Event summary: an archive of another tool - all of its threads' time") {
  test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "a");
  const EventSummary events = *summarize_events(folder / "a");
  CHECK(events.events > 0);
  CHECK(events.gaps == 0);
  REQUIRE(events.processes.size() == 2);
  CHECK(events.processes[0].rank == 0);
  CHECK(events.processes[0].ticks_per_second == reader::kForeignTicks);
  const RunProfile profile = merge_summaries(events.processes);
  REQUIRE(profile.locations.size() == 3);  // a GPU's stream is no thread
  const ProfileTotals totals = total(profile);
  double main_ns = 0, own_ns = 0;
  std::uint64_t sent = 0, bytes = 0, received = 0;
  for (std::size_t i = 0; i < profile.paths.size(); ++i) {
    const RunProfile::Path& path = profile.paths[i];
    REQUIRE(path.region != RunProfile::kNone);
    if (profile.regions[path.region].name.starts_with("main"))
      main_ns += totals.paths[i].time_ns;
    CHECK(profile.regions[path.region].name.find("kernel") == std::string::npos);
    own_ns += totals.paths[i].own_ns;
    sent += totals.paths[i].messages_sent;
    bytes += totals.paths[i].bytes_sent;
    received += totals.paths[i].messages_received;
  }
  // main is 2500 ticks of 0.4 ns on one thread, 2400 on the other.
  CHECK(main_ns == Approx((2500 + 2400) * 0.4));
  CHECK(own_ns == Approx(main_ns));
  CHECK(own_ns + totals.outside_ns == Approx(totals.time_ns));
  CHECK(sent == 4);
  CHECK(bytes == 111 + 222 + 5 + 5);
  CHECK(received == 2);
}

// Of two ranks' files one has a page of zeros, after which it goes on in the next chunk.
TEST_CASE(
    "Event summary: a hole in a damaged file - its time is not known, calls are cut") {
  test::TemporaryFolder folder;
  constexpr std::uint64_t kCalls = 100'000, kChunk = 1 << 20;
  const auto write = [&](const std::filesystem::path& to) {
    reader::SmallArchive archive(to);
    archive.of_refrain();
    const auto main = archive.region("main"), step = archive.region("step");
    const auto call = archive.region("call"), once = archive.region("once");
    for (int rank = 0; rank < 2; ++rank) {
      archive.process();
      std::uint64_t now = 0;
      archive.enter(now, main);
      for (std::uint64_t i = 0; i < kCalls; ++i) {
        if (i % 20'000 == 0) archive.enter(now, step);
        archive.enter(now + 10, i == kCalls / 2 ? once : call);
        archive.leave(now + 90, i == kCalls / 2 ? once : call);
        now += 100;
        if (i % 20'000 == 19'999) archive.leave(now, step);
      }
      archive.leave(now, main);
    }
    archive.finish(0, 100 * kCalls);
  };
  write(folder / "a");
  const std::filesystem::path file = folder / "a" / "traces" / "1.evt";
  REQUIRE(std::filesystem::file_size(file) > 2 * kChunk);
  std::string bytes = test::read_file(file);
  bytes.replace(kChunk / 2, 4096, 4096, '\0');
  std::ofstream(file, std::ios::binary) << bytes;
  base::take_notes();
  const EventSummary events = *summarize_events(folder / "a");
  CHECK(base::take_notes().size() == 1);
  const RunProfile profile = merge_summaries(events.processes);
  REQUIRE(profile.locations.size() == 2);
  const ProfileTotals totals = total(profile);
  const auto of = [&](std::size_t rank, TimeClass cls) {
    return totals.by_location[rank][static_cast<std::size_t>(cls)];
  };
  // Half of a chunk of five in all is lost.
  const double run = 100.0 * kCalls;
  CHECK(of(0, TimeClass::kUnknown) == 0);
  CHECK(of(0, TimeClass::kUseful) == run);
  CHECK(of(1, TimeClass::kUnknown) > run / 10);
  CHECK(of(1, TimeClass::kUnknown) < run / 3);
  CHECK(of(1, TimeClass::kUnknown) + of(1, TimeClass::kUseful) == run);
  for (std::size_t i = 0; i < profile.paths.size(); ++i) {
    const std::string& name = profile.regions[profile.paths[i].region].name;
    INFO(name);
    // What is inside of what is as before, and nothing takes as long as the hole.
    CHECK((profile.paths[i].parent == RunProfile::kNone) == (name == "main"));
    if (name == "call") CHECK(totals.paths[i].minimum_ns == 80);
    if (name == "call") CHECK(totals.paths[i].maximum_ns == 80);
    if (name == "step") CHECK(totals.paths[i].minimum_ns == 100 * 20'000);
    if (name == "step") CHECK(totals.paths[i].maximum_ns == 100 * 20'000);
    if (name == "main") CHECK(totals.paths[i].visits == 2);
  }
  CHECK(profile.paths.size() == 4);
}

// It may be in a team, or wait for the primary thread.
TEST_CASE("Event summary: a hole of the primary thread - others' idleness is not known") {
  reader::TraceDefinitions definitions;
  definitions.properties = {{"REFRAIN::VERSION", "1"}};
  definitions.end_ticks = 1000;
  definitions.regions.resize(2);
  definitions.regions[1].role = OTF2_REGION_ROLE_PARALLEL;
  definitions.regions[1].paradigm = OTF2_PARADIGM_OPENMP;
  definitions.processes.emplace_back();
  for (std::uint32_t i = 0; i < 2; ++i) {
    definitions.processes[0].locations.emplace_back(i);
    definitions.locations.emplace_back().process = ProcessId(0);
    definitions.locations[i].thread = i;
  }
  const auto sink = event_summary_sink();
  REQUIRE(sink->begin(definitions).ok());
  const auto event = [&](std::uint32_t location, std::uint64_t ticks,
                         reader::EventKind kind, std::uint32_t ref = 0) {
    reader::TraceEvent event;
    event.kind = kind;
    event.location = LocationId(location);
    event.ticks = ticks;
    event.ref = ref;
    if (kind == reader::EventKind::kMeasurementOnOff) {
      event.op = static_cast<std::uint32_t>(ref);
      event.uncertain = true;
    }
    sink->event(event);
  };
  using reader::EventKind;
  event(0, 0, EventKind::kEnter);
  event(1, 100, EventKind::kEnter, 1);
  event(1, 200, EventKind::kLeave, 1);
  event(0, 250, EventKind::kLeave);
  event(0, 250, EventKind::kMeasurementOnOff, OTF2_MEASUREMENT_OFF);
  event(1, 300, EventKind::kEnter, 1);
  event(1, 400, EventKind::kLeave, 1);
  event(0, 450, EventKind::kMeasurementOnOff, OTF2_MEASUREMENT_ON);
  event(0, 450, EventKind::kEnter);
  event(1, 600, EventKind::kEnter, 1);
  event(1, 700, EventKind::kLeave, 1);
  event(0, 1000, EventKind::kLeave);
  REQUIRE(sink->finish(1000).ok());
  const RunProfile profile = merge_summaries(sink->take().processes);
  const ProfileTotals totals = total(profile);
  const auto of = [&](std::size_t thread, TimeClass cls) {
    return totals.by_location[thread][static_cast<std::size_t>(cls)];
  };
  CHECK(of(0, TimeClass::kUnknown) == 200);
  CHECK(of(0, TimeClass::kUseful) == 800);
  CHECK(of(1, TimeClass::kUseful) == 300);
  CHECK(of(1, TimeClass::kUnknown) == 50 + 50);
  CHECK(of(1, TimeClass::kLimitedParallelism) == 600);
}

TEST_CASE("Event summary: a killed run - what the kill cuts off is no shortest visit") {
  for (const char* const recovered : {"0", "1"}) {
    reader::TraceDefinitions definitions;
    definitions.properties = {{"REFRAIN::VERSION", "1"}, {"REFRAIN::RECOVERED", recovered}};
    definitions.regions.resize(3);
    definitions.processes.emplace_back().locations.emplace_back(0);
    definitions.locations.emplace_back().process = ProcessId(0);
    const auto sink = event_summary_sink();
    REQUIRE(sink->begin(definitions).ok());
    const auto event = [&](reader::EventKind kind, std::uint64_t ticks, std::uint32_t ref) {
      reader::TraceEvent event;
      event.kind = kind;
      event.location = LocationId(0);
      event.ticks = ticks;
      event.ref = ref;
      sink->event(event);
    };
    // Region 1 ends when the process does, region 2 only then.
    event(reader::EventKind::kEnter, 0, 0);
    for (const std::uint64_t begin : {10U, 40U}) {
      event(reader::EventKind::kEnter, begin, 1);
      if (begin == 40) event(reader::EventKind::kEnter, 41, 2);
      if (begin == 40) event(reader::EventKind::kLeave, 43, 2);
      event(reader::EventKind::kLeave, begin == 40 ? 44 : 30, 1);
    }
    event(reader::EventKind::kLeave, 45, 0);
    REQUIRE(sink->finish(45).ok());
    const EventSummary summary = sink->take();
    const auto& sums = summary.processes[0].locations[0].sums;
    REQUIRE(sums.size() == 3);
    CHECK(sums[1].visits == 2);
    CHECK(sums[1].least == (*recovered == '1' ? 20 : 4));
    CHECK(sums[2].least == 2);
  }
}

TEST_CASE("Event summary: the same by any number of threads, messages only where wanted") {
  test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "a", {.more_enters = 2000});
  const EventSummary one = *summarize_events(folder / "a", {.threads = 1});
  const EventSummary two = *summarize_events(folder / "a", {.threads = 2});
  CHECK(two.processes == one.processes);
  CHECK(two.messages == one.messages);
  CHECK(two.events == one.events);
  CHECK(two.gaps == one.gaps);
  const EventSummary without =
      *summarize_events(folder / "a", {.messages = false, .threads = 2});
  CHECK(without.processes == one.processes);
  CHECK(without.messages.empty());
}

TEST_CASE("Event summary: an archive of another tool - its calls by partner and size") {
  test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "a");
  const EventSummary events = *summarize_events(folder / "a");
  const MessageTables messages = message_tables(events.messages);
  REQUIRE(messages.processes.size() == 2);
  std::vector<std::string> rows;
  for (const MessageTables::Row& row : messages.by_signature)
    rows.push_back(row.procedure + " " + summary::partners_text(row.to, row.from) + ": " +
                   std::to_string(row.calls) + " calls, " + std::to_string(row.size_least) +
                   " to " + std::to_string(row.size_greatest) + " bytes, " +
                   std::to_string(std::lround(row.time_ns)) + " ns");
  CHECK(rows ==
        std::vector<std::string>{"MPI_Waitall : 1 calls, 0 to 0 bytes, 100 ns",
                                 "MPI_Waitall : 1 calls, 333 to 333 bytes, 100 ns",
                                 "MPI_Irecv from rank-1: 2 calls, 0 to 0 bytes, 20 ns",
                                 "MPI_Isend to rank+1: 1 calls, 111 to 111 bytes, 20 ns",
                                 "MPI_Isend to rank+1: 1 calls, 222 to 222 bytes, 20 ns"});
  CHECK(messages.messages_outside == 2);
  CHECK(messages.outside_bytes == 10);
}

// As Score-P writes calls on files: their records inside of the region of the call, the destruction before it returns.
TEST_CASE("Event summary: operations on files - calls are told apart by the file") {
  test::TemporaryFolder folder;
  {
    reader::SmallArchive archive(folder / "a");
    const auto main = archive.region("main");
    const auto write = archive.region("write", OTF2_REGION_ROLE_FILE_IO);
    const auto open = archive.region("open", OTF2_REGION_ROLE_FILE_IO_METADATA);
    const auto mpi = archive.mpi("MPI_File_write", OTF2_REGION_ROLE_FILE_IO);
    const auto first = archive.file("/a/step.1.dat"),
               second = archive.file("/b/step.2.dat"), log = archive.file("log");
    archive.process();
    std::uint64_t now = 0;
    const auto call = [&](std::uint32_t region, std::uint32_t handle, std::uint64_t took) {
      archive.enter(now, region);
      if (region == open)
        OTF2_EvtWriter_IoCreateHandle(
            archive.writer(), nullptr, now, handle, OTF2_IO_ACCESS_MODE_WRITE_ONLY,
            OTF2_IO_CREATION_FLAG_CREATE, OTF2_IO_STATUS_FLAG_NONE);
      else
        OTF2_EvtWriter_IoOperationBegin(archive.writer(), nullptr, now, handle,
                                        OTF2_IO_OPERATION_MODE_WRITE,
                                        OTF2_IO_OPERATION_FLAG_NONE, 100, 1);
      now += took;
      if (region != open)
        OTF2_EvtWriter_IoOperationComplete(archive.writer(), nullptr, now, handle, 100, 1);
      archive.leave(now, region);
    };
    archive.enter(now, main);
    call(open, first, 5);
    call(write, first, 10);
    call(write, second, 20);
    call(write, log, 40);
    call(mpi, log, 80);
    archive.enter(now, write);  // to what is no file
    archive.leave(now += 160, write);
    archive.leave(now += 320, main);
    archive.finish(0, now);
  }
  base::take_notes();
  const EventSummary events = *summarize_events(folder / "a");
  CHECK(base::take_notes().empty());
  const RunProfile profile = merge_summaries(events.processes);
  const ProfileTotals totals = total(profile);
  std::map<std::string, double> files;
  for (PathId i; i < profile.paths.size(); ++i) {
    const RunProfile::Path& path = profile.paths[i];
    if (path.cls == summary::TimeClass::kFileIo)
      files[profile.regions[path.region].name] += totals.paths[i].own_ns;
  }
  CHECK(files == std::map<std::string, double>{{"open step.#.dat", 5},
                                               {"write step.#.dat", 30},
                                               {"write log", 40},
                                               {"write", 160}});
  // The control flow goes by the same names.
  const summary::RunSummary& process = events.processes.front();
  std::uint64_t edges = 0;
  for (const auto& edge : process.locations.front().edges) {
    edges += edge.count;
    for (const std::uint32_t end : {edge.from, edge.to})
      if (end != summary::RunSummary::kNone)
        CHECK(process.locations.front().sums[end].visits != 0);
  }
  CHECK(edges == 7);
}

TEST_CASE("Event summary: no archive - one line") {
  test::TemporaryFolder folder;
  CHECK(!summarize_events(folder / "none"));
  reader::write_foreign_archive(folder / "a");
  std::ofstream(folder / "a" / "traces.otf2") << "no archive";
  const auto events = summarize_events(folder / "a");
  CHECK(!events);
  CHECK(events.error().find('\n') == std::string::npos);
}

}  // namespace refrain::analysis::event_summary_test
