#include "spool/spool_reader.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "spool/iteration_stream.h"
#include "spool/spool_folder.h"
#include "test/support/files.h"
#include "writer/testing/spool_builder.h"

namespace refrain::spool::spool_reader_test {
namespace {

namespace fs = std::filesystem;

template <typename Value>
void overwrite(const fs::path& path, std::size_t offset, Value value) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::vector<std::uint64_t> ticks_of(const RecordSequence& records) {
  std::vector<std::uint64_t> ticks;
  for (std::size_t i = 0; i < records.size(); ++i) ticks.push_back(records[i].ticks);
  return ticks;
}

TEST_CASE("SpoolFile: log - log area and stage are one sequence") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  for (std::uint64_t i = 0; i < 9; ++i) builder.location(0).add(kFlush, 10 + i);
  const fs::path path = builder.write(folder.path()) / "location-0.spool";
  const SpoolFile file = SpoolFile::open(path.string());
  REQUIRE(file.usable());
  CHECK(file.complaints().empty());
  CHECK(ticks_of(file.log()) ==
        std::vector<std::uint64_t>{10, 11, 12, 13, 14, 15, 16, 17, 18});
  CHECK(file.facts().ended);
  CHECK(file.facts().role == kRolePrimary);
  CHECK(file.ring().older.empty());
}

TEST_CASE("SpoolFile: ring - in order, without the slot that may be torn") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  RecordBuilder& location = builder.location(0);
  location.sync(1, 1).suspend_in_ring();
  for (std::uint64_t i = 0; i < kRingFirst; ++i) location.add(kFlush, 5000 + i);
  location.ring_count = kRingFirst + 7;
  const fs::path path = builder.write(folder.path()) / "location-0.spool";
  const SpoolFile file = SpoolFile::open(path.string());
  const RingView& ring = file.ring();
  CHECK(ring.overflowed);
  REQUIRE(ring.older.size() + ring.newer.size() == kRingFirst - 1);
  CHECK(ring.older.front().ticks == 5001);
  CHECK(ring.older.back().ticks + 1 == ring.newer.front().ticks);
  CHECK(ring.newer.back().ticks == 5000 + kRingFirst - 1);
}

TEST_CASE("SpoolFile: damage - complaints, never more records than there are") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  for (std::uint64_t i = 0; i < 300; ++i) builder.location(0).add(kFlush, 10 + i);
  const fs::path path = builder.write(folder.path()) / "location-0.spool";
  SECTION("cut off in the log") {
    fs::resize_file(path, fs::file_size(path) - 50 * kRecordBytes);
    const SpoolFile file = SpoolFile::open(path.string());
    CHECK(file.usable());
    CHECK(file.log().size() ==
          150);  // 200 of 300 were in the log area, the rest in the stage
    CHECK_THAT(file.complaints().at(0), Catch::Contains("150 of 200"));
  }
  SECTION("cut off in the header") {
    fs::resize_file(path, 100);
    const SpoolFile file = SpoolFile::open(path.string());
    CHECK_FALSE(file.usable());
    CHECK_THAT(file.complaints().at(0), Catch::Contains("shorter than a header"));
  }
  SECTION("other magic, version, byte order") {
    const std::size_t offset = GENERATE(std::size_t{0}, std::size_t{8}, std::size_t{12});
    overwrite<std::uint32_t>(path, offset, 0xdead);
    const SpoolFile file = SpoolFile::open(path.string());
    CHECK_FALSE(file.usable());
    CHECK(file.complaints().size() == 1);
    CHECK(file.log().size() == 0);
  }
  SECTION("a count beyond the stage") {
    overwrite<std::uint64_t>(path, offsetof(Header, log_commit), 100'000 << 1);
    const SpoolFile file = SpoolFile::open(path.string());
    CHECK(file.log().size() == 200 + kStageRecords);
    CHECK(file.complaints().size() == 1);
  }
  SECTION("an impossible log offset") {
    overwrite<std::uint64_t>(path, offsetof(Header, log_offset), ~std::uint64_t{0});
    CHECK(SpoolFile::open(path.string()).log().size() == 0);
  }
  SECTION("no such file") {
    const SpoolFile file = SpoolFile::open((folder / "nothing").string());
    CHECK_FALSE(file.usable());
    CHECK_THAT(file.complaints().at(0), Catch::Contains("cannot be opened"));
  }
}

