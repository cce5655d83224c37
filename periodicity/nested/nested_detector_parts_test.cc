// The nested detector's loops of few rounds, known as parts of a body.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "filters/nested_policy.h"
#include "periodicity/nested/nested_detector.h"
#include "test/support/loop_record.h"
#include "test/support/streams.h"

namespace refrain::periodicity::nested_detector_parts_test {
namespace {

using test::LoopRecord;
using test::Stream;

LoopRecord run(const Stream& stream) {
  NestedDetector detector;
  LoopRecord record;
  for (const auto symbol : stream) detector.push(symbol, 0, record);
  detector.finish(record);
  REQUIRE(record.complaint(stream.size()) == "");
  return record;
}

double skipped_share(const LoopRecord& record, filters::Nested nested, std::size_t events) {
  filters::SkippedIntervals intervals;
  filters::NestedPolicy policy({.limit = 10, .nested = nested}, intervals);
  for (const auto& event : record.events) policy.on_loop_event(event);
  intervals.finish(events);
  return static_cast<double>(intervals.skipped_events()) / static_cast<double>(events);
}

Stream& append(Stream& stream, const Stream& more, std::size_t times = 1) {
  while (times-- != 0) stream.insert(stream.end(), more.begin(), more.end());
  return stream;
}

// 10; 3 × 20; 2 × [30; 2 × 31]; 40: too few rounds to be known except as parts of the body.
Stream with_parts(std::size_t times) {
  Stream stream{90, 91};
  append(stream, {10, 20, 20, 20, 30, 31, 31, 30, 31, 31, 40}, times);
  return stream;
}

TEST_CASE("NestedDetector: parts - loops of few rounds are reported in every iteration") {
  Stream stream = with_parts(30);
  append(stream, {95, 96});
  const auto loops = run(stream).loops();
  REQUIRE(loops.size() == 4);
  CHECK(loops.at(0).parent == kNoLoop);
  CHECK(loops.at(0).iterations == 30);
  CHECK(loops.at(1).parent == 0);
  CHECK(loops.at(1).visits == 30);
  CHECK(loops.at(1).iterations == 90);
  CHECK(loops.at(1).first_event == 3);
  CHECK(loops.at(2).parent == 0);
  CHECK(loops.at(2).visits == 30);
  CHECK(loops.at(2).iterations == 60);
  CHECK(loops.at(2).first_event == 6);
  CHECK(loops.at(3).parent == 2);
  CHECK(loops.at(3).visits == 60);
  CHECK(loops.at(3).iterations == 120);
}

TEST_CASE("NestedDetector: parts - of the iteration that broke are not reported") {
  for (const std::size_t whole : {1u, 2u, 3u, 5u, 6u, 7u, 9u, 10u}) {
    INFO(whole << " items of the last iteration");
    Stream stream = with_parts(30);
    const Stream body(stream.begin() + 2, stream.begin() + 13);
    stream.insert(stream.end(), body.begin(),
                  body.begin() + static_cast<std::ptrdiff_t>(whole));
    append(stream, {95, 96});
    const auto loops = run(stream).loops();  // checks that they open and close in order
    CHECK(loops.at(0).iterations == 30);
    CHECK(loops.at(1).iterations == 90);
    CHECK(loops.at(2).iterations == 60);
    CHECK(loops.at(3).iterations == 120);
  }
}

TEST_CASE("NestedDetector: parts - rows in a body of inner loops are none") {
  Stream stream{90, 91};
  for (std::size_t trip = 0; trip < 30; ++trip) {
    append(stream, {10, 20, 20, 20, 11});
    append(stream, {50, 51, 52, 53}, 12 + trip * 7 % 5);
    append(stream, {30, 31, 30, 31, 40});
  }
  append(stream, {95, 96});
  const auto loops = run(stream).loops();
  CHECK(loops.size() == 2);
  CHECK(skipped_share(run(stream), filters::Nested::kOnce, stream.size()) > 0.85);
}

// Ten iterations are the limit; what is in them repeats more often.
TEST_CASE("NestedDetector: parts - once skips them within the first iterations") {
  const auto record = run(with_parts(10));
  CHECK(skipped_share(record, filters::Nested::kOnce, 112) > 0.35);
  CHECK(skipped_share(record, filters::Nested::kEach, 112) == 0.0);
}

// The same rows alone, later, for long: the loop keeps its number.
TEST_CASE("NestedDetector: parts - one that comes alone is the same loop") {
  Stream stream = with_parts(30);
  append(stream, {95});
  append(stream, {30, 31, 31}, 30);
  append(stream, {96});
  const auto loops = run(stream).loops();
  REQUIRE(loops.size() == 4);
  CHECK(loops.at(2).most >= 29);
  CHECK(loops.at(2).parent == kNoLoop);
}

}  // namespace
}  // namespace refrain::periodicity::nested_detector_parts_test
