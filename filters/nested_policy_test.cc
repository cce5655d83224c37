#include "filters/nested_policy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace refrain::filters::nested_policy_test {
namespace {

using periodicity::kNoLoop;
using periodicity::LoopEventKind;
using Interval = SkippedIntervals::Interval;
using Intervals = std::vector<Interval>;

// Plays the detector's part.
struct Play {
  explicit Play(NestedPolicySettings settings) : policy(settings, intervals) {}

  void found(std::uint32_t loop, std::uint64_t position, std::uint16_t level = 0) {
    emit(LoopEventKind::kFound, loop, position, 0, level);
  }
  void iterations(std::uint32_t loop, std::uint64_t from, std::uint64_t size,
                  std::uint64_t count, std::uint16_t level = 0) {
    for (std::uint64_t k = 0; k < count; ++k) {
      emit(LoopEventKind::kIteration, loop, from + k * size, k, level);
    }
  }
  void emit(LoopEventKind kind, std::uint32_t loop, std::uint64_t position,
            std::uint64_t iteration, std::uint16_t level = 0) {
    policy.on_loop_event({.kind = kind,
                          .level = level,
                          .loop = loop,
                          .visit = 0,
                          .body_events = 0,
                          .position = position,
                          .iteration = iteration});
  }
  Intervals skipped(std::uint64_t end) {
    intervals.finish(end);
    return intervals.intervals();
  }