TEST_CASE("SpoolFolder: enumeration - processes and locations by number") {
  const test::TemporaryFolder folder;
  SpoolBuilder(12).write(folder.path(), 1);
  SpoolBuilder(2).write(folder.path(), 0);
  std::ofstream(folder.path() / "spool" / "process-1" / "location-x.spool") << "?";
  const SpoolFolder found = open_spool_folder(folder.path().string());
  CHECK(found.complaints.empty());
  REQUIRE(found.processes.size() == 2);
  CHECK(found.processes[0].process == 0);
  CHECK(found.processes[0].locations.size() == 2);
  REQUIRE(found.processes[1].locations.size() == 12);
  CHECK(found.processes[1].locations[10].facts().location == 10);
  CHECK(open_spool_folder((folder / "none").string()).complaints.size() == 1);
}

TEST_CASE("SpoolFolder: locations that are missing - are named, also the last one") {
  const test::TemporaryFolder folder;
  const fs::path spool = SpoolBuilder(4).write(folder.path());
  const auto missing = [&] {
    const SpoolFolder found = open_spool_folder(folder.path().string());
    return std::pair(found.processes.at(0).missing,
                     found.complaints.empty() ? "" : found.complaints.back());
  };
  CHECK(missing() == std::pair<std::uint64_t, std::string>(0, ""));
  fs::remove(spool / "location-1.spool");
  fs::resize_file(spool / "location-3.spool", 100);
  const std::string text = missing().second;
  CHECK(missing().first == 2);
  CHECK_THAT(
      text, Catch::EndsWith("nothing is known of 2 of 4 threads, because location-1.spool, "
                            "location-3.spool are missing or damaged"));
  // Without the journal the numbers of those that are there say it.
  fs::remove(spool / "journal.spool");
  CHECK(missing().first == 1);
}

TEST_CASE("SpoolFile: a pipe in its place - nobody waits for it") {
  const test::TemporaryFolder folder;
  const fs::path path = SpoolBuilder(2).write(folder.path()) / "location-1.spool";
  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const SpoolFile file = SpoolFile::open(path.string());
  CHECK_FALSE(file.usable());
  CHECK_THAT(file.complaints().at(0), Catch::EndsWith("is not a regular file"));
}

TEST_CASE("Journal: content - texts, gaps, loops") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(1);
  builder.gap(0, 5, 500);
  builder.resumed(0, 9, 900);
  builder.loop(3, 250, 0x1000);
  builder.iteration(3, 0, 100);
  builder.iteration(3, 1, 200);
  builder.left(3, 2, 300);
  builder.journal().text(kTextModule, "1000 2000 0 - /bin/thing");
  const fs::path path = builder.write(folder.path()) / "journal.spool";
  const SpoolFile file = SpoolFile::open(path.string());
  const Journal journal = parse_journal(file.log());
  CHECK(journal.text(kTextHost) == "host");
  CHECK(journal.text(kTextCommand) == std::string("program\0--fast\0", 15));
  CHECK(journal.modules == std::vector<std::string>{"1000 2000 0 - /bin/thing"});
  REQUIRE(journal.gaps.size() == 1);
  CHECK(journal.gaps[0].resume_epoch == 9);
  REQUIRE(journal.visits.size() == 1);
  CHECK(journal.visits[0].left);
  CHECK(journal.visits[0].first_ticks == 100);
  CHECK(journal.loops.at(3).body.at(0).address == 0x1000);
}

