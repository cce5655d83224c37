// Spans and the picture of the whole run, from events by hand.
#include "analysis/report/timeline_sink.h"

#include <catch2/catch.hpp>

#include "analysis/report/synthetic_events.h"

namespace refrain::report::timeline_sink_test {
namespace {

using analysis::TimeClass;

std::size_t cls(TimeClass which) { return static_cast<std::size_t>(which); }

TEST_CASE("Timeline: spans - one for each visit, outer before inner, by row") {
  SyntheticEvents trace(1, 2);
  trace.enter(1, 5, rWork);
  trace.enter(0, 10, rMain);
  trace.region(0, 10, 30, rWork);
  trace.leave(1, 50, rWork);
  trace.region(0, 30, 40, rBarrier);
  trace.leave(0, 90, rMain);
  const TimelineRows rows(trace.reported(), 2);
  TimelineSink sink(rows);
  trace.feed(sink, 100);
  const auto& spans = sink.spans();
  REQUIRE(spans.size() == 4);
  CHECK(spans[0].region == rMain);
  CHECK(spans[0].depth == 0);
  CHECK(spans[0].duration_ns == 80);
  CHECK(spans[1].region == rWork);
  CHECK(spans[1].depth == 1);
  CHECK(spans[2].region == rBarrier);
  CHECK(spans[2].begin_ns == 30);
  CHECK(spans[3].row == 1);
  CHECK(spans[3].begin_ns == 5);
  CHECK(sink.all());
  CHECK(sink.seen() == 4);
}

TEST_CASE("Timeline: calls of MPI - told apart by where they are, each of its region") {
  SyntheticEvents trace(1);
  trace.call(0, 10, 20, rSend, 4);
  trace.call(0, 30, 40, rSend, 5);
  trace.call(0, 50, 60, rSend, 4);
  trace.region(0, 70, 80, rSend);
  trace.call(0, 90, 95, rWork, 4);  // no procedure of MPI
  const TimelineRows rows(trace.reported(), 1);
  TimelineSink sink(rows);
  trace.feed(sink, 100);
  REQUIRE(sink.calls().size() == 2);
  CHECK(sink.calls()[0].region == rSend);
  CHECK(sink.calls()[1].site == 5);
  const auto regions = static_cast<std::uint32_t>(trace.d.regions.size());
  REQUIRE(sink.spans().size() == 5);
  CHECK(sink.spans()[0].region == regions);
  CHECK(sink.spans()[1].region == regions + 1);
  CHECK(sink.spans()[2].region == regions);
  CHECK(sink.spans()[3].region == rSend);
  CHECK(sink.spans()[4].region == rWork);
}

TEST_CASE("Timeline: what is open at the end, or never left - ends there") {
  SyntheticEvents trace(1);
  trace.enter(0, 10, rMain);
  trace.enter(0, 20, rWork);
  trace.enter(0, 30, rBarrier);
  trace.leave(0, 40, rWork);
  trace.leave(0, 41, rSend);
  const TimelineRows rows(trace.reported(), 1);
  TimelineSink sink(rows);
  trace.feed(sink, 100);
  REQUIRE(sink.spans().size() == 3);
  CHECK(sink.spans()[0].duration_ns == 90);
  CHECK(sink.spans()[1].duration_ns == 20);
  CHECK(sink.spans()[2].duration_ns == 10);
}

TEST_CASE("Timeline: overview - the class with most own time of each bin") {
  SyntheticEvents trace(1);
  trace.enter(0, 0, rMain);
  trace.begin_iteration(0, 0, rOuter, 0);  // a mark is no time of its own
  trace.region(0, 100, 175, rBarrier);     // bin 1 and three quarters of it
  trace.region(0, 200, 300, rSend);
  trace.writing(0, 300, false);
  trace.writing(0, 400, true);
  trace.leave(0, 400, rOuter);
  trace.leave(0, 400, rMain);
  const TimelineRows rows(trace.reported(), 1);
  TimelineSink sink(rows, {.bins = 5});
  trace.feed(sink, 500);
  REQUIRE(sink.bins() == 5);
  CHECK(sink.overview() == std::vector<std::uint8_t>{
                               static_cast<std::uint8_t>(cls(TimeClass::kUseful)),
                               static_cast<std::uint8_t>(cls(TimeClass::kImbalance)),
                               static_cast<std::uint8_t>(cls(TimeClass::kMpiPointToPoint)),
                               static_cast<std::uint8_t>(TimelineSink::kSkipped),
                               static_cast<std::uint8_t>(TimelineSink::kOutside)});
  CHECK(sink.shares() == std::vector<std::uint8_t>{255, 191, 255, 255, 255});
}

TEST_CASE("Timeline: too many spans - all of the begin, then the longest") {
  SyntheticEvents trace(1);
  for (std::uint64_t i = 0; i < 10'000; ++i)
    trace.region(0, 1000 * i, 1000 * i + 1 + i % 500, rWork);
  const TimelineRows rows(trace.reported(), 1);
  TimelineSink sink(rows, {.most = 1000, .at_begin = 200});
  trace.feed(sink, 10'000'000);
  CHECK(!sink.all());
  CHECK(sink.seen() == 10'000);
  CHECK(sink.spans().size() <= 1000);
  CHECK(sink.spans().size() >= 900);
  std::size_t at_begin = 0, later = 0;
  for (const Span& span : sink.spans()) {
    if (span.begin_ns <= sink.until_ns())
      ++at_begin;
    else
      CHECK(span.duration_ns >= sink.shortest_ns());
    later += span.begin_ns > 9e6 ? 1 : 0;
  }
  CHECK(at_begin >= 200);
  CHECK(later > 0);
  // What is longer than the shortest is there, wherever it is.
  for (const Span& span : sink.spans()) CHECK(span.duration_ns >= 1);
  std::size_t longer = 0;
  for (const Span& span : sink.spans())
    longer += span.begin_ns > sink.until_ns() &&
              static_cast<double>(span.duration_ns) > sink.shortest_ns();
  std::size_t expected = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i)
    expected += 1000.0 * static_cast<double>(i) > sink.until_ns() &&
                static_cast<double>(1 + i % 500) > sink.shortest_ns();
  CHECK(longer == expected);
}

TEST_CASE("Timeline: 256 ranks with 8 threads - rows of several, one of them shown") {
  SyntheticEvents trace(256, 8);
  for (std::uint32_t location = 0; location < 2048; ++location)
    trace.region(location, 10, 20 + location, rWork);
  const TimelineRows rows(trace.reported(), 2048);
  REQUIRE(rows.rows().size() == 512);
  CHECK(rows.rows()[1].first == 4);
  CHECK(rows.rows()[1].last == 7);
  CHECK(rows.rows()[1].shown == 4);
  CHECK(rows.row_of(2047) == 511);
  CHECK(rows.shown(4));
  CHECK(!rows.shown(5));
  TimelineSink sink(rows, {.cells = 512 * 64});
  trace.feed(sink, 10'000);
  CHECK(sink.bins() == 64);
  CHECK(sink.seen() == 2048);
  CHECK(sink.spans().size() == 512);
  CHECK(sink.overview().size() == 512 * 64);
}

TEST_CASE("Timeline: a location that the profile has not - has no row") {
  SyntheticEvents trace(1, 2);
  trace.region(0, 0, 10, rWork);
  trace.region(1, 0, 10, rWork);
  const TimelineRows rows({0, reader::kNone}, 1);
  TimelineSink sink(rows);
  trace.feed(sink, 100);
  CHECK(sink.spans().size() == 1);
}

}  // namespace
}  // namespace refrain::report::timeline_sink_test
