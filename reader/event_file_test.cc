#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/notes.h"
#include "base/texts.h"
#include "reader/archive_stream.h"
#include "reader/foreign_archive.h"
#include "reader/small_archive.h"
#include "test/support/files.h"

namespace refrain::reader::event_file_test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChunk = 1 << 20;   // of foreign archives
constexpr std::uint64_t kPairs = 100'000;   // two chunks and a part
constexpr std::uint64_t kFirstPair = 3500;  // ticks of its enter
constexpr std::uint64_t kEventBytes = 12;   // of each, with its time stamp

class Counted final : public TraceSink {
 public:
  base::Result<> begin(const TraceDefinitions& definitions) override {
    region = definitions.region_table.of(3);  // of the many enters and leaves
    return {};
  }
  void event(const TraceEvent& event) override {
    falls += event.ticks < last;
    // The reader's own, at a hole.
    if (event.uncertain) return made.push_back(event);
    wrong += event.ticks > kFirstPair && event.ref != region;
    // The many enters and leaves are a tick apart.
    if (last >= kFirstPair && event.ticks > last + 1) gaps.emplace_back(last, event.ticks);
    if (last > kFirstPair) repeated += event.ticks == last;
    last = event.ticks;
    ++events;
  }
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t) override { return {}; }
  std::uint64_t events = 0, last = 0, falls = 0, repeated = 0, wrong = 0;
  std::uint32_t region = kNone;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
  std::vector<TraceEvent> made;
};

Counted counted(const fs::path& archive) {
  Counted sink;
  ArchiveStream stream;
  REQUIRE(stream.open(archive.string()).ok());
  REQUIRE(stream.run(sink).ok());
  CHECK(sink.falls == 0);
  return sink;
}

