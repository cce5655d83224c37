#include "periodicity/flat/flat_loop_detector.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "periodicity/flat/exact_detector.h"
#include "periodicity/flat/matrix_detector.h"
#include "test/support/streams.h"

namespace refrain::periodicity::flat_loop_detector_test {
namespace {

using test::Stream;

struct Recorded : LoopSink {
  std::vector<LoopEvent> events;
  void on_loop_event(const LoopEvent& event) noexcept override { events.push_back(event); }

  std::vector<LoopEvent> of(LoopEventKind kind) const {
    std::vector<LoopEvent> found;
    for (const auto& event : events) {
      if (event.kind == kind) found.push_back(event);
    }
    return found;
  }
};

template <typename Periods = ExactDetector>
Recorded run(const Stream& stream, PeriodSettings settings,
             const std::vector<std::uint16_t>& depths = {}) {
  FlatLoopDetector detector(std::make_unique<Periods>(settings));
  Recorded recorded;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const std::size_t reported = recorded.events.size();
    detector.push(stream[i], depths.empty() ? std::uint16_t{0} : depths[i], recorded);
    REQUIRE(detector.position() == i + 1);
    for (std::size_t k = reported; k < recorded.events.size(); ++k) {
      REQUIRE(recorded.events[k].position <= i);
      REQUIRE(recorded.events[k].position + detector.reach_events() >= i + 1);
    }
  }
  detector.finish(recorded);
  return recorded;
}

// What is true of every stream: the order of events, and iterations that follow on.
void check_order(const Recorded& recorded, std::uint64_t end) {
  using enum LoopEventKind;
  bool open = false;
  std::uint64_t iterations = 0;
  std::uint64_t next = 0;
  std::uint64_t last = 0;
  std::map<std::uint32_t, std::uint32_t> visits;
  for (std::size_t k = 0; k < recorded.events.size(); ++k) {
    const auto& event = recorded.events[k];
    REQUIRE(event.position >= last);
    REQUIRE(event.position <= end);
    REQUIRE(event.level == 0);
    last = event.position;
    REQUIRE(open == (event.kind != kFound));
    switch (event.kind) {
      case kFound:
        open = true;
        REQUIRE(event.visit == visits[event.loop]++);
        iterations = 0;
        next = event.position;
        break;
      case kIteration:
        REQUIRE(event.position == next);
        REQUIRE(event.iteration == iterations);
        ++iterations;
        next += event.body_events;
        break;
      case kMismatch:
        REQUIRE(event.iteration + 1 == iterations);
        REQUIRE(event.position < next);
        REQUIRE(recorded.events.at(k + 1).kind == kLeft);
        REQUIRE(recorded.events.at(k + 1).position == event.position);
        break;
      case kLeft:
        open = false;
        REQUIRE(event.iteration == (event.position == next ? iterations : iterations - 1));
        break;
      case kIterationEnd:
        FAIL("only phases named by the program have kIterationEnd");
      case kNovel:
        FAIL("only loops found by their code have kNovel");
    }
  }
  REQUIRE(!open);
}

Stream operator+(Stream a, const Stream& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Stream times(std::size_t count, const Stream& body) {
  return test::periodic_stream(count * body.size(), body);
}

TEST_CASE("FlatLoopDetector: loop - positions and numbers of all iterations") {
  const Stream prologue{90, 91};
  const auto recorded = run(prologue + times(20, {1, 2, 3, 4}) + Stream{95, 96}, {8, 8});
  check_order(recorded, 84);
  const auto found = recorded.of(LoopEventKind::kFound);
  REQUIRE(found.size() == 1);
  CHECK(found[0].position == 2);
  CHECK(found[0].body_events == 4);
  CHECK(found[0].visit == 0);
  const auto iterations = recorded.of(LoopEventKind::kIteration);
  REQUIRE(iterations.size() == 20);
  for (std::size_t k = 0; k < 20; ++k) CHECK(iterations[k].position == 2 + 4 * k);
  CHECK(recorded.of(LoopEventKind::kMismatch).empty());  // the break is between two
  const auto left = recorded.of(LoopEventKind::kLeft);
  REQUIRE(left.size() == 1);
  CHECK(left[0].position == 82);
  CHECK(left[0].iteration == 20);
}

TEST_CASE("FlatLoopDetector: loop - is reported with the event that locks") {
  FlatLoopDetector detector(std::make_unique<ExactDetector>(PeriodSettings{4, 8}));
  Recorded recorded;
  for (std::size_t i = 0; i < 11; ++i) detector.push(i % 4, 0, recorded);
  CHECK(recorded.events.empty());
  detector.push(3, 0, recorded);
  CHECK(recorded.events.size() == 1 + 3);
}

TEST_CASE("FlatLoopDetector: break - inside an iteration") {
  const auto recorded = run(times(10, {1, 2, 3, 4}) + Stream{1, 2, 77, 78}, {4, 8});
  check_order(recorded, 44);
  const auto mismatch = recorded.of(LoopEventKind::kMismatch);
  REQUIRE(mismatch.size() == 1);
  CHECK(mismatch[0].position == 42);
  CHECK(mismatch[0].iteration == 10);
  const auto left = recorded.of(LoopEventKind::kLeft);
  REQUIRE(left.size() == 1);
  CHECK(left[0].position == 42);
  CHECK(left[0].iteration == 10);
}

TEST_CASE("FlatLoopDetector: finish - reports the open loop as left, once") {
  const auto whole = run(times(10, {1, 2, 3, 4}), {4, 8});
  check_order(whole, 40);
  CHECK(whole.events.back().kind == LoopEventKind::kLeft);
  CHECK(whole.events.back().position == 40);
  CHECK(whole.events.back().iteration == 10);
  const auto cut = run(times(10, {1, 2, 3, 4}) + Stream{1}, {4, 8});
  check_order(cut, 41);
  CHECK(cut.events.back().position == 41);
  CHECK(cut.events.back().iteration == 10);
  CHECK(cut.of(LoopEventKind::kMismatch).empty());

  FlatLoopDetector detector(std::make_unique<ExactDetector>(PeriodSettings{4, 8}));
  Recorded recorded;
  detector.finish(recorded);
  CHECK(recorded.events.empty());
}

TEST_CASE("FlatLoopDetector: re-entry - the same body keeps identity and start") {
  const Stream body{1, 2, 3, 4};
  const Stream other{5, 6};
  const auto recorded = run(times(10, body) + times(20, other) + Stream{4} +
                                times(10, body) + Stream{70} + times(10, body),
                            {4, 8});
  check_order(recorded, 40 + 40 + 1 + 40 + 1 + 40);
  const auto found = recorded.of(LoopEventKind::kFound);
  REQUIRE(found.size() == 4);
  CHECK(found[0].loop != found[1].loop);
  CHECK(found[2].loop == found[0].loop);
  CHECK(found[3].loop == found[0].loop);
  CHECK(found[0].visit == 0);
  CHECK(found[1].visit == 0);
  CHECK(found[2].visit == 1);
  CHECK(found[3].visit == 2);
  CHECK(found[1].position == 40);
  CHECK(found[2].position == 81);  // not at the 4 before: iterations begin at 1
  CHECK(found[3].position == 122);
}

TEST_CASE(
    "FlatLoopDetector: rotation - iterations begin at the first event of least depth") {
  // The prologue ends like the body, so that the leftmost run begins in its middle.
  const Stream body{1, 2, 3, 4};
  const Stream stream = Stream{80, 3, 4} + times(12, body) + Stream{1, 2, 81};
  std::vector<std::uint16_t> depths{0, 2, 3};
  for (int k = 0; k < 12; ++k) depths.insert(depths.end(), {1, 1, 2, 3});
  depths.insert(depths.end(), {1, 1, 0});
  const auto recorded = run(stream, {4, 8}, depths);
  check_order(recorded, stream.size());
  const auto iterations = recorded.of(LoopEventKind::kIteration);
  REQUIRE(iterations.size() == 13);
  for (std::size_t k = 0; k < 13; ++k) CHECK(iterations[k].position == 3 + 4 * k);
  CHECK(recorded.of(LoopEventKind::kFound)[0].position == 3);
  CHECK(recorded.of(LoopEventKind::kMismatch)[0].position == 53);

  const auto unknown = run(stream, {4, 8});  // depth not known: leftmost
  CHECK(unknown.of(LoopEventKind::kFound)[0].position == 1);
}

TEST_CASE("FlatLoopDetector: rotation - least depth wins over where it began last time") {
  const Stream body{1, 2, 3, 4};
  const Stream stream = times(8, body) + Stream{70} + times(8, body);
  std::vector<std::uint16_t> depths(32, 5);
  depths.push_back(0);
  for (int k = 0; k < 8; ++k) depths.insert(depths.end(), {5, 5, 4, 5});
  const auto recorded = run(stream, {4, 8}, depths);
  check_order(recorded, stream.size());
  const auto found = recorded.of(LoopEventKind::kFound);
  REQUIRE(found.size() == 2);
  CHECK(found[0].position == 0);
  CHECK(found[1].position == 35);
  CHECK(found[1].loop == found[0].loop);
}

TEST_CASE("FlatLoopDetector: identity - forgotten bodies come back as new ones") {
  FlatLoopDetector detector(std::make_unique<ExactDetector>(PeriodSettings{2, 4}), 4);
  Recorded recorded;
  for (std::uint64_t round = 0; round < 2; ++round) {
    for (std::uint64_t body = 0; body < 50; ++body) {
      for (std::uint64_t i = 0; i < 10; ++i) {
        detector.push(body * 2 + i % 2, 0, recorded);
      }
    }
  }
  detector.finish(recorded);
  const auto found = recorded.of(LoopEventKind::kFound);
  REQUIRE(found.size() == 100);
  CHECK(found[50].loop == 50);
  CHECK(found[50].visit == 0);
}

TEST_CASE("FlatLoopDetector: any stream - events are in order and within reach") {
  std::size_t events = 0;
  for (const PeriodSettings settings :
       {PeriodSettings{1, 1}, {2, 2}, {3, 4}, {5, 5}, {8, 8}, {13, 13}, {21, 34}}) {
    std::vector<Stream> streams{test::fibonacci_stream(3000),
                                test::thue_morse_stream(3000)};
    for (const std::uint64_t symbols : {2, 4, 16}) {
      streams.push_back(test::random_stream(3000, symbols, symbols));
    }
    streams.push_back(test::perturbed(times(500, {1, 2, 1, 2, 3}), 50, 5));
    for (const auto& stream : streams) {
      const auto depths = test::random_stream(stream.size(), 4, 9);
      const auto recorded = run(stream, settings, {depths.begin(), depths.end()});
      check_order(recorded, stream.size());
      events += recorded.events.size();
    }
  }
  CHECK(events > 1000);
}

TEST_CASE("FlatLoopDetector: real programs - the same loops over matrix and exact") {
  for (const auto& [name, symbols] : test::real_streams()) {
    INFO(name);
    const Stream stream(symbols.begin(),
                        symbols.begin() + std::min<std::size_t>(symbols.size(), 20000));
    const auto exact = run(stream, {128, 128});
    const auto matrix = run<MatrixDetector>(stream, {128, 128});
    check_order(exact, stream.size());
    REQUIRE(exact.events.size() == matrix.events.size());
    for (std::size_t k = 0; k < exact.events.size(); ++k) {
      REQUIRE(exact.events[k].position == matrix.events[k].position);
      REQUIRE(exact.events[k].iteration == matrix.events[k].iteration);
      REQUIRE(exact.events[k].kind == matrix.events[k].kind);
    }
    if (name.starts_with("lulesh-omp-b1c1-s15")) {
      REQUIRE(!exact.events.empty());
      CHECK(exact.events.back().iteration == 200);
      CHECK(exact.events.back().body_events == 92);
    }
    if (name.starts_with("lulesh-hyb-n8-s8.mpi.rank0")) {
      REQUIRE(!exact.events.empty());
      CHECK(exact.of(LoopEventKind::kFound)[0].body_events == 48);
      CHECK(exact.of(LoopEventKind::kLeft)[0].iteration >= 99);
    }
  }
}

}  // namespace
}  // namespace refrain::periodicity::flat_loop_detector_test
