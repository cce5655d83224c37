#include "reader/archive_shares.h"

#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/notes.h"
#include "reader/foreign_archive.h"
#include "reader/small_archive.h"
#include "test/support/files.h"

namespace refrain::reader::archive_shares_test {
namespace {

class Collected final : public TraceSink {
 public:
  base::Result<> begin(const TraceDefinitions& definitions) override {
    definitions_ = &definitions;
    return {};
  }
  void event(const TraceEvent& event) override { events.push_back(event); }
  std::string error() const override { return fails ? "it fails" : ""; }
  base::Result<> finish(std::uint64_t) override {
    return fails ? base::Result<>(base::Failure{"it fails"}) : base::Result<>();
  }
  ProcessId process(const TraceEvent& event) const {
    return definitions_->locations[event.location].process;
  }
  std::vector<TraceEvent> events;
  bool fails = false;

 private:
  const TraceDefinitions* definitions_ = nullptr;
};

// Each with so many visits of a region.
void write_processes(const std::filesystem::path& archive, int processes,
                     std::uint64_t visits) {
  SmallArchive small(archive);
  const std::uint32_t region = small.region("main");
  for (int i = 0; i < processes; ++i) {
    small.process();
    for (std::uint64_t at = 0; at < visits; ++at) {
      small.enter(10 * at, region);
      small.leave(10 * at + 5, region);
    }
  }
  small.finish(0, 10 * visits);
}

std::vector<TraceSink*> pointers(std::vector<Collected>& sinks) {
  std::vector<TraceSink*> out;
  for (Collected& each : sinks) out.push_back(&each);
  return out;
}

std::vector<Collected> collected(const std::string& archive, std::size_t shares,
                                 std::vector<std::uint32_t>& share) {
  ArchiveShares reads;
  REQUIRE(reads.open(archive, shares).ok());
  std::vector<Collected> sinks(reads.size());
  REQUIRE(reads.run(pointers(sinks)).ok());
  std::size_t events = 0;
  share = reads.share();
  for (std::uint32_t i = 0; i < sinks.size(); ++i) {
    events += static_cast<std::size_t>(
        std::ranges::count(sinks[i].events, false, &TraceEvent::uncertain));
    for (const TraceEvent& event : sinks[i].events)
      if (const ProcessId process = sinks[i].process(event); process < share.size())
        CHECK(share[process] == i);
  }
  CHECK(reads.events() == events);
  return sinks;
}

}  // namespace

TEST_CASE("ArchiveShares: each share has its processes' events, as one alone") {
  const test::TemporaryFolder folder;
  const std::string archive = folder / "a";
  write_foreign_archive(archive, {.more_enters = 2000});
  std::vector<std::uint32_t> share;
  const std::vector<Collected> one = collected(archive, 1, share);
  REQUIRE(one.size() == 1);
  std::vector<Collected> two = collected(archive, 9, share);
  REQUIRE(two.size() == 2);  // one for each process
  CHECK(share == std::vector<std::uint32_t>{0, 1});
  // Merged again as by one: by time, then by location.
  std::vector<TraceEvent> all;
  for (const Collected& each : two)
    all.insert(all.end(), each.events.begin(), each.events.end());
  std::ranges::stable_sort(all, [](const TraceEvent& a, const TraceEvent& b) {
    return a.ticks != b.ticks ? a.ticks < b.ticks : a.location < b.location;
  });
  REQUIRE(all.size() == one[0].events.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const TraceEvent& event = one[0].events[i];
    REQUIRE(all[i].ticks == event.ticks);
    REQUIRE(all[i].ns == event.ns);
    REQUIRE(all[i].location == event.location);
    REQUIRE(all[i].kind == event.kind);
    REQUIRE(all[i].ref == event.ref);
  }
}

TEST_CASE("ArchiveShares: a small archive is one share; what fails is said") {
  const test::TemporaryFolder folder;
  const std::string archive = folder / "a";
  ArchiveShares none;
  CHECK_FALSE(none.open(archive).ok());
  write_foreign_archive(archive);
  ArchiveShares reads;
  REQUIRE(reads.open(archive).ok());
  CHECK(reads.size() == 1);
  REQUIRE(reads.open(archive, 2).ok());
  std::vector<Collected> sinks(2);
  sinks[1].fails = true;
  const auto done = reads.run(pointers(sinks));
  REQUIRE_FALSE(done.ok());
  CHECK(done.error() == "it fails");
}

TEST_CASE("ArchiveShares: what locations lack is said once, as by one") {
  const test::TemporaryFolder folder;
  const std::filesystem::path archive = folder / "a";
  write_processes(archive, 16, 1);
  for (int i = 0; i < 12; ++i)
    REQUIRE(std::filesystem::remove(archive / "traces" / (std::to_string(i) + ".evt")));
  const auto notes = [&](std::size_t shares) {
    std::vector<std::uint32_t> share;
    (void)base::take_notes();
    (void)collected(archive, shares, share);
    return base::take_notes();
  };
  const std::vector<std::string> one = notes(1);
  REQUIRE(one.size() == 6);
  CHECK(one.back().ends_with(": 14 events of 7 more locations are missing"));
  CHECK(notes(3) == one);
  CHECK(notes(16) == one);
}

TEST_CASE("share_processes: numbers of events are about the same") {
  TraceDefinitions definitions;
  definitions.processes.resize(5);
  for (const std::uint64_t events : {10, 70, 20, 30, 20}) {
    LocationInfo location;
    location.process = ProcessId(static_cast<std::uint32_t>(definitions.locations.size()));
    location.events = events;
    definitions.locations.push_back(location);
  }
  CHECK(share_processes(definitions, 2) == std::vector<std::uint32_t>{0, 0, 1, 1, 1});
  CHECK(share_processes(definitions, 0) == std::vector<std::uint32_t>(5));
}

// Last: the limit stays.
TEST_CASE("ArchiveShares: the limit of open files is for all shares") {
  const test::TemporaryFolder folder;
  const std::filesystem::path archive = folder / "a";
  write_processes(archive, 160, 3000);  // more than are read at a time
  rlimit files{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  // Enough for the locations of one share.
  files.rlim_cur = files.rlim_max = 64 + 40;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
  std::vector<std::uint32_t> share;
  std::size_t events = 0;
  for (const Collected& each : collected(archive, 4, share)) events += each.events.size();
  CHECK(events == 160 * 6000);
}

}  // namespace refrain::reader::archive_shares_test
