#include "analysis/archive_info.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "base/notes.h"
#include "test/support/leaks.h"
#include "writer/testing/archive_text.h"

namespace refrain::analysis::archive_info_test {
namespace {

namespace fs = std::filesystem;

void write_sample(const test::TemporaryFolder& folder) {
  spool::SpoolBuilder builder(2);
  builder.loop(1, 1250, 0x5000);
  for (std::uint64_t i = 0; i < 10; ++i) {
    builder.region(i + 1, 1000 + 100 * i, 1080 + 100 * i, 0x5000);
    builder.iteration(1, i, 1000 + 100 * i);
  }
  builder.left(1, 9, 1980);  // the tenth is incomplete
  builder.gap(0, 4, 1300);
  builder.resumed(0, 8, 1700);
  builder.location(1).lost[spool::kLossDepth] = 4;
  writer::write_and_check(builder, folder);
}

TEST_CASE("ArchiveInfo: a whole archive - all information is there without the spool") {
  const test::TemporaryFolder folder;
  write_sample(folder);
  const ArchiveInfo info = *read_archive_info(folder.path().string());
  CHECK(info.version == "0.0.test");
  CHECK(info.command == "program --fast");
  CHECK(info.machine == "host");
  CHECK(info.processes == 1);
  CHECK(info.gaps == 1);
  CHECK(info.duration_s == Approx(1979e-9));
  CHECK(info.archive_bytes > 1000);
  CHECK(info.lost == std::map<std::string, std::uint64_t>{{"depth", 4}});
  REQUIRE(info.locations.size() == 2);
  CHECK(info.locations[0].primary);
  CHECK(info.locations[1].lost.at("depth") == 4);
  CHECK(info.locations[1].process == "program");
  CHECK(info.events_seen == info.locations[0].events_seen + info.locations[1].events_seen);
  CHECK(info.events_written < info.events_seen);
  REQUIRE(info.phases.size() == 1);
  const PhaseInfo& phase = info.phases[0];
  CHECK(phase.name == "loop 1 @ 0x4fff");
  CHECK(phase.body_events == 1);
  CHECK(phase.body == std::vector<std::string>{"!$omp parallel @0x4fff"});
  CHECK(phase.visits == 1);
  CHECK(phase.iterations == 9);
  CHECK(phase.written == 5);
  // A mark begins a tick after the one before has ended.
  CHECK(phase.mean_ns == Approx(100).margin(1));
  CHECK(phase.min_ns == 99);
  CHECK(phase.max_ns == 100);
  CHECK(phase.sigma_ns < 1);
}

TEST_CASE("ArchiveInfo: the anchor file - gives the same as its folder") {
  const test::TemporaryFolder folder;
  write_sample(folder);
  const ArchiveInfo info = *read_archive_info((folder / "traces.otf2").string());
  CHECK(info.archive_bytes == read_archive_info(folder.path().string())->archive_bytes);
}

void write_foreign(const fs::path& folder) {
  OTF2_Archive* archive = OTF2_Archive_Open(
      folder.c_str(), "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
      OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  OTF2_Archive_SetSerialCollectiveCallbacks(archive);
  OTF2_GlobalDefWriter* writer = OTF2_Archive_GetGlobalDefWriter(archive);
  OTF2_GlobalDefWriter_WriteString(writer, 0, "");
  OTF2_Archive_CloseGlobalDefWriter(archive, writer);
  OTF2_Archive_Close(archive);
}

TEST_CASE("ArchiveInfo: not Refrain's archive - an error of one line") {
  const test::TemporaryFolder folder;
  CHECK_THAT(read_archive_info((folder / "none").string()).error(),
             Catch::Contains("none: no such file or directory; an archive is"));
  CHECK_THAT(read_archive_info(folder.path().string()).error(),
             Catch::Contains(": no archive, the directory has no traces.otf2"));
  std::ofstream(folder / "notes.txt") << "something else";
  CHECK_THAT(read_archive_info((folder / "notes.txt").string()).error(),
             Catch::EndsWith("notes.txt: not an archive; expected its directory, or its "
                             "traces.otf2"));
  std::ofstream(folder / "traces.otf2") << "something else";
  {
    const test::LibraryMayLeak archive_that_cannot_be_opened;
    CHECK_THAT(read_archive_info(folder.path().string()).error(),
               Catch::EndsWith("not an OTF2 archive"));
  }
  fs::remove(folder / "traces.otf2");
  write_foreign(folder.path());
  CHECK_THAT(read_archive_info(folder.path().string()).error(),
             Catch::Contains("not an archive of Refrain; 'refrain profile'"));
}

TEST_CASE("ArchiveInfo: missing definitions - an error, no crash") {
  const test::TemporaryFolder folder;
  write_sample(folder);
  fs::remove(folder / "traces.def");
  CHECK_THAT(read_archive_info(folder.path().string()).error(),
             Catch::Contains("cannot be read"));
}

TEST_CASE(
    "ArchiveInfo: missing or cut events - all the rest, and a line for each location") {
  const test::TemporaryFolder folder;
  write_sample(folder);
  base::take_notes();
  REQUIRE(read_archive_info(folder.path().string()));
  REQUIRE(base::take_notes().empty());
  std::string what = " can be read";
  SECTION("missing") {
    fs::remove_all(folder / "traces");
    what = "it has no file";
  }
  SECTION("cut") {
    for (const auto& entry : fs::directory_iterator(folder / "traces"))
      if (entry.path().extension() == ".evt")
        fs::resize_file(entry.path(), fs::file_size(entry) / 2);
  }
  const auto info = read_archive_info(folder.path().string());
  REQUIRE(info);
  CHECK(info->locations.size() == 2);
  const auto lines = base::take_notes();
  const auto with_events = std::ranges::count_if(
      info->locations, [](const LocationInfo& each) { return each.archive_events != 0; });
  CHECK(with_events != 0);
  CHECK(lines.size() == static_cast<std::size_t>(with_events));
  for (const std::string& line : lines) CHECK_THAT(line, Catch::Contains(what));
}

TEST_CASE("ArchiveInfo: a job - messages, those left out, figures of each rank") {
  const test::TemporaryFolder folder;
  std::vector<spool::SpoolBuilder> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto& log = ranks.emplace_back(1).mpi(rank, 2).location(0);
    for (std::uint64_t i = 0; i < 4 - rank; ++i) {
      const bool sends = rank == 0;
      const auto procedure = sends ? spool::kTestSend : spool::kTestRecv;
      log.enter_mpi(100 + 10 * i, procedure, 0x7000, i + 1)
          .message(sends ? spool::kMpiSend : spool::kMpiRecv, 101 + 10 * i,
                   {.peer = 1 - rank, .tag = 1, .number = i, .bytes = 50})
          .leave_mpi(105 + 10 * i, procedure, 0x7000);
    }
  }
  writer::write_and_check(ranks, folder);
  const ArchiveInfo info = *read_archive_info(folder.path().string());
  CHECK(info.processes == 2);
  CHECK(info.mpi.used);
  CHECK(info.mpi.messages == 3);
  CHECK(info.mpi.bytes == 150);
  CHECK(info.mpi.sends_dropped == 1);
  CHECK(info.mpi.receives_dropped == 0);
  CHECK(info.mpi.clock_checked == 3);
  REQUIRE(info.locations.size() == 2);
  CHECK(info.locations[0].sends == 3);
  CHECK(info.locations[0].sends_dropped == 1);
  CHECK(info.locations[1].bytes_received == 150);
  CHECK(info.locations[1].process == "MPI Rank 1");
}

}  // namespace
}  // namespace refrain::analysis::archive_info_test
