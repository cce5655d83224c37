#include "periodicity/activation/activation_detector.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <vector>

#include "periodicity/activation/synthetic_paths.h"

namespace {

using namespace refrain::periodicity;
using refrain::periodicity::testing::LoopCounts;
using refrain::periodicity::testing::SyntheticProgram;

// What the detector reports, checked for what any sink may rely on.
class Listener final : public LoopSink {
 public:
  explicit Listener(const LoopDetector& detector) : detector_(detector) {}

  void on_loop_event(const LoopEvent& event) noexcept override {
    sane = sane && event.level <= open_.size();
    if (event.kind == LoopEventKind::kFound) {
      sane = sane && event.level == open_.size() && event.visit == visits[event.loop]++;
      sane = sane && event.parent == (open_.empty() ? kNoLoop : open_.back().loop);
      sane = sane && event.position + detector_.reach_events() > detector_.position();
      open_.push_back({event.loop, 0});
      return;
    }
    sane = sane && event.level < open_.size() && open_[event.level].loop == event.loop;
    if (!sane) return;
    OpenLoop& loop = open_[event.level];
    switch (event.kind) {
      case LoopEventKind::kIteration:
        sane =
            sane && event.iteration == loop.iterations && event.level + 1u == open_.size();
        ++loop.iterations;
        ++iterations[event.loop];
        break;
      case LoopEventKind::kLeft:
        sane =
            sane && event.iteration == loop.iterations && event.level + 1u == open_.size();
        open_.pop_back();
        break;
      case LoopEventKind::kNovel:
        novel.push_back(event.position);
        break;
      default:
        sane = false;
    }
  }

  bool sane = true;
  std::vector<std::uint64_t> novel;  // positions
  std::map<std::uint32_t, std::uint64_t> iterations;
  std::map<std::uint32_t, std::uint32_t> visits;

 private:
  struct OpenLoop {
    std::uint32_t loop;
    std::uint64_t iterations;
  };
  const LoopDetector& detector_;
  std::vector<OpenLoop> open_;
};

// By the headers of those around that came round, as the program counts.
LoopCounts counts_of(const ActivationDetector& detector) {
  LoopCounts counts;
  for (std::uint32_t i = 0; i != detector.loops(); ++i)
    counts[detector.headers(i)] = detector.loop(i).iterations;
  return counts;
}

// Calls of one loop, in the order of their numbers, each through a path of its own.
class OneLoop : public CodeFacts {
 public:
  unsigned stack(std::uint32_t) noexcept override { return 0; }
  std::span<const PathFrame> frames(std::uint32_t path) noexcept override {
    frame_ = {path, 1};
    return {&frame_, 1};
  }
  std::span<const std::uint64_t> loops(Place) noexcept override { return {&header_, 1}; }
  std::uint64_t function(Place) noexcept override { return 1; }
  bool forward(Place from, Place to) noexcept override { return from < to; }
  bool loops_known(Place) noexcept override { return true; }
  bool jumps(Place, Place, Place) noexcept override { return false; }

 private:
  PathFrame frame_{};
  std::uint64_t header_ = 100;
};

// The same with another loop in it, in which the second call lies.
class TwoLoops final : public OneLoop {
 public:
  std::span<const std::uint64_t> loops(Place call) noexcept override {
    return {headers_, call == 2 ? 2U : 1U};
  }

 private:
  std::uint64_t headers_[2] = {100, 200};
};

// Paths of one frame each, by number: the call, which lies in a loop with the call's number if that is not above 9, and the stack.
class Stacks final : public CodeFacts {
 public:
  explicit Stacks(std::map<std::uint32_t, std::pair<Place, unsigned>> paths)
      : paths_(std::move(paths)) {}

  std::span<const PathFrame> frames(std::uint32_t path) noexcept override {
    frame_ = {paths_[path].first, 0};
    return {&frame_, 1};
  }
  unsigned stack(std::uint32_t path) noexcept override { return paths_[path].second; }
  std::span<const std::uint64_t> loops(Place call) noexcept override {
    loop_ = call;
    return {&loop_, call <= 9 ? 1u : 0u};
  }
  bool loops_known(Place) noexcept override { return true; }
  std::uint64_t function(Place call) noexcept override { return call; }
  bool forward(Place, Place) noexcept override { return false; }
  bool jumps(Place, Place, Place) noexcept override { return false; }

 private:
  std::map<std::uint32_t, std::pair<Place, unsigned>> paths_;
  PathFrame frame_;
  std::uint64_t loop_ = 0;
};

// Iterations of each loop by its header, after these paths came.
std::map<std::uint64_t, std::uint64_t> iterations_of(
    Stacks& stacks, const std::vector<std::uint32_t>& paths) {
  ActivationDetector detector(stacks);
  Listener listener(detector);
  for (const std::uint32_t path : paths) detector.push(path, 0, listener);
  detector.finish(listener);
  CHECK(listener.sane);
  std::map<std::uint64_t, std::uint64_t> iterations;
  for (std::uint32_t i = 0; i != detector.loops(); ++i)
    iterations[detector.loop(i).header] += detector.loop(i).iterations;
  return iterations;
}

}  // namespace

