#include "periodicity/phase_detector.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "periodicity/nested/nested_detector.h"

namespace refrain::periodicity::phase_detector_test {
namespace {

// What is reported, in short: "found 0@3" (level, position), "it 5@12", "end 5@13", "left 6@14".
class Reported final : public LoopSink {
 public:
  std::vector<std::string> lines;
  std::vector<LoopEvent> events;

  void on_loop_event(const LoopEvent& event) noexcept override {
    events.push_back(event);
    static constexpr const char* kNames[] = {"found", "it", "mismatch", "left", "end"};
    const bool phase = event.loop >= PhaseDetector::kFirstLoop;
    lines.push_back((phase ? "P" + std::to_string(event.loop - PhaseDetector::kFirstLoop)
                           : std::string("L")) +
                    " " + kNames[static_cast<int>(event.kind)] + " " +
                    std::to_string(event.level) + " " + std::to_string(event.iteration) +
                    "@" + std::to_string(event.position));
  }
  std::vector<std::string> of_phases() const {
    std::vector<std::string> out;
    for (const std::string& line : lines)
      if (line[0] == 'P') out.push_back(line);
    return out;
  }
  long count(LoopEventKind kind, bool phases) const {
    long n = 0;
    for (const LoopEvent& event : events)
      n += event.kind == kind && (event.loop >= PhaseDetector::kFirstLoop) == phases;
    return n;
  }
};

struct Bench {
  PhaseDetector detector{std::make_unique<NestedDetector>()};
  Reported reported;

