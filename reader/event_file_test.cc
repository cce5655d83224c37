#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/notes.h"
#include "reader/archive_stream.h"
#include "reader/foreign_archive.h"
#include "reader/small_archive.h"
#include "test/support/files.h"

namespace refrain::reader::event_file_test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChunk = 1 << 20;  // of foreign archives
constexpr std::uint64_t kPairs = 100'000;  // two chunks and a part

class Counted final : public TraceSink {
 public:
  base::Result<> begin(const TraceDefinitions&) override { return {}; }
  void event(const TraceEvent& event) override {
    falls += event.ticks < last;
    last = event.ticks;
    ++events;
  }
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t) override { return {}; }
  std::uint64_t events = 0, last = 0, falls = 0;
};

// What can be read of the archive, which must say so.
std::uint64_t read(const fs::path& archive, std::size_t notes = 1) {
  base::take_notes();
  Counted sink;
  {
    ArchiveStream stream;
    REQUIRE(stream.open(archive.string()).ok());
    REQUIRE(stream.run(sink).ok());
  }
  CHECK(sink.falls == 0);
  const auto said = base::take_notes();
  CHECK(said.size() == notes);
  for (const std::string& line : said)
    CHECK(line.find("events of location 'location 7' of 'process 21' (7) can be read") !=
          std::string::npos);
  return sink.events;
}

TEST_CASE(
    "EventFile: records of all shapes - are counted, with undefined references, too") {
  for (const std::uint32_t lies : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    const test::TemporaryFolder folder;
    write_foreign_archive(folder / "a", {.more_enters = 30, .lies = lies});
    for (const auto& entry : fs::directory_iterator(folder / "a" / "traces")) {
      if (entry.path().extension() != ".evt") continue;
      const auto counted = count_events(entry.path().string(), kChunk);
      REQUIRE(counted);
      INFO(entry.path() << " " << lies);
      CHECK(counted->whole == counted->promised);
    }
  }
}

TEST_CASE("EventFile: long records - many attributes, many values") {
  const test::TemporaryFolder folder;
  SmallArchive archive(folder / "a");
  archive.process();
  OTF2_AttributeList* attributes = OTF2_AttributeList_New();
  for (OTF2_AttributeRef i = 0; i < 60; ++i)
    OTF2_AttributeList_AddUint64(attributes, i, ~std::uint64_t{0} - 1 - i);
  OTF2_EvtWriter* const writer = archive.writer();
  REQUIRE(OTF2_EvtWriter_Enter(writer, attributes, 5, OTF2_UNDEFINED_REGION) ==
          OTF2_SUCCESS);
  OTF2_AttributeList_Delete(attributes);
  const std::vector<OTF2_Type> types(60, OTF2_TYPE_UINT64);
  std::vector<OTF2_MetricValue> values(60);
  for (OTF2_MetricValue& value : values) value.unsigned_int = ~std::uint64_t{0} - 2;
  REQUIRE(OTF2_EvtWriter_Metric(writer, nullptr, 6, 0, 60, types.data(), values.data()) ==
          OTF2_SUCCESS);
  REQUIRE(OTF2_EvtWriter_Leave(writer, nullptr, 7, OTF2_UNDEFINED_REGION) == OTF2_SUCCESS);
  REQUIRE(OTF2_EvtWriter_MpiIsendComplete(writer, nullptr, 8, ~std::uint64_t{0}) ==
          OTF2_SUCCESS);
  archive.finish(0, 8);
  const auto counted = count_events((folder / "a" / "traces" / "0.evt").string(), kChunk);
  REQUIRE(counted);
  CHECK(counted->promised == 4);
  CHECK(counted->whole == 4);
}

TEST_CASE("EventFile: definitions - cut ones are refused, wherever they are cut") {
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "a";
  write_foreign_archive(archive);
  const fs::path file = archive / "traces.def";
  const std::uint64_t bytes = fs::file_size(file);
  CHECK_FALSE(is_cut(file.string(), kChunk));
  REQUIRE(ArchiveStream().open(archive.string()).ok());
  for (std::uint64_t left = bytes - 2; left > 0; left -= std::min<std::uint64_t>(left, 7)) {
    fs::resize_file(file, left);
    INFO(left << " of " << bytes);
    CHECK(is_cut(file.string(), kChunk));
    CHECK(ArchiveStream().open(archive.string()).error().find("is truncated") !=
          std::string::npos);
  }
}

TEST_CASE("EventFile: cut - what is whole is read, once, and how much is missing is said") {
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "a";
  write_foreign_archive(archive, {.more_enters = kPairs});
  const std::uint64_t all = read(archive, 0);
  const fs::path file = archive / "traces" / "7.evt";
  const std::uint64_t bytes = fs::file_size(file);
  REQUIRE(bytes > kChunk);
  std::uint64_t before = all;
  for (const std::uint64_t left :
       {bytes - 100, bytes / 2, kChunk + 5, kChunk, kChunk - 1, kChunk / 2,
        std::uint64_t{200}, std::uint64_t{10}, std::uint64_t{0}}) {
    INFO(left << " of " << bytes);
    fs::resize_file(file, left);
    const std::uint64_t found = read(archive);
    CHECK(found <= before);
    // An event takes 3 bytes, with a time stamp of its own 12.
    CHECK(found + (bytes - left) / 3 + 3 >= all);
    CHECK((left < 20 || all - found <= (bytes - left) / 5 + 3));
    before = found;
  }
}

TEST_CASE(
    "EventFile: a page of zeros - the rest is read, and how much is missing is said") {
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "a";
  write_foreign_archive(archive, {.more_enters = kPairs});
  const std::uint64_t all = read(archive, 0);
  const fs::path file = archive / "traces" / "7.evt";
  std::string text = test::read_file(file);
  text.replace(4096 * 100, 4096, 4096, '\0');
  std::ofstream(file, std::ios::binary) << text;
  const std::uint64_t found = read(archive);
  CHECK(found < all);
  CHECK(found > all / 4);
}

TEST_CASE("EventFile: the definitions say less - all is read; more - it is said") {
  const test::TemporaryFolder folder;
  write_foreign_archive(folder / "less", {.more_enters = 1000, .said_events = 0});
  CHECK(read(folder / "less", 0) > 2000);
  write_foreign_archive(folder / "more", {.said_events = 1'000'000});
  base::take_notes();
  Counted sink;
  ArchiveStream stream;
  REQUIRE(stream.open((folder / "more").string()).ok());
  REQUIRE(stream.run(sink).ok());
  CHECK(base::take_notes().size() == 4);  // each location
}

}  // namespace
}  // namespace refrain::reader::event_file_test
