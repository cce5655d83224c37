#include "filters/nest_builder.h"

#include <catch2/catch.hpp>
#include <string>

#include "filters/written_iterations.h"
#include "periodicity/flat/exact_detector.h"
#include "periodicity/flat/flat_loop_detector.h"
#include "periodicity/nested/nested_detector.h"
#include "test/support/loop_nest.h"
#include "test/support/streams.h"

namespace refrain::filters::nest_builder_test {
namespace {

using periodicity::kNoLoop;
using periodicity::LoopEventKind;
using test::Stream;

std::string number(std::uint64_t symbol) { return std::to_string(symbol); }

// Calls a builder as a detector would.
struct Play {
  NestBuilder builder{1000};

  void events(const Stream& symbols) {
    for (const auto symbol : symbols) builder.append(symbol);
  }
  void emit(LoopEventKind kind, std::uint32_t loop, std::uint16_t level,
            std::uint64_t position, std::uint64_t iteration) {
    builder.on_loop_event({.kind = kind,
                           .level = level,
                           .loop = loop,
                           .visit = 0,
                           .body_events = 2,
                           .position = position,
                           .iteration = iteration});
  }
  std::string text() {
    builder.finish();
    return nest_text(builder.nest(), number);
  }
};

NestBuilder feed(periodicity::LoopDetector& detector, const Stream& symbols) {
  NestBuilder builder(detector.reach_events());
  for (const auto symbol : symbols) {
    builder.append(symbol);
    detector.push(symbol, 0, builder);
  }
  detector.finish(builder);
  builder.finish();
  return builder;
}

Stream operator+(Stream left, const Stream& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Stream operator*(std::uint64_t times, const Stream& body) {
  Stream out;
  while (times-- != 0) out = out + body;
  return out;
}

// Number of events in a row.
std::uint64_t size_of(const Nest& nest, const NestRow& row) {
  std::uint64_t sum = 0;
  for (const NestPiece& piece : row) {
    const bool loop = piece.kind == NestPiece::Kind::kLoop;
    sum += piece.least * (loop ? size_of(nest, nest.bodies.at(piece.id)) : 1);
  }
  return sum;
}

}  // namespace

TEST_CASE("NestBuilder: events without loops") {
  Play play;
  play.events({3, 1, 1, 4});
  CHECK(play.text() == "3; 1; 1; 4");
  CHECK(play.builder.loops().empty());
}

TEST_CASE("NestBuilder: a loop detected in the past takes its iterations out of the row") {
  Play play;
  play.events({9, 1, 2, 1, 2, 1});
  play.emit(LoopEventKind::kFound, 5, 0, 1, 0);
  for (std::uint64_t k = 0; k < 3; ++k)
    play.emit(LoopEventKind::kIteration, 5, 0, 1 + 2 * k, k);
  play.events({2, 8});
  play.emit(LoopEventKind::kLeft, 5, 0, 7, 3);
  CHECK(play.text() == "9; 3 × [ 1; 2 ]; 8");
  const NestLoop& loop = play.builder.loops().at(5);
  CHECK(loop.iterations == 3);
  CHECK(loop.visits == 1);
  CHECK(loop.first_event == 1);
  CHECK(loop.body_events == 2);
  CHECK(loop.parent == kNoLoop);
  CHECK(loop.level == 0);
}

TEST_CASE("NestBuilder: the begun part of another iteration follows the loop") {
  Play play;
  play.events({1, 2, 3, 1, 2, 3, 1, 2});
  play.emit(LoopEventKind::kFound, 0, 0, 0, 0);
  for (std::uint64_t k = 0; k < 3; ++k)
    play.emit(LoopEventKind::kIteration, 0, 0, 3 * k, k);
  play.events({7});
  play.emit(LoopEventKind::kMismatch, 0, 0, 8, 2);
  play.emit(LoopEventKind::kLeft, 0, 0, 8, 2);
  CHECK(play.text() == "2 × [ 1; 2; 3 ]; 1; 2; 7");
  CHECK(play.builder.loops().at(0).iterations == 2);
}

TEST_CASE("NestBuilder: a visit without a complete iteration is only its events") {
  Play play;
  play.events({1, 2});
  play.emit(LoopEventKind::kFound, 0, 0, 0, 0);
  play.emit(LoopEventKind::kIteration, 0, 0, 0, 0);
  play.events({7});
  play.emit(LoopEventKind::kLeft, 0, 0, 2, 0);
  CHECK(play.text() == "1; 2; 7");
}

TEST_CASE("NestBuilder: an outer loop detected late takes the inner visits with it") {
  Play play;
  for (std::uint64_t k = 0; k < 3; ++k) {  // 0 (1 2)×(3+k) 3, begins at 0, 8, 18
    const std::uint64_t begin = 8 * k + k * (k - 1);
    play.events(Stream{0} + (3 + k) * Stream{1, 2});
    play.emit(LoopEventKind::kFound, 7, 0, begin + 1, 0);
    for (std::uint64_t i = 0; i < 3 + k; ++i)
      play.emit(LoopEventKind::kIteration, 7, 0, begin + 1 + 2 * i, i);
    play.events({3});
    play.emit(LoopEventKind::kLeft, 7, 0, begin + 1 + 2 * (3 + k), 3 + k);
  }
  play.emit(LoopEventKind::kFound, 8, 0, 0, 0);
  for (std::uint64_t k = 0; k < 3; ++k)
    play.emit(LoopEventKind::kIteration, 8, 0, 8 * k + k * (k - 1), k);
  play.events({5});
  play.emit(LoopEventKind::kLeft, 8, 0, 30, 3);
  CHECK(play.text() == "3 × [ 0; 3–5 × [ 1; 2 ]; 3 ]; 5");
  CHECK(play.builder.loops().at(7).parent == 8);
  CHECK(play.builder.loops().at(7).level == 1);
  CHECK(play.builder.loops().at(7).visits == 3);
  CHECK(play.builder.loops().at(7).iterations == 12);
}

TEST_CASE("NestBuilder: of several courses the most frequent is the body") {
  Play play;
  const std::vector<Stream> courses{{9, 9}, {1, 2}, {1, 3}, {1, 2}, {1, 2}};
  play.events({courses[0][0]});
  play.emit(LoopEventKind::kFound, 0, 0, 0, 0);
  for (std::uint64_t k = 0; k < courses.size(); ++k) {
    if (k != 0) play.events({courses[k][0]});
    play.emit(LoopEventKind::kIteration, 0, 0, 2 * k, k);
    play.events({courses[k][1]});
  }
  play.events({6});
  play.emit(LoopEventKind::kLeft, 0, 0, 10, 5);
  CHECK(play.text() == "5 × [ 1; 2 ]; 6");
}

TEST_CASE("NestBuilder: long rows - memory stays bounded, nothing is miscounted") {
  NestBuilder builder(100);
  for (std::uint64_t k = 0; k < 1000000; ++k) builder.append(k);
  builder.finish();
  const Nest nest = builder.nest();
  CHECK(nest.run.size() < 100);
  CHECK(size_of(nest, nest.run) == 1000000);
  CHECK(nest_text(nest, number) ==
        "0; 1; 2; 3; 4; 5; … 999991 events …; 999997; 999998; 999999");
}

TEST_CASE("NestBuilder: nested detector - prologue, nest and epilogue are correct") {
  const Stream inner = 25 * Stream{1, 2};
  const Stream outer = Stream{0} + inner + Stream{3};
  periodicity::NestedDetector detector;
  const NestBuilder builder = feed(detector, Stream{9, 8} + 75 * outer + Stream{7});
  CHECK(nest_text(builder.nest(), number) == "9; 8; 75 × [ 0; 25 × [ 1; 2 ]; 3 ]; 7");
  REQUIRE(builder.loops().size() == 2);
  const NestLoop& first = builder.loops().begin()->second;
  const NestLoop& second = builder.loops().rbegin()->second;
  CHECK(first.level == 1);
  CHECK(first.parent == builder.loops().rbegin()->first);
  CHECK(first.visits == 75);
  CHECK(first.iterations == 75 * 25);
  CHECK(first.first_event == 3);
  CHECK(second.level == 0);
  CHECK(second.visits == 1);
  CHECK(second.iterations == 75);
  CHECK(second.first_event == 2);
  CHECK(second.body_events == 52);
}

TEST_CASE("NestBuilder: flat detector - one level, whatever the window locks on") {
  periodicity::FlatLoopDetector detector(
      std::make_unique<periodicity::ExactDetector>(periodicity::PeriodSettings{8, 8}));
  const NestBuilder builder = feed(detector, Stream{9} + 20 * Stream{1, 2, 3} + Stream{4});
  CHECK(nest_text(builder.nest(), number) == "9; 20 × [ 1; 2; 3 ]; 4");
}

TEST_CASE("NestBuilder: random nests - with constant trip counts no event gets lost") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto run = test::random_nest(
        {.depth = 1 + static_cast<int>(seed % 3), .trips_vary = false, .outer_trips = 20},
        seed);
    periodicity::NestedDetector detector;
    const Nest nest = feed(detector, run.symbols).nest();
    INFO("seed " << seed << ": " << nest_text(nest, number));
    CHECK(size_of(nest, nest.run) == run.symbols.size());
  }
}