  void symbol(Symbol s) { detector.push(s, 0, reported); }
  void begin(std::uint32_t name) { symbol(phase_begin(name)); }
  void end(std::uint32_t name) { symbol(phase_end(name)); }
  void phase(std::uint32_t name) { begin(name), end(name); }
};

// Levels open one inside the other, iterations count up from 0, and none is reported of a loop that
// is not open.
void check_order(const Reported& reported) {
  std::vector<LoopEvent> open;
  for (const LoopEvent& event : reported.events) {
    if (event.kind == LoopEventKind::kFound) {
      REQUIRE(event.level <= open.size());
      open.resize(event.level);
      open.push_back(event);
      continue;
    }
    REQUIRE(event.level < open.size());
    REQUIRE(open[event.level].loop == event.loop);
    if (event.kind == LoopEventKind::kLeft) {
      REQUIRE(event.level + 1u == open.size());
      open.pop_back();
    }
  }
  CHECK(open.empty());
}

}  // namespace

TEST_CASE("PhaseDetector: a phase - each is an iteration, from its begin to its end") {
  Bench bench;
  bench.symbol(1);
  for (int i = 0; i < 3; ++i) bench.phase(7);
  bench.detector.finish(bench.reported);
  CHECK(bench.reported.lines == std::vector<std::string>{"P0 found 0 0@1", "P0 it 0 0@1",
                                                         "P0 end 0 0@2", "P0 it 0 1@3",
                                                         "P0 end 0 1@4", "P0 it 0 2@5",
                                                         "P0 end 0 2@6", "P0 left 0 3@7"});
  CHECK(bench.reported.events.back().at_end);
}

TEST_CASE("PhaseDetector: between phases - what was there before belongs to the loop") {
  Bench bench;
  for (int i = 0; i < 20; ++i) {
    bench.phase(7);
    bench.symbol(1);
    if (i % 3 == 0) bench.symbol(2);
  }
  // Something else: the loop ended after its last phase.
  bench.symbol(9);
  CHECK(bench.reported.count(LoopEventKind::kFound, true) == 1);
  CHECK(bench.reported.count(LoopEventKind::kIteration, true) == 20);
  REQUIRE(bench.reported.events.back().kind == LoopEventKind::kLeft);
  CHECK(bench.reported.events.back().iteration == 20);
  CHECK_FALSE(bench.reported.events.back().at_end);
  // 13 + 7 iterations of 3 or 4 events, the last of 3, after its end.
  CHECK(bench.reported.events.back().position == 13 * 3 + 7 * 4 - 1);
  check_order(bench.reported);
}

TEST_CASE(
    "PhaseDetector: the end of the stream - after the last phase, or where one was open") {
  const bool open = GENERATE(false, true);
  Bench bench;
  for (int i = 0; i < 10; ++i) bench.phase(7), bench.symbol(1);
  if (open) bench.begin(7), bench.symbol(2);
  bench.detector.finish(bench.reported);
  const LoopEvent& left = bench.reported.events.back();
  REQUIRE(left.kind == LoopEventKind::kLeft);
  CHECK(left.at_end);
  CHECK(left.iteration == 10);  // complete ones
  // What came after the last phase, known or not, is not in the loop.
  CHECK(left.position == (open ? 32 : 29));
  check_order(bench.reported);
}

TEST_CASE("PhaseDetector: between phases - too much of the same leaves the loop") {
  Bench bench;
  for (int i = 0; i < 10; ++i) bench.phase(7), bench.symbol(1);
  bench.symbol(1);
  CHECK(bench.reported.count(LoopEventKind::kLeft, true) == 0);
  bench.symbol(1);
  CHECK(bench.reported.count(LoopEventKind::kLeft, true) == 1);
}

TEST_CASE("PhaseDetector: a rare event between phases - a break once") {
  Bench bench;
  for (int i = 0; i < 100; ++i) {
    bench.phase(7);
    bench.symbol(1);
    if (i % 10 == 9) bench.symbol(2);
  }
  CHECK(bench.reported.count(LoopEventKind::kLeft, true) == 1);
  CHECK(bench.reported.count(LoopEventKind::kIteration, true) == 100);
}

TEST_CASE("PhaseDetector: two phases in turn - the one is left where the other begins") {
  Bench bench;
  for (int i = 0; i < 5; ++i) {
    bench.phase(7);
    bench.symbol(1);
    bench.phase(8);
  }
  bench.detector.finish(bench.reported);
  check_order(bench.reported);
  CHECK(bench.reported.count(LoopEventKind::kIteration, true) == 10);
  for (std::size_t i = 0; i + 1 < bench.reported.events.size(); ++i)
    if (bench.reported.events[i].kind == LoopEventKind::kLeft) {
      CHECK(bench.reported.events[i + 1].kind == LoopEventKind::kFound);
      CHECK(bench.reported.events[i + 1].position == bench.reported.events[i].position);
    }
}

TEST_CASE("PhaseDetector: phases in phases - levels") {
  Bench bench;
  for (int i = 0; i < 4; ++i) {
    bench.begin(1);
    for (int j = 0; j < 3; ++j) bench.phase(2);
    bench.phase(3);
    bench.end(1);
  }
  bench.detector.finish(bench.reported);
  check_order(bench.reported);
  std::vector<long> iterations(3);
  for (const LoopEvent& event : bench.reported.events) {
    const std::uint32_t loop = event.loop - PhaseDetector::kFirstLoop;
    iterations.at(loop) += event.kind == LoopEventKind::kIteration;
    CHECK(event.level == (loop == 0 ? 0 : 1));
    CHECK(event.parent == (loop == 0 ? kNoLoop : PhaseDetector::kFirstLoop));
  }
  CHECK(iterations == std::vector<long>{4, 12, 4});
}

TEST_CASE("PhaseDetector: odd calls - ends without begins, ends of what is around") {
  Bench bench;
  bench.end(5);
  bench.begin(1);
  bench.end(2);
  bench.begin(2);
  bench.end(1);
  bench.end(2);
  CHECK(bench.detector.open_phases() == 0);
  for (int i = 0; i < 1000; ++i) bench.begin(100 + static_cast<std::uint32_t>(i));
  CHECK(bench.detector.open_phases() == PhaseDetector::kMaxLevels);
  bench.detector.finish(bench.reported);
  CHECK(bench.detector.open_phases() == 0);
  check_order(bench.reported);
}

TEST_CASE("PhaseDetector: without phases - what the inner detector says") {
  Reported alone;
  NestedDetector inner;
  Bench bench;
  for (int i = 0; i < 500; ++i) {
    const Symbol symbol =
        i % 7 == 3 ? 40 + static_cast<Symbol>(i / 70) : static_cast<Symbol>(i % 7);
    inner.push(symbol, 0, alone);
    bench.symbol(symbol);
  }
  inner.finish(alone);
  bench.detector.finish(bench.reported);
  CHECK(bench.reported.lines == alone.lines);
  CHECK(alone.lines.size() > 10);
}

TEST_CASE(
    "PhaseDetector: phases come and go - loops are left for them, and found after them") {
  Bench bench;
  for (int i = 0; i < 50; ++i) bench.symbol(static_cast<Symbol>(i % 3));
  CHECK(bench.reported.count(LoopEventKind::kFound, false) == 1);
  for (int i = 0; i < 20; ++i) bench.phase(7);
  CHECK(bench.reported.count(LoopEventKind::kLeft, false) == 1);
  const std::uint64_t end = bench.detector.position();
  const std::size_t before = bench.reported.events.size();
  for (int i = 0; i < 60; ++i) bench.symbol(10 + static_cast<Symbol>(i % 4));
  bench.detector.finish(bench.reported);
  check_order(bench.reported);
  CHECK(bench.reported.count(LoopEventKind::kIteration, true) == 20);
  long iterations = 0;
  for (std::size_t i = before; i < bench.reported.events.size(); ++i) {
    const LoopEvent& event = bench.reported.events[i];
    if (event.loop >= PhaseDetector::kFirstLoop) continue;
    CHECK(event.position >= end);
    iterations += event.kind == LoopEventKind::kIteration;
  }
  CHECK(iterations >= 14);
}

TEST_CASE("PhaseDetector: a phase that comes once - loops after it are found") {
  Bench bench;
  bench.phase(7);
  for (int i = 0; i < 400; ++i) bench.symbol(static_cast<Symbol>(i % 4));
  bench.detector.finish(bench.reported);
  check_order(bench.reported);
  CHECK(bench.reported.of_phases() ==
        std::vector<std::string>{"P0 found 0 0@0", "P0 it 0 0@0", "P0 end 0 0@1",
                                 "P0 left 0 1@2"});
  CHECK(bench.reported.count(LoopEventKind::kIteration, false) >= 99);
}

TEST_CASE("PhaseDetector: push_expected - the short way ends where a phase begins") {
  Bench whole;
  Bench bench;
  std::uint64_t taken = 0;
  const auto both = [&](Symbol s) {
    whole.symbol(s);
    if (bench.detector.push_expected(s, 0))
      ++taken;
    else
      bench.symbol(s);
  };
  for (int part = 0; part < 4; ++part) {
    for (int k = 0; k < 300; ++k)
      for (const Symbol s : {1, 2, 3}) both(s);
    // A phase in the midst of an iteration; the loop inside it is not reported.
    both(1);
    both(phase_begin(7));
    const std::uint64_t before = taken;
    for (int k = 0; k < 50; ++k) both(4), both(5);
    CHECK(taken == before);
    both(phase_end(7));
    both(6);
  }
  whole.detector.finish(whole.reported);
  bench.detector.finish(bench.reported);
  CHECK(bench.reported.lines == whole.reported.lines);
  CHECK(bench.reported.of_phases().size() >= 4);
  CHECK(taken > 500);
}

}  // namespace refrain::periodicity::phase_detector_test