  SkippedIntervals intervals;
  NestedPolicy policy;
};

TEST_CASE("NestedPolicy: limit - the iterations after the first N are skipped") {
  Play play({.limit = 3});
  play.found(7, 100);
  play.iterations(7, 100, 10, 20);
  CHECK(play.skipped(300) == Intervals{{130, 300}});
}

// The loop 7 iterates from `begin` on and breaks in its 20th iteration, as it did at
// `before`, if that is given.
void break_in_20th(Play& play, std::uint64_t begin, std::uint32_t often = 0,
                   std::uint64_t before = 0) {
  play.found(7, begin);
  play.iterations(7, begin, 10, 20);
  play.emit(LoopEventKind::kMismatch, 7, begin + 195, 19);
  play.policy.on_loop_event({.kind = LoopEventKind::kLeft,
                             .level = 0,
                             .loop = 7,
                             .visit = 0,
                             .body_events = 10,
                             .position = begin + 195,
                             .iteration = 19,
                             .exit_count = often,
                             .left_so_at = before});
}

TEST_CASE("NestedPolicy: breaks - with once, the first of each kind are kept") {
  Play play({.limit = 3, .nested = Nested::kOnce});
  break_in_20th(play, 100);
  break_in_20th(play, 400, 2, 295);  // the third of its kind
  break_in_20th(play, 700, 3, 595);
  break_in_20th(play, 1000);
  CHECK(play.skipped(1200) == Intervals{{130, 280}, {400, 580}, {700, 895}, {1000, 1180}});
}

TEST_CASE("NestedPolicy: breaks - with each, all are kept") {
  Play play({.limit = 3, .nested = Nested::kEach});
  break_in_20th(play, 100);
  break_in_20th(play, 400, 9, 295);
  CHECK(play.skipped(1000) == Intervals{{130, 280}, {430, 580}});
}

TEST_CASE("NestedPolicy: breaks - one from before a restart was not kept") {
  Play play({.limit = 3, .nested = Nested::kOnce});
  play.policy.restart(350);
  break_in_20th(play, 400, 9, 295);
  CHECK(play.skipped(1000) == Intervals{{430, 580}});
}

TEST_CASE("NestedPolicy: limit - 0 skips nothing") {
  Play play({.limit = 0});
  play.found(7, 100);
  play.iterations(7, 100, 10, 20);
  play.emit(LoopEventKind::kLeft, 7, 300, 20);
  CHECK(play.skipped(300).empty());
}

TEST_CASE("NestedPolicy: break - the broken iteration and the one before it are written") {
  Play play({.limit = 3});
  play.found(7, 100);
  play.iterations(7, 100, 10, 20);
  play.emit(LoopEventKind::kMismatch, 7, 295, 19);
  play.emit(LoopEventKind::kLeft, 7, 295, 19);
  CHECK(play.skipped(500) == Intervals{{130, 280}});
}

TEST_CASE("NestedPolicy: break - between iterations: the last one is written") {
  Play play({.limit = 3});
  play.found(7, 100);
  play.iterations(7, 100, 10, 20);
  play.emit(LoopEventKind::kLeft, 7, 300, 20);
  CHECK(play.skipped(500) == Intervals{{130, 290}});
}

TEST_CASE("NestedPolicy: break - the end of the stream is no break") {
  Play play({.limit = 3});
  play.found(7, 100);
  play.iterations(7, 100, 10, 20);
  play.policy.on_loop_event({.kind = LoopEventKind::kLeft,
                             .level = 0,
                             .loop = 7,
                             .visit = 0,
                             .body_events = 10,
                             .position = 295,
                             .iteration = 19,
                             .at_end = true});
  CHECK(play.skipped(295) == Intervals{{130, 295}});
}

void broken_nest(Play& play) {  // 6 outer iterations of 100 events; the last one breaks
  play.found(1, 0);
  for (std::uint64_t outer = 0; outer < 6; ++outer) {
    play.emit(LoopEventKind::kIteration, 1, outer * 100, outer);
    play.found(2, outer * 100 + 10, 1);
    play.iterations(2, outer * 100 + 10, 10, 8, 1);
    play.emit(LoopEventKind::kLeft, 2, outer * 100 + 90, 8, 1);
  }
  play.emit(LoopEventKind::kMismatch, 1, 595, 5);
  play.emit(LoopEventKind::kLeft, 1, 595, 5);
}

TEST_CASE("NestedPolicy: break - each: outer iterations are resumed whole") {
  Play play({.limit = 2, .nested = Nested::kEach});
  broken_nest(play);
  CHECK(play.skipped(600) == Intervals{{30, 90}, {130, 190}, {200, 400}});
}

TEST_CASE("NestedPolicy: break - once: outer iterations without their spent inner loops") {
  Play play({.limit = 2, .nested = Nested::kOnce});
  broken_nest(play);
  // The last two inner iterations before the break are written.
  CHECK(play.skipped(600) ==
        Intervals{{30, 90}, {110, 190}, {200, 400}, {410, 490}, {510, 580}});
}

TEST_CASE("NestedPolicy: break - once: of very many inner loops the latest are skipped") {
  Play play({.limit = 2, .nested = Nested::kOnce});
  play.found(1, 0);
  constexpr std::uint64_t kVisits = 1000;
  for (std::uint64_t outer = 0; outer < 6; ++outer) {
    const std::uint64_t begin = outer * 100 * kVisits;
    play.emit(LoopEventKind::kIteration, 1, begin, outer);
    for (std::uint64_t visit = 0; visit < kVisits; ++visit) {
      play.found(2, begin + visit * 100 + 10, 1);
      play.iterations(2, begin + visit * 100 + 10, 10, 8, 1);
      play.emit(LoopEventKind::kLeft, 2, begin + visit * 100 + 90, 8, 1);
    }
  }
  play.emit(LoopEventKind::kMismatch, 1, 600 * kVisits - 1, 5);
  play.emit(LoopEventKind::kLeft, 1, 600 * kVisits - 1, 5);
  const auto skipped = play.skipped(600 * kVisits);
  const auto resumed =
      std::find_if(skipped.begin(), skipped.end(),
                   [&](const Interval& interval) { return interval.end == 400 * kVisits; });
  REQUIRE(resumed != skipped.end());
  CHECK(skipped.end() - resumed - 1 == 256);
  for (auto interval = resumed + 1; interval != skipped.end() - 1; ++interval) {
    CHECK(interval->end - interval->begin == 80);
  }
  CHECK(skipped.back().begin == 600 * kVisits - 90);
}

TEST_CASE("NestedPolicy: break - of a loop within its limit resumes nothing") {
  Play play({.limit = 10});
  play.found(7, 100);
  play.iterations(7, 100, 10, 5);
  play.emit(LoopEventKind::kLeft, 7, 150, 5);
  CHECK(play.skipped(500).empty());
}

void nest(Play& play) {  // 6 outer iterations of 100 events, each 8 inner ones of 10
  play.found(1, 0);
  for (std::uint64_t outer = 0; outer < 6; ++outer) {
    play.emit(LoopEventKind::kIteration, 1, outer * 100, outer);
    play.found(2, outer * 100 + 10, 1);
    play.iterations(2, outer * 100 + 10, 10, 8, 1);
    play.emit(LoopEventKind::kLeft, 2, outer * 100 + 90, 8, 1);
  }
}

TEST_CASE("NestedPolicy: each - N inner iterations in each of N outer ones") {
  Play play({.limit = 2, .nested = Nested::kEach});
  nest(play);
  CHECK(play.skipped(600) == Intervals{{30, 90}, {130, 190}, {200, 600}});
}

TEST_CASE("NestedPolicy: once - N iterations of each body in the run") {
  Play play({.limit = 2, .nested = Nested::kOnce});
  nest(play);
  CHECK(play.skipped(600) == Intervals{{30, 90}, {110, 190}, {200, 600}});
}

TEST_CASE(
    "NestedPolicy: first - N iterations of each body, then one of each written visit") {
  Play play({.limit = 2});
  nest(play);
  CHECK(play.skipped(600) == Intervals{{30, 90}, {120, 190}, {200, 600}});
}

TEST_CASE("NestedPolicy: first - N is spread over short visits") {
  // CloverLeaf: five steps, then a summary; eight times.
  Play play({.limit = 10});
  play.found(1, 0);
  for (std::uint64_t k = 0; k < 8; ++k) {
    play.emit(LoopEventKind::kIteration, 1, k * 100, k);
    play.found(2, k * 100, 1);
    play.iterations(2, k * 100, 10, 5, 1);
    play.emit(LoopEventKind::kLeft, 2, k * 100 + 50, 5, 1);
  }
  CHECK(play.skipped(800) ==
        Intervals{{210, 250}, {310, 350}, {410, 450}, {510, 550}, {610, 650}, {710, 750}});
}

TEST_CASE("NestedPolicy: first - of further visits the first iterations of N are written") {
  Play play({.limit = 3});
  play.found(1, 0);
  play.emit(LoopEventKind::kIteration, 1, 0, 0);
  for (std::uint64_t k = 0; k < 8; ++k) {
    play.found(2, k * 100, 1);
    play.iterations(2, k * 100, 10, 5, 1);
    play.emit(LoopEventKind::kLeft, 2, k * 100 + 50, 5, 1);
  }
  CHECK(play.skipped(800) == Intervals{{30, 50},
                                       {110, 150},
                                       {210, 250},
                                       {310, 350},
                                       {400, 450},
                                       {500, 550},
                                       {600, 650},
                                       {700, 750}});
}

TEST_CASE("NestedPolicy: first - a nest of depth k does not write N^k") {
  constexpr std::uint64_t kLimit = 4;
  constexpr std::uint64_t kRounds = 6;
  for (const std::uint16_t depth : {2, 3, 4}) {
    Play play({.limit = kLimit});
    // An iteration of level l: one event, then a visit of level l + 1.
    std::uint64_t position = 0;
    std::uint64_t bodies = 0;
    std::vector<std::uint64_t> innermost;
    const auto visit = [&](const auto& self, std::uint16_t level) -> void {
      play.found(level, position, level);
      for (std::uint64_t k = 0; k < kRounds; ++k) {
        play.emit(LoopEventKind::kIteration, level, position, k, level);
        if (level + 1 == depth) innermost.push_back(position);
        ++position;
        if (level + 1 != depth) self(self, level + 1);
      }
      play.emit(LoopEventKind::kLeft, level, position, kRounds, level);
    };
    visit(visit, 0);
    bodies = innermost.size();
    const auto skipped = play.skipped(position);
    std::uint64_t written = 0;
    for (const std::uint64_t begin : innermost)
      written +=
          std::none_of(skipped.begin(), skipped.end(), [&](const Interval& interval) {
            return interval.begin <= begin && begin < interval.end;
          });
    INFO("depth " << depth << ", " << written << " of " << bodies);
    // N of each level and one for each visit around it, and the two before the end.
    CHECK(written <= kLimit * depth + 2 * depth);
    CHECK(written >= kLimit);
  }
}

TEST_CASE("NestedPolicy: first - the first iteration of N visits outside other loops") {
  Play play({.limit = 2});
  for (std::uint64_t visit = 0; visit < 4; ++visit) {
    play.found(1, visit * 100);
    play.iterations(1, visit * 100, 10, 5);
    play.emit(LoopEventKind::kLeft, 1, visit * 100 + 50, 5);
  }
  CHECK(play.skipped(400) == Intervals{{20, 40}, {110, 140}, {200, 240}, {300, 340}});
}

TEST_CASE("NestedPolicy: break - first: outer iterations show each inner visit") {
  Play play({.limit = 2});
  broken_nest(play);
  CHECK(play.skipped(600) ==
        Intervals{{30, 90}, {120, 190}, {200, 400}, {420, 490}, {520, 580}});
}

// Iterations that goes_on() takes count like others.
TEST_CASE("NestedPolicy: short way - decides and counts like the long one") {
  for (const auto nested : {Nested::kFirst, Nested::kEach, Nested::kOnce}) {
    Intervals skipped[2];
    for (const bool shortly : {false, true}) {
      Play play({.limit = 3, .nested = nested});
      std::uint64_t taken = 0;
      const auto iterations = [&](std::uint32_t loop, std::uint64_t from,
                                  std::uint64_t size, std::uint64_t count,
                                  std::uint16_t level) {
        for (std::uint64_t k = 0; k < count; ++k) {
          if (shortly && play.policy.goes_on(level, from + k * size, k))
            ++taken;
          else
            play.emit(LoopEventKind::kIteration, loop, from + k * size, k, level);
        }
      };
      for (std::uint64_t visit = 0; visit < 5; ++visit) {
        play.found(1, visit * 1000);
        iterations(1, visit * 1000, 10, 50, 0);
        play.emit(LoopEventKind::kLeft, 1, visit * 1000 + 500, 50);
      }
      play.found(2, 5000);
      for (std::uint64_t outer = 0; outer < 6; ++outer) {
        play.emit(LoopEventKind::kIteration, 2, 5000 + outer * 1000, outer);
        play.found(1, 5000 + outer * 1000 + 10, 1);
        iterations(1, 5000 + outer * 1000 + 10, 10, 50, 1);
        play.emit(LoopEventKind::kLeft, 1, 5000 + outer * 1000 + 510, 50, 1);
      }
      skipped[shortly ? 1 : 0] = play.skipped(11000);
      CHECK(taken >= (shortly ? 200 : 0));
    }
    CHECK(skipped[0] == skipped[1]);
  }
}

TEST_CASE("NestedPolicy: each - a loop visited N times by itself is not written again") {
  for (const auto nested : {Nested::kEach, Nested::kOnce}) {
    Play play({.limit = 2, .nested = nested});
    for (std::uint64_t visit = 0; visit < 4; ++visit) {
      play.found(1, visit * 100);
      play.iterations(1, visit * 100, 10, 5);
      play.emit(LoopEventKind::kLeft, 1, visit * 100 + 50, 5);
    }
    if (nested == Nested::kEach) {
      CHECK(play.skipped(400) == Intervals{{20, 40}, {120, 140}, {200, 240}, {300, 340}});
    } else {
      CHECK(play.skipped(400) == Intervals{{20, 40}, {100, 140}, {200, 240}, {300, 340}});
    }
  }
}

TEST_CASE("NestedPolicy: break - a change to another spent loop is no break") {
  Play play({.limit = 2, .nested = Nested::kOnce});
  for (std::uint64_t round = 0; round < 4; ++round) {
    play.found(1, round * 100);
    play.iterations(1, round * 100, 10, 5);
    play.emit(LoopEventKind::kMismatch, 1, round * 100 + 45, 4);
    play.emit(LoopEventKind::kLeft, 1, round * 100 + 45, 4);
    play.found(2, round * 100 + 40);
    play.iterations(2, round * 100 + 40, 10, 6);
    play.emit(LoopEventKind::kLeft, 2, round * 100 + 100, 6);
  }
  CHECK(play.skipped(400) == Intervals{{20, 30}, {60, 390}});
}

TEST_CASE("NestedPolicy: trim - an outer loop detected late skips what was written") {
  Play play({.limit = 1});
  play.found(2, 0);
  play.iterations(2, 0, 10, 5);
  play.emit(LoopEventKind::kLeft, 2, 50, 5);
  play.found(2, 100);
  play.iterations(2, 100, 10, 5);
  play.emit(LoopEventKind::kLeft, 2, 150, 5);
  play.found(1, 0);
  play.iterations(1, 0, 100, 3);
  CHECK(play.skipped(300) == Intervals{{10, 40}, {100, 300}});
}

TEST_CASE("NestedPolicy: break - inside an inner loop keeps its last two iterations") {
  Play play({.limit = 2});
  play.found(1, 0);
  play.emit(LoopEventKind::kIteration, 1, 0, 0);
  play.found(2, 10, 1);
  play.iterations(2, 10, 10, 8, 1);  // the last of them begins at 80 and breaks
  play.emit(LoopEventKind::kLeft, 2, 80, 7, 1);
  play.emit(LoopEventKind::kMismatch, 1, 85, 0);
  play.emit(LoopEventKind::kLeft, 1, 85, 0);
  CHECK(play.skipped(100) == Intervals{{30, 70}});
}

}  // namespace

}  // namespace refrain::filters::nested_policy_test
