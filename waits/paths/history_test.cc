#include <catch2/catch.hpp>
#include <map>

#include "waits/paths/delays.h"
#include "waits/paths/records.h"

namespace refrain::waits::paths::history_test {
namespace {

std::map<std::uint32_t, Ticks> active(const History& history, Ticks from, Ticks to,
                                      Ticks& waits) {
  TimeSum sum;
  waits = history.between(from, to, sum);
  std::map<std::uint32_t, Ticks> out;
  sum.drain([&](std::uint32_t path, Ticks ticks) { out[path] += ticks; });
  return out;
}

}  // namespace

TEST_CASE("History: activity between points, without waits and the first call") {
  History history;
  history.point(100, {{PathId(1), 100}});
  history.left(100, PathId(2), 150);
  history.together(100, 140);  // 10 of completion
  history.point(300, {{PathId(1), 150}, {PathId(2), 50}});
  history.waited(300, PathId(3), 60);
  history.left(300, PathId(3), 400);
  history.point(500, {{PathId(1), 100}, {PathId(3), 100}});
  Ticks waits = 0;
  const auto found = active(history, 100, 500, waits);
  CHECK(waits == 60);
  CHECK(found == std::map<std::uint32_t, Ticks>{{1, 250}, {2, 10}, {3, 40}});
  CHECK(active(history, History::kBegin, 300, waits) ==
        std::map<std::uint32_t, Ticks>{{1, 250}, {2, 50}});
  CHECK(waits == 0);
}

TEST_CASE("History: what is in use is kept, sums stay the same") {
  History history;
  history.point(10, {{PathId(1), 10}});
  history.keep(10, true);
  for (Ticks i = 2; i <= 5000; ++i) {
    history.point(10 * i, {{PathId(i % 3), 10}});
    history.waited(10 * i, PathId(7), 1);
  }
  Ticks waits = 0;
  const auto found = active(history, 10, 50000, waits);
  Ticks sum = 0;
  for (const auto& [path, ticks] : found) sum += ticks;
  CHECK(sum == 49990);
  CHECK(waits == 4998);
}

TEST_CASE("Records: are read as they were written") {
  Segment segment{.location = LocationId(7),
                  .last = true,
                  .begin = 5,
                  .end = 1ULL << 40,
                  .times = {{PathId(3), 9}, {PathId(70000), 1ULL << 50}}};
  Wait wait{.kind = WaitKind::kFork,
            .location = LocationId{kNone},
            .path = PathId(4),
            .enter = 100,
            .ticks = 50,
            .until = 160,
            .point = 1000,
            .causer = LocationId(300),
            .since = 20,
            .waited = 1,
            .known_late = false,
            .clocks_disagree = true,
            .excess = {{PathId(1), 2}}};
  std::string room;
  RecordType type{};
  Segment segment_read;
  Wait wait_read;
  const std::string bytes(encode(segment, room));
  REQUIRE(decode(bytes, type, segment_read, wait_read));
  CHECK(type == RecordType::kSegment);
  CHECK(segment_read.last);
  CHECK(segment_read.location == 7);
  CHECK(segment_read.end == 1ULL << 40);
  REQUIRE(segment_read.times.size() == 2);
  CHECK(segment_read.times[1].path == 70000);
  CHECK(segment_read.times[1].ticks == 1ULL << 50);
  CHECK(!decode(std::string_view(bytes).substr(0, bytes.size() - 1), type, segment_read,
                wait_read));
  REQUIRE(decode(encode(wait, room), type, segment_read, wait_read));
  CHECK(type == RecordType::kWait);
  CHECK(wait_read.kind == WaitKind::kFork);
  CHECK(wait_read.location == kNone);
  CHECK(wait_read.until == 160);
  CHECK(!wait_read.known_late);
  CHECK(wait_read.clocks_disagree);
  CHECK(wait_read.point == 1000);
  REQUIRE(wait_read.excess.size() == 1);
  CHECK(wait_read.excess[0].ticks == 2);
}

}  // namespace refrain::waits::paths::history_test