TEST_CASE("NestBuilder: real streams - every loop has a body, every line is short") {
  for (const auto& stream : test::real_streams()) {
    periodicity::NestedDetector detector;
    const NestBuilder builder = feed(detector, stream.symbols);
    const Nest nest = builder.nest();
    INFO(stream.name);
    const std::string text = nest_text(nest, number);
    CHECK(!text.empty());
    CHECK(text.size() < 4000);
    for (const NestPiece& piece : nest.run)
      if (piece.kind == NestPiece::Kind::kLoop) CHECK(nest.bodies.contains(piece.id));
    for (const auto& [id, loop] : builder.loops())
      CHECK((loop.parent == kNoLoop) == (loop.level == 0));
  }
}

namespace {

struct Written {
  SkippedIntervals skipped;
  WrittenIterations written;
  explicit Written(std::size_t most = WrittenIterations::kMaxWaiting)
      : written(skipped, most) {}

  void visit(std::uint64_t from, std::uint64_t iterations, bool last_is_whole = true) {
    const auto emit = [this](LoopEventKind kind, std::uint64_t position, std::uint64_t k) {
      written.on_loop_event({.kind = kind,
                             .level = 0,
                             .loop = 3,
                             .visit = 0,
                             .body_events = 10,
                             .position = position,
                             .iteration = k});
    };
    emit(LoopEventKind::kFound, from, 0);
    for (std::uint64_t k = 0; k < iterations; ++k)
      emit(LoopEventKind::kIteration, from + 10 * k, k);
    emit(LoopEventKind::kLeft, from + 10 * iterations - (last_is_whole ? 0 : 5),
         iterations - (last_is_whole ? 0 : 1));
  }
};

}  // namespace

TEST_CASE("WrittenIterations: iterations that are not wholly skipped are written") {
  Written w;
  w.visit(100, 20);
  w.skipped.suspend(130);
  w.skipped.resume(145);   // within the fifth: 13 and 14 are skipped, 14 is partial
  w.skipped.suspend(280);  // open to the end
  w.written.finish(300);
  CHECK(w.written.written(3) == 20 - 1 - 2);
  CHECK(w.written.written(4) == 0);
}

TEST_CASE("WrittenIterations: an incomplete iteration does not count") {
  Written w;
  w.visit(0, 5, false);
  w.written.finish(45);
  CHECK(w.written.written(3) == 4);
}

TEST_CASE("WrittenIterations: with few waiting iterations the answer is the same") {
  for (const std::size_t most : {std::size_t{32}, WrittenIterations::kMaxWaiting}) {
    Written w(most);
    w.skipped.suspend(200);
    w.visit(0, 100);
    w.skipped.resume(900);
    w.written.finish(1000);
    CHECK(w.written.written(3) == 30);
  }
}

}  // namespace refrain::filters::nest_builder_test
