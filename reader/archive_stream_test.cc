#include "reader/archive_stream.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "reader/foreign_archive.h"
#include "test/support/files.h"

namespace refrain::reader::archive_stream_test {
namespace {

class Collected final : public TraceSink {
 public:
  base::Result<> begin(const TraceDefinitions&) override { return {}; }
  void event(const TraceEvent& event) override { events.push_back(event); }
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end) override {
    end_ns = end;
    return {};
  }
  std::vector<TraceEvent> events;
  std::uint64_t end_ns = 0;
};

LocationId index_of(const ArchiveStream& stream, std::uint64_t ref) {
  const auto& locations = stream.definitions().locations;
  for (std::uint32_t i = 0; i < locations.size(); ++i)
    if (locations[i].ref == ref) return LocationId(i);
  return LocationId{kNone};
}

TEST_CASE("ArchiveStream: some locations - one after the other, each from zero on") {
  const test::TemporaryFolder folder;
  write_foreign_archive(folder / "a", {.more_enters = 2000});
  ArchiveStream stream;
  REQUIRE(stream.open((folder / "a").string()).ok());
  const LocationId first = index_of(stream, 42);
  const LocationId second = index_of(stream, 7);
  Collected sink;
  REQUIRE(stream.run_in_turn({first, second}, EventChoice::kAll, sink).ok());
  // Of 42: four regions, two requests, two receives. Of 7: more than a batch.
  constexpr std::size_t kOfFirst = 12;
  REQUIRE(sink.events.size() > kOfFirst + 4000);
  CHECK(stream.events() == sink.events.size());
  for (std::size_t i = 0; i < sink.events.size(); ++i)
    REQUIRE(sink.events[i].location == (i < kOfFirst ? first : second));
  CHECK(sink.events[0].ticks == 1050);
  CHECK(sink.events[0].ns == 0);
  CHECK(sink.events[kOfFirst - 1].ticks == 3450);
  CHECK(sink.events[kOfFirst - 1].ns == 960);  // 2400 ticks of 0.4 ns
  CHECK(sink.events[kOfFirst].ticks == 1000);
  CHECK(sink.events[kOfFirst].ns == 0);
  CHECK(sink.events.back().ticks == 3500 + 2 * 1999 + 1);
  CHECK(sink.end_ns == sink.events.back().ns);
}

TEST_CASE("ArchiveStream: all locations - ticks and nanoseconds of one time") {
  const test::TemporaryFolder folder;
  write_foreign_archive(folder / "a");
  ArchiveStream stream;
  REQUIRE(stream.open((folder / "a").string()).ok());
  Collected sink;
  REQUIRE(stream.run(sink).ok());
  for (const TraceEvent& event : sink.events)
    REQUIRE(event.ns == stream.definitions().ns(event.ticks));
}

TEST_CASE("ArchiveStream: marks only - none in a trace of another tool") {
  const test::TemporaryFolder folder;
  write_foreign_archive(folder / "a", {.more_enters = 2000});
  ArchiveStream stream;
  REQUIRE(stream.open((folder / "a").string()).ok());
  Collected sink;
  REQUIRE(stream.run_in_turn({index_of(stream, 7)}, EventChoice::kMarks, sink).ok());
  CHECK(sink.events.empty());
}

TEST_CASE("ArchiveStream: without groups - processes by reference, no ranks") {
  const test::TemporaryFolder folder;
  write_foreign_archive(folder / "a");
  ArchiveStream all;
  REQUIRE(all.open((folder / "a").string()).ok());
  REQUIRE(all.definitions().processes.size() == 2);
  CHECK(all.definitions().processes[0].ref == 21);  // rank 0
  CHECK(all.definitions().processes[0].rank == 0);
  CHECK(all.definitions().location_groups == 3);  // with a GPU's
  ArchiveStream stream;
  REQUIRE(stream.open_anchor((folder / "a").string()).ok());
  CHECK(stream.definitions().locations.empty());
  REQUIRE(stream.read_definitions(DefinitionChoice::kWithoutGroups).ok());
  REQUIRE(stream.definitions().processes.size() == 2);
  CHECK(stream.definitions().processes[0].ref == 20);
  CHECK(stream.definitions().processes[0].rank == kNone);
  CHECK(stream.definitions().groups.empty());
  REQUIRE(stream.definitions().comms.size() == 1);
  CHECK(stream.definitions().comms[0].group == kNone);
}

std::vector<TraceEvent> all_events(const std::string& archive) {
  ArchiveStream stream;
  REQUIRE(stream.open(archive).ok());
  Collected sink;
  REQUIRE(stream.run(sink).ok());
  for (TraceEvent& event : sink.events) event.extras = nullptr;  // of the stream
  return std::move(sink.events);
}

// Fewer files than locations: each is opened for a batch, from where it was read until. Batches have 512 events then.
TEST_CASE("ArchiveStream: more locations than open files - the same events") {
  const test::TemporaryFolder folder;
  const std::uint64_t few = [&] {
    write_foreign_archive(folder / "few");
    std::uint64_t of_7 = 0;
    ArchiveStream stream;
    REQUIRE(stream.open((folder / "few").string()).ok());
    const LocationId location = index_of(stream, 7);
    for (const TraceEvent& event : all_events((folder / "few").string()))
      of_7 += event.location == location;
    return of_7;
  }();
  // A last batch that is full, one that is not, and one that has one event.
  const std::uint64_t full = (5 * 512 - few) / 2;
  REQUIRE(few + 2 * full == 5 * 512);
  std::vector<std::string> archives;
  std::vector<std::vector<TraceEvent>> before;
  for (const std::uint64_t more : {full, full + 100, full + 1}) {
    archives.push_back((folder / std::to_string(more)).string());
    write_foreign_archive(archives.back(), {.more_enters = more, .said_events = 1 << 20});
    before.push_back(all_events(archives.back()));
  }
  rlimit files{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  files.rlim_cur = files.rlim_max = 64;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
  for (std::size_t i = 0; i < archives.size(); ++i) {
    const std::vector<TraceEvent> after = all_events(archives[i]);
    REQUIRE(after.size() == before[i].size());
    REQUIRE(after.size() > 5 * 512);
    for (std::size_t at = 0; at < after.size(); ++at) {
      REQUIRE(after[at].ticks == before[i][at].ticks);
      REQUIRE(after[at].location == before[i][at].location);
      REQUIRE(after[at].kind == before[i][at].kind);
      REQUIRE(after[at].ref == before[i][at].ref);
    }
  }
}

TEST_CASE("Trace: a procedure of MPI, whatever a tool adds to its name") {
  CHECK(mpi_procedure("MPI_Recv()") == "MPI_Recv");
  CHECK(mpi_procedure("PMPI_Recv") == "MPI_Recv");
  CHECK(mpi_procedure("mpi_recv__") == "MPI_recv");
  CHECK(mpi_procedure("MPI_Recv [rank 1]") == "MPI_Recv");
  CHECK(mpi_procedure("recv") == "recv");
  for (const char* const nothing : {"MPI_", "MPI_ ", "PMPI_(", "mpi_____"})
    CHECK(mpi_procedure(nothing) == "MPI_");
}

}  // namespace
}  // namespace refrain::reader::archive_stream_test
