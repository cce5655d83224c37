// The run as a line, from marks, gaps and markers by hand.
#include "analysis/report/nest_sink.h"

#include <catch2/catch.hpp>

#include "analysis/report/synthetic_events.h"

namespace refrain::report::nest_sink_test {
namespace {

// Three iterations of the outer loop, with two of the inner one each; the last one is skipped.
void put_nest(SyntheticEvents& trace, std::uint32_t location) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t at = 100 + 100 * i;
    trace.begin_iteration(location, at, rOuter, i, i == 2 ? 0 : 1);
    if (i < 2)
      for (std::uint64_t j = 0; j < 2; ++j)
        trace.iteration(location, at + 10 + 40 * j, at + 40 + 40 * j, rInner, j);
    trace.leave(location, at + 95 + i, rOuter);
  }
}

TEST_CASE("Nest: iterations - numbers, times and states of outermost loops") {
  SyntheticEvents trace(2);
  put_nest(trace, 0);
  NestSink sink(0);
  trace.feed(sink, 1000);
  REQUIRE(sink.loops().size() == 2);
  const NestSink::Loop& outer = sink.loops().at(rOuter);
  CHECK(outer.outermost);
  CHECK(outer.complete == 3);
  REQUIRE(outer.series.rows().size() == 3);
  CHECK(outer.series.rows()[1].first == 1);
  CHECK(outer.series.rows()[1].begin_ns == 200);
  CHECK(outer.series.rows()[1].sum_ns == 96);
  CHECK(outer.series.rows()[1].state == kWrittenState);
  CHECK(outer.series.rows()[2].state == kSkippedState);
  CHECK(!sink.loops().at(rInner).outermost);
  CHECK(sink.loops().at(rInner).complete == 4);
}

TEST_CASE("Nest: bars - one for each visit, iterations counted over all of them") {
  SyntheticEvents trace(1);
  put_nest(trace, 0);
  NestSink sink(0);
  trace.feed(sink, 1000);
  const auto& outer = sink.loops().at(rOuter).bars;
  REQUIRE(outer.size() == 1);
  CHECK(outer[0].begin_ns == 100);
  CHECK(outer[0].end_ns == 397);
  CHECK(outer[0].last == 2);
  const auto& inner = sink.loops().at(rInner).bars;
  REQUIRE(inner.size() == 2);
  CHECK(inner[1].begin_ns == 210);
  CHECK(inner[1].end_ns == 280);
  CHECK(inner[1].first == 2);
  CHECK(inner[1].last == 3);
}

TEST_CASE("Nest: a loop that is visited again at once - two bars") {
  SyntheticEvents trace(1);
  for (std::uint64_t visit = 0; visit < 2; ++visit)
    for (std::uint64_t i = 0; i < 2; ++i)
      trace.iteration(0, 100 * visit + 10 * i, 100 * visit + 10 * i + 5, rOuter, i);
  NestSink sink(0);
  trace.feed(sink, 1000);
  const auto& loop = sink.loops().at(rOuter);
  REQUIRE(loop.bars.size() == 2);
  CHECK(loop.bars[0].end_ns == 15);
  CHECK(loop.bars[1].begin_ns == 100);
  CHECK(loop.bars[1].first == 2);
  CHECK(loop.series.rows().back().first == 3);
}

TEST_CASE("Nest: many visits - bars are merged") {
  SyntheticEvents trace(1);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    trace.begin_iteration(0, 100 * i, rOuter, i);
    trace.iteration(0, 100 * i + 10, 100 * i + 20, rInner, 0);
    trace.leave(0, 100 * i + 90, rOuter);
  }
  NestSink sink(0);
  trace.feed(sink, 1'000'000);
  const auto& bars = sink.loops().at(rInner).bars;
  CHECK(bars.size() <= NestSink::kMaxBars);
  std::uint64_t visits = 0;
  for (const NestSink::Bar& bar : bars) visits += bar.visits;
  CHECK(visits == 5000);
  CHECK(bars.back().last == 4999);
}

TEST_CASE("Nest: an iteration that does not come to its end - is none") {
  SyntheticEvents trace(1);
  trace.iteration(0, 10, 20, rOuter, 0);
  trace.begin_iteration(0, 20, rOuter, 1, 1, false);
  trace.leave(0, 25, rOuter);
  NestSink sink(0);
  trace.feed(sink, 1000);
  CHECK(sink.loops().at(rOuter).complete == 1);
  CHECK(sink.loops().at(rOuter).series.rows().size() == 1);
}

TEST_CASE("Nest: markers - why iterations are in the archive, and which ones are not") {
  SyntheticEvents trace(1);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const bool written = i < 2 || i == 6 || i >= 8;
    if (i == 2 || i == 7) trace.writing(0, 100 * i, false);
    if (i == 6 || i == 8) trace.writing(0, 100 * i, true);
    trace.iteration(0, 100 * i, 100 * i + 99, rOuter, i, written ? 1 : 0);
  }
  const std::string name = "loop 1 @ main p.c:2-9";
  trace.marker(200, 400, "writing suspended", name + ": limit of iterations reached");
  trace.marker(600, 99, "slow iteration",
               name + ": iteration 6 took 0.10 us, more than others");
  trace.marker(950, 0, "pattern broken", name + ": iteration 9 differed from those before");
  NestSink sink(0);
  trace.feed(sink, 1000);
  const auto& rows = sink.loops().at(rOuter).series.rows();
  REQUIRE(rows.size() == 10);
  CHECK(rows[6].why == kSlow);
  CHECK(rows[8].why == kBeforeBreak);
  CHECK(rows[9].why == kInBreak);
  CHECK(rows[0].why == 0);
  REQUIRE(sink.gaps().size() == 2);
  CHECK(sink.gaps()[0].text == "limit of iterations reached");
  CHECK(sink.gaps()[0].region == rOuter);
  CHECK(sink.gaps()[0].first == 2);
  CHECK(sink.gaps()[0].last == 5);
  CHECK(sink.gaps()[1].first == 7);
  CHECK(sink.gaps()[1].last == 7);
  REQUIRE(sink.breaks().size() == 1);
  CHECK(sink.breaks()[0].iteration == 9);
  CHECK(sink.breaks()[0].text == "iteration 9 differed from those before");
  REQUIRE(sink.slow().size() == 1);
  CHECK(sink.slow()[0].iteration == 6);
}

TEST_CASE("Nest: another process - its marks are not taken") {
  SyntheticEvents trace(2);
  put_nest(trace, 1);
  NestSink first(0), second(1), any(reader::kNone);
  trace.feed(first, 1000);
  CHECK(first.loops().empty());
  trace.feed(second, 1000);
  CHECK(second.loops().size() == 2);
  trace.feed(any, 1000);
  CHECK(any.process() == 1);
}

}  // namespace
}  // namespace refrain::report::nest_sink_test