TEST_CASE("an iteration begins where it was noted, though that is beyond the reach") {
  struct Noting final : LoopSink {
    void on_loop_event(const LoopEvent& event) noexcept override {
      if (event.noted == kNotNoted) return;
      CHECK(event.iteration == 0);
      begins[event.loop] = noted[event.noted];
      positions[event.loop] = event.position;
    }
    void may_begin(std::uint16_t number) noexcept override { noted[number] = pushed; }
    std::map<std::uint16_t, std::uint64_t> noted;
    std::map<std::uint32_t, std::uint64_t> begins, positions;
    std::uint64_t pushed = 0;
  } sink;
  TwoLoops program;
  ActivationDetector detector(program);
  const auto push = [&](std::uint32_t path) {
    detector.push(path, 0, sink);
    ++sink.pushed;
  };
  push(1);
  for (std::uint64_t i = 0; i != detector.reach_events() + 10; ++i) push(2);
  push(1);
  // The inner one came round first.
  CHECK(sink.begins == std::map<std::uint32_t, std::uint64_t>{{0, 1}, {1, 0}});
  CHECK(sink.positions[0] == 1);
  CHECK(sink.positions[1] > 1);
}

TEST_CASE("two iterations with the same path in them do something novel") {
  OneLoop program;
  ActivationDetector detector(program);
  Listener listener(detector);
  std::vector<std::uint64_t> now_and_then;
  for (unsigned iteration = 0; iteration != 40; ++iteration) {
    detector.push(1, 0, listener);
    detector.push(2, 0, listener);
    if (iteration % 10 != 9) continue;
    for (int i = 0; i != 2; ++i) {
      now_and_then.push_back(detector.position());
      detector.push(3 + i, 0, listener);
    }
  }
  CHECK(listener.sane);
  const auto late =
      std::find(listener.novel.begin(), listener.novel.end(), now_and_then[0]);
  CHECK(std::vector(late, listener.novel.end()) ==
        std::vector(now_and_then.begin(), now_and_then.begin() + 4));
}

TEST_CASE("other stacks - what is done on them is inside of what was open") {
  using Iterations = std::map<std::uint64_t, std::uint64_t>;
  Stacks stacks({{1, {1, 0}}, {2, {2, 1}}, {3, {2, 2}}, {4, {4, CodeFacts::kOtherStack}}});
  // A loop that resumes another stack, where something happens once, twice or not at all.
  CHECK(iterations_of(stacks, {1, 2, 1, 2, 1, 1, 2}) == Iterations{{1, 4}});
  CHECK(iterations_of(stacks, {1, 2, 2, 1, 2, 2, 1}) == Iterations{{1, 3}, {2, 4}});
  // Two in one function take turns: the loop of the first.
  CHECK(iterations_of(stacks, {2, 3, 2, 3, 2, 3}) == Iterations{{2, 3}});
  CHECK(iterations_of(stacks, {1, 2, 3, 3, 2, 1}) == Iterations{{1, 2}, {2, 4}});
  // Of too many nothing is known.
  CHECK(iterations_of(stacks, {1, 4, 1, 4, 4, 1}) == Iterations{{1, 3}});
}

namespace {

// Of programs that differ: whether all are counted as they count themselves. Returns how many loops they have.
std::uint64_t check_programs(SyntheticProgram::Shape shape, bool exact,
                             std::uint64_t programs = 1000) {
  std::uint64_t loops = 0;
  for (std::uint64_t seed = 0; seed != programs; ++seed) {
    SyntheticProgram program(seed, shape);
    ActivationDetector detector(program);
    Listener listener(detector);
    program.run(2000, [&](std::uint32_t path) { detector.push(path, 0, listener); });
    if (program.paths() >= ActivationDetector::kMaxPaths) continue;
    detector.finish(listener);
    INFO("program " << seed);
    REQUIRE(listener.sane);
    if (exact) REQUIRE(counts_of(detector) == program.counts());
    loops += detector.loops();
  }
  return loops;
}

}  // namespace

TEST_CASE("loops of made-up programs are counted as they count themselves") {
  CHECK(check_programs({}, true, 3000) > 3000);
  // What is known besides changes nothing.
  CHECK(check_programs({.carrying = 50}, true) > 1000);
  CHECK(check_programs({.carrying = 100, .midst = true}, true) > 1000);
}

TEST_CASE("loops without events of their own are counted by what they carry") {
  CHECK(check_programs({.events_first = false, .carrying = 100}, true) > 1000);
  CHECK(check_programs({.events_first = false, .carrying = 50}, false) > 1000);
}