std::vector<std::string> texts_of(const Journal& journal,
                                  std::span<const std::uint64_t> ends = {}) {
  std::vector<std::string> out;
  IterationStream stream(journal, ends);
  for (const IterationEvent* event = stream.peek(); event != nullptr;
       event = stream.peek()) {
    const std::uint32_t loop = journal.visits[event->visit].loop;
    out.push_back(std::to_string(event->ticks) + " " + std::to_string(loop) +
                  (event->left ? " left" : " " + std::to_string(event->number)) +
                  (event->left || event->complete ? "" : " incomplete"));
    stream.pop();
  }
  return out;
}

TEST_CASE("IterationStream: order - detected late, reported in time") {
  SpoolBuilder builder(1);
  builder.loop(1, 130, 0x10, 1);  // the inner loop, known first
  builder.iteration(1, 0, 110, 1);
  builder.iteration(1, 1, 120, 1);
  builder.left(1, 2, 130);
  builder.loop(1, 230, 0x10, 1, 1);
  builder.iteration(1, 0, 210, 1);
  builder.iteration(1, 1, 220, 1);
  builder.loop(2, 240, 0x20);  // the outer one began long before
  builder.iteration(2, 0, 100);
  builder.iteration(2, 1, 200);
  builder.left(1, 2, 230);
  builder.iteration(2, 2, 230);
  builder.left(2, 2, 250);
  const Journal journal = parse_journal(RecordSequence(builder.journal().log));
  CHECK(texts_of(journal) == std::vector<std::string>{"100 2 0", "110 1 0", "120 1 1",
                                                      "130 1 left", "200 2 1", "210 1 0",
                                                      "220 1 1", "230 1 left",
                                                      "230 2 2 incomplete", "250 2 left"});
}

TEST_CASE("Journal: sums - of a loop in two loops are two") {
  SpoolBuilder builder(1);
  for (const std::uint64_t parent : {4, 6, 4}) {
    builder.journal().add(kSkippedSummary, 100, (parent + 1) << 32 | 5, 10);
    builder.journal().add(kSkippedValue, 100, 5, 2, kSkippedVisits);
    builder.journal().add(kSkippedValue, 100, 5, parent, kSkippedParent);
  }
  const Journal journal = parse_journal(RecordSequence(builder.journal().log));
  REQUIRE(journal.summaries.size() == 2);
  CHECK(journal.summaries[0].parent == 4);
  CHECK(journal.summaries[0].visits == 4);
  CHECK(journal.summaries[1].parent == 6);
  CHECK(journal.summaries[1].visits == 2);
}

TEST_CASE("IterationStream: an iteration without events is left out") {
  SpoolBuilder builder(1);
  builder.loop(1, 130, 0x10);
  builder.iteration(1, 0, 100);
  builder.iteration(1, 1, 110);
  builder.iteration(1, 2, 120);
  SECTION("the loop was left before it began") {
    builder.left(1, 2, 119);
    const Journal journal = parse_journal(RecordSequence(builder.journal().log));
    CHECK(texts_of(journal) ==
          std::vector<std::string>{"100 1 0", "110 1 1", "120 1 left"});
  }
  SECTION("the loop was left inside it") {
    builder.left(1, 2, 125);
    const Journal journal = parse_journal(RecordSequence(builder.journal().log));
    CHECK(texts_of(journal) == std::vector<std::string>{"100 1 0", "110 1 1",
                                                        "120 1 2 incomplete",
                                                        "125 1 left"});
  }
}

TEST_CASE("IterationStream: skipped without marks - the last one ends with the writing") {
  SpoolBuilder builder(1);
  builder.loop(1, 130, 0x10);
  builder.iteration(1, 0, 100);
  builder.iteration(1, 1, 110);
  builder.left(1, 50, 600);
  const Journal journal = parse_journal(RecordSequence(builder.journal().log));
  const std::uint64_t ends[] = {120};
  CHECK(texts_of(journal, ends) ==
        std::vector<std::string>{"100 1 0", "110 1 1", "120 1 left", "600 1 left"});
}

}  // namespace
}  // namespace refrain::spool::spool_reader_test