// What can be read of the archive, which must say so.
std::uint64_t read(const fs::path& archive, std::size_t notes = 1) {
  base::take_notes();
  const Counted sink = counted(archive);
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

// A long record's length has room for nine bytes, whatever it comes to: libotf2 decides by what the record might take.
TEST_CASE("EventFile: long records - of few bytes") {
  for (std::uint32_t count = 0; count < 90; ++count) {
    const test::TemporaryFolder folder;
    SmallArchive archive(folder / "a");
    archive.process();
    OTF2_EvtWriter* const writer = archive.writer();
    const std::vector<OTF2_StringRef> arguments(count, 1);
    REQUIRE(OTF2_EvtWriter_ProgramBegin(writer, nullptr, 4, 0, count, arguments.data()) ==
            OTF2_SUCCESS);
    OTF2_AttributeList* attributes = OTF2_AttributeList_New();
    for (OTF2_AttributeRef i = 0; i < count; ++i)
      OTF2_AttributeList_AddUint64(attributes, i, 0);
    REQUIRE(OTF2_EvtWriter_Enter(writer, attributes, 5, 1) == OTF2_SUCCESS);
    OTF2_AttributeList_Delete(attributes);
    const std::vector<OTF2_Type> types(count, OTF2_TYPE_UINT64);
    const std::vector<OTF2_MetricValue> values(count);
    REQUIRE(OTF2_EvtWriter_Metric(writer, nullptr, 6, 0, static_cast<std::uint8_t>(count),
                                  types.data(), values.data()) == OTF2_SUCCESS);
    REQUIRE(OTF2_EvtWriter_Leave(writer, nullptr, 7, OTF2_UNDEFINED_REGION) ==
            OTF2_SUCCESS);
    archive.finish(0, 8);
    INFO(count);
    const auto file = count_events((folder / "a" / "traces" / "0.evt").string(), kChunk);
    REQUIRE(file);
    CHECK(file->promised == 4);
    CHECK(file->whole == 4);
    base::take_notes();
    CHECK(counted(folder / "a").events >= 2);  // metrics and arguments are of no use there
    CHECK(base::take_notes().empty());
  }
}

TEST_CASE("EventFile: definitions of all lengths - are not cut") {
  const test::TemporaryFolder folder;
  SmallArchive archive(folder / "a");
  constexpr int kRegions = 600;
  for (std::size_t length = 0; length < kRegions; ++length)
    archive.region(std::string(length, 'a'));
  constexpr int kProcesses = 90;  // so are groups
  for (int i = 0; i < kProcesses; ++i) archive.process();
  archive.finish(0, 8);
  const std::string file = (folder / "a" / "traces.def").string();
  CHECK_FALSE(is_cut(file, kChunk));
  CHECK(count_definitions(file, kChunk) > 2 * kRegions + 2 * kProcesses);
}

TEST_CASE(
    "EventFile: definitions that are cut - are used where clock and locations are whole") {
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "a";
  write_foreign_archive(archive);
  const fs::path file = archive / "traces.def";
  const std::uint64_t bytes = fs::file_size(file);
  CHECK_FALSE(is_cut(file.string(), kChunk));
  REQUIRE(ArchiveStream().open(archive.string()).ok());
  const std::uint64_t all = count_definitions(file.string(), kChunk);
  std::uint64_t used = 0, refused = 0, before = all;
  for (std::uint64_t left = bytes - 2; left > 0; left -= std::min<std::uint64_t>(left, 7)) {
    fs::resize_file(file, left);
    INFO(left << " of " << bytes);
    CHECK(is_cut(file.string(), kChunk));
    const std::uint64_t some = count_definitions(file.string(), kChunk);
    CHECK(some <= before);
    CHECK(some + (bytes - left) / 3 + 1 >= all);
    before = some;
    base::take_notes();
    ArchiveStream stream;
    const auto opened = stream.open(archive.string());
    const std::string line = archive.string() + ": only " + std::to_string(some) + " of " +
                             std::to_string(all) +
                             " definitions can be read: traces.def is truncated or damaged";
    const auto notes = base::take_notes();
    if (opened) {
      ++used;
      CHECK(refused == 0);
      CHECK(stream.definitions().locations.size() == 4);
      CHECK(stream.definitions().ticks_per_second == kForeignTicks);
      REQUIRE(notes.size() == 1);
      CHECK(notes[0].starts_with(line + "; names of regions"));
      Counted sink;
      CHECK(stream.run(sink).ok());
      CHECK(sink.events > 20);
    } else {
      ++refused;
      CHECK(opened.error().starts_with(line + ", and t"));
      CHECK(opened.error().ends_with("or record again"));
      CHECK(notes.empty());
    }
  }
  CHECK(used > 5);
  CHECK(refused > 5);
}

TEST_CASE("EventFile: definitions that are damaged - are not taken for whole") {
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "a";
  write_foreign_archive(archive);
  const fs::path file = archive / "traces.def";
  std::string text = test::read_file(file);
  // Kind, length, number: one of nine bytes is none.
  std::size_t record = 18, next = record;
  while (text[next] != 2) {
    record = next;
    next += 2 + static_cast<unsigned char>(text[record + 1]);
  }
  text[record + 2] = 9;
  std::ofstream(file, std::ios::binary) << text;
  base::take_notes();
  ArchiveStream stream;
  CHECK(stream.open(archive.string()).ok());
  const auto notes = base::take_notes();
  REQUIRE(notes.size() == 1);
  const std::uint64_t all = count_definitions(file.string(), kChunk);
  CHECK(notes[0].find("only " + std::to_string(all - 1) + " of " + std::to_string(all) +
                      " definitions can be read: traces.def is truncated or damaged; ") !=
        std::string::npos);
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

void damage(const fs::path& file, std::size_t at, std::size_t bytes) {
  std::string text = test::read_file(file);
  text.replace(at, bytes, bytes, '\0');
  std::ofstream(file, std::ios::binary) << text;
}

// What is before the damage is read, and what is from the next chunk on, each event once.
void check_damaged(const fs::path& archive, std::uint64_t all, std::size_t from,
                   std::size_t until) {
  base::take_notes();
  const Counted sink = counted(archive);
  CHECK(sink.repeated == 0);
  CHECK(sink.wrong == 0);
  REQUIRE(sink.gaps.size() == 1);
  const auto [begin, end] = sink.gaps[0];
  // Writing is off in the hole, for who counts time.
  std::vector<std::uint64_t> off, on;
  for (const TraceEvent& event : sink.made)
    if (event.kind == EventKind::kMeasurementOnOff)
      (event.op == OTF2_MEASUREMENT_OFF ? off : on).push_back(event.ticks);
  CHECK(off == std::vector<std::uint64_t>{begin});
  CHECK(on == std::vector<std::uint64_t>{end});
  const std::uint64_t missing = end - begin - 1;
  CHECK(sink.events + missing == all);
  const auto byte_of = [](std::uint64_t ticks) {
    return static_cast<double>((ticks - kFirstPair) * kEventBytes);
  };
  CHECK(byte_of(begin) == Approx(from).margin(1000));
  CHECK(byte_of(end) == Approx(until).margin(1000));
  const auto notes = base::take_notes();
  REQUIRE(notes.size() == 1);
  const std::uint64_t there = 2 * kPairs + 18;
  CHECK(notes[0].find("only " + std::to_string(there - missing) + " of " +
                      std::to_string(there) + " events of location 'location 7'") !=
        std::string::npos);
  // 2.5 GHz, from tick 1000 on.
  const auto time = [](std::uint64_t ticks) {
    return base::duration_text(std::round(static_cast<double>(ticks - 1000) * 0.4));
  };
  INFO(notes[0]);
  CHECK(notes[0].find("(its file is damaged: nothing is known from " + time(begin) +
                      " to " + time(end) + ")") != std::string::npos);
}

constexpr std::size_t kPage = 4096;

TEST_CASE(
    "EventFile: a page of zeros - the rest is read, and how much is missing is said") {
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "a";
  write_foreign_archive(archive, {.more_enters = kPairs});
  const std::uint64_t all = read(archive, 0);
  const fs::path file = archive / "traces" / "7.evt";
  SECTION("in a chunk: what comes before it, and the next chunk") {
    // In an event, wherever that is.
    for (std::size_t byte = 0; byte < kEventBytes; ++byte) {
      damage(file, 100 * kPage - byte, kPage + byte);
      check_damaged(archive, all, 100 * kPage, kChunk);
    }
  }
  // libotf2 does not find the way past such a chunk in so short a file.
  SECTION("at the start of a chunk: what comes before it") {
    damage(file, kChunk, kPage);
    const std::uint64_t found = read(archive);
    CHECK(static_cast<double>(found * kEventBytes) == Approx(kChunk).margin(1000));
  }
}

TEST_CASE("EventFile: a record that libotf2 refuses - the next chunk is read") {
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "a";
  write_foreign_archive(archive, {.more_enters = kPairs});
  const std::uint64_t all = read(archive, 0);
  const fs::path file = archive / "traces" / "7.evt";
  std::string text = test::read_file(file);
  // Kind and number of a region follow the time stamp: nine bytes are none.
  std::size_t at = 500'000;
  while (text[at] != 5 || text[at + kEventBytes] != 5) ++at;
  REQUIRE(at < 500'000 + 2 * kEventBytes);
  text[at + 10] = 9;
  std::ofstream(file, std::ios::binary) << text;
  check_damaged(archive, all, at, kChunk);
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

// Events of a location as words, with the ticks of those that the reader makes.
class Reported final : public TraceSink {
 public:
  base::Result<> begin(const TraceDefinitions& definitions) override {
    definitions_ = &definitions;
    return {};
  }
  void event(const TraceEvent& event) override {
    std::string text = event_name(event.kind);
    if (event.kind == EventKind::kMeasurementOnOff)
      text = event.op == OTF2_MEASUREMENT_OFF ? "off" : "on";
    else if (event.kind == EventKind::kEnter || event.kind == EventKind::kLeave)
      text += " " + definitions_->regions[event.ref].name;
    if (event.uncertain) text += " ?";
    // Of the many, once.
    if (words.empty() || words.back() != text) words.push_back(text);
    if (event.uncertain && event.kind == EventKind::kMeasurementOnOff)
      ticks.push_back(event.ticks);
  }
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t) override { return {}; }
  std::vector<std::string> words;
  std::vector<std::uint64_t> ticks;

 private:
  const TraceDefinitions* definitions_ = nullptr;
};

Reported reported_by(const fs::path& archive) {
  Reported reported;
  ArchiveStream stream;
  REQUIRE(stream.open(archive.string()).ok());
  REQUIRE(stream.run(reported).ok());
  base::take_notes();
  return reported;
}

TEST_CASE("EventFile: a hole - what is open is left before it, and entered after it") {
  const test::TemporaryFolder folder;
  constexpr std::uint64_t kMany = 400'000;  // each a tick: the default chunk is exceeded
  {
    SmallArchive archive(folder / "a");
    archive.of_refrain();
    const auto main = archive.region("main"), before = archive.region("before");
    const auto after = archive.region("after"), call = archive.region("call");
    const auto send = archive.mpi("MPI_Send"), loop = archive.loop("loop");
    archive.process();
    archive.enter(1, main);
    archive.enter(2, loop);
    archive.enter(3, before);
    archive.send(4, 5, send, 0);
    std::uint64_t now = 10;
    for (std::uint64_t i = 0; i < kMany; ++i) {
      archive.enter(now++, call);
      archive.leave(now++, call);
      if (i != kMany / 12) continue;
      // In the first chunk, where the hole is.
      archive.leave(now++, before);
      archive.leave(now++, loop);
      archive.enter(now++, loop);
      archive.enter(now++, after);
    }
    archive.leave(now++, after);
    archive.leave(now++, loop);
    archive.send(now, now + 1, send, 0);
    now += 2;
    archive.enter(now++, loop);
    archive.leave(now++, loop);
    archive.leave(now, main);
    archive.finish(0, now);
  }
  const fs::path file = folder / "a" / "traces" / "0.evt";
  REQUIRE(fs::file_size(file) > kChunk);
  const Reported whole = reported_by(folder / "a");
  CHECK(whole.ticks.empty());
  damage(file, 100 * kPage, kPage);
  const Reported reported = reported_by(folder / "a");
  REQUIRE(reported.ticks.size() == 2);
  CHECK(reported.ticks[0] < reported.ticks[1]);
  std::vector<std::string> words = reported.words;
  // Between others, whatever is cut.
  std::erase(words, "Enter call");
  std::erase(words, "Leave call");
  std::erase(words, "Enter call ?");
  std::erase(words, "Leave call ?");
  CHECK(words ==
        std::vector<std::string>{
            "Enter main", "Enter loop", "Enter before", "Enter MPI_Send", "MpiSend",
            "Leave MPI_Send", "Leave before ?", "Leave loop ?", "Leave main ?", "off ?",
            "on ?", "Enter main ?", "Enter after ?", "Leave after", "Enter MPI_Send",
            // Others may have been lost.
            "MpiSend ?", "Leave MPI_Send", "Enter loop", "Leave loop", "Leave main"});
}

TEST_CASE("EventFile: a file that is cut, one that is not there - a hole until the end") {
  const test::TemporaryFolder folder;
  write_foreign_archive(folder / "a", {.more_enters = kPairs});
  const fs::path file = folder / "a" / "traces" / "7.evt";
  fs::resize_file(file, kChunk / 2);
  const Reported cut = reported_by(folder / "a");
  REQUIRE(cut.ticks.size() == 1);
  CHECK(cut.ticks[0] > kFirstPair);
  fs::remove(file);
  const Reported none = reported_by(folder / "a");
  REQUIRE(none.ticks.size() == 1);
  CHECK(none.words[0] == "off ?");
}

// Last: the limit stays. Each location is opened for a batch at a time then.
TEST_CASE("EventFile: a page of zeros, and more locations than files - the same events") {
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "a";
  write_foreign_archive(archive, {.more_enters = kPairs});
  const std::uint64_t all = read(archive, 0);
  damage(archive / "traces" / "7.evt", 100 * kPage, kPage);
  rlimit files{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  files.rlim_cur = files.rlim_max = 64;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
  check_damaged(archive, all, 100 * kPage, kChunk);
}

}  // namespace
}  // namespace refrain::reader::event_file_test
