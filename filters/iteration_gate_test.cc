// The gate's decisions on loops of known shape, driven through the exact detector.
#include "filters/iteration_gate.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "periodicity/flat/exact_detector.h"
#include "periodicity/flat/flat_loop_detector.h"

namespace refrain::filters::iteration_gate_test {
namespace {

struct Cut {
  bool suspend;
  std::uint64_t gap;
  std::uint64_t epoch;
  CutReason reason;
  bool operator==(const Cut&) const = default;
};

class Recorder final : public GateSink {
 public:
  std::vector<Cut> cuts;
  std::vector<LoopMark> iterations;
  std::vector<LoopMark> left;
  std::vector<SkippedIterations> skipped;
  std::map<std::uint32_t, LoopCounts> counts;
  std::uint64_t keep = 0;

  void suspend(std::uint64_t gap, CutPoint from, CutReason reason) noexcept override {
    cuts.push_back({true, gap, from.epoch, reason});
  }
  void resume(std::uint64_t gap, CutPoint from, CutReason reason) noexcept override {
    cuts.push_back({false, gap, from.epoch, reason});
  }
  void keep_from(CutPoint cut) noexcept override { keep = cut.epoch; }
  void suspend_earlier(std::uint64_t, CutPoint) noexcept override {}
  void gap(std::uint64_t gap, CutPoint from, CutPoint to) noexcept override {
    cuts.push_back({true, gap, from.epoch, CutReason::kIterations});
    cuts.push_back({false, gap, to.epoch, CutReason::kIterations});
  }
  LoopCounts* visit_begins(const LoopMark& mark) noexcept override {
    return &counts[mark.loop];
  }
  void loop_body(const LoopMark&) noexcept override {}
  void marks_end(const LoopMark&) noexcept override {}
  void slow_iteration(const SlowIteration&) noexcept override {}
  void loop_found(const LoopMark&) noexcept override {}
  void iteration(const LoopMark& mark) noexcept override { iterations.push_back(mark); }
  void iteration_end(const LoopMark&) noexcept override {}
  void mismatch(const LoopMark&) noexcept override {}
  void loop_left(const LoopMark& mark) noexcept override { left.push_back(mark); }
  void skipped_summary(const SkippedIterations& h) noexcept override {
    skipped.push_back(h);
  }
};

// A stream in which symbol i has epoch i + 1, begins at 100 i and ends at 100 i + 60.
class Stream {
 public:
  explicit Stream(GatePolicy policy, periodicity::PeriodSettings periods = {8, 8})
      : detector_(std::make_unique<periodicity::ExactDetector>(periods)),
        gate_(policy, detector_, recorder_) {
    gate_.start({0, 0});
  }
  Stream& body(const std::string& symbols, int times = 1, bool at_epoch = true) {
    for (int k = 0; k < times; ++k)
      for (char c : symbols) {
        gate_.on_symbol({.symbol = static_cast<periodicity::Symbol>(c),
                         .ticks = now(),
                         .epoch = position_ + 1,
                         .depth = 0,
                         .at_epoch = at_epoch || c == symbols[0]});
        gate_.on_symbol_end(now() + 60, 0);
        ++position_;
      }
    return *this;
  }
  // Whatever comes takes place so much later.
  Stream& wait(std::uint64_t ticks) {
    waited_ += ticks;
    return *this;
  }
  std::uint64_t now() const { return position_ * 100 + waited_; }
  Recorder& end() {
    gate_.finish(now());
    return recorder_;
  }
  Recorder& so_far() { return recorder_; }
  std::uint64_t position() const { return position_; }
  IterationGate& gate() { return gate_; }

 private:
  Recorder recorder_;
  periodicity::FlatLoopDetector detector_;
  IterationGate gate_;
  std::uint64_t position_ = 0;
  std::uint64_t waited_ = 0;
};

// Reports what the test says, at which position.
class Scripted final : public periodicity::LoopDetector {
 public:
  std::map<std::uint64_t, std::vector<periodicity::LoopEvent>> events;
  std::map<std::uint64_t, std::uint16_t> may_begin;
  void push(periodicity::Symbol, std::uint16_t,
            periodicity::LoopSink& sink) noexcept override {
    if (const auto at = may_begin.find(position_); at != may_begin.end())
      sink.may_begin(at->second);
    for (const periodicity::LoopEvent& event : events[position_++])
      sink.on_loop_event(event);
  }
  void finish(periodicity::LoopSink&) noexcept override {}
  std::uint64_t position() const noexcept override { return position_; }
  std::uint64_t reach_events() const noexcept override { return 100; }

 private:
  std::uint64_t position_ = 0;
};

}  // namespace

TEST_CASE("IterationGate: novel - writing resumes for a break only if that was skipped") {
  const bool skipped = GENERATE(true, false);
  Scripted detector;
  const auto add = [&](periodicity::LoopEventKind kind, std::uint16_t level,
                       std::uint64_t position, std::uint64_t iteration) {
    detector.events[position].push_back({.kind = kind,
                                         .level = level,
                                         .loop = level,
                                         .visit = 0,
                                         .body_events = 1,
                                         .position = position,
                                         .iteration = iteration});
  };
  using enum periodicity::LoopEventKind;
  add(kFound, 0, 0, 0);
  add(kIteration, 0, 0, 0);
  add(kFound, 1, 1, 0);
  for (std::uint64_t i = 0; i != 8; ++i) add(kIteration, 1, 1 + i, i);
  // In the loop around, whose iteration is written, it is no reason that the inner loop's end is the end of a gap.
  if (!skipped) add(kLeft, 1, 9, 8);
  add(kNovel, skipped ? 1 : 0, 9, skipped ? 7 : 0);
  Recorder recorder;
  IterationGate gate({.limit = 2}, detector, recorder);
  gate.start({0, 0});
  for (std::uint64_t i = 0; i != 12; ++i)
    gate.on_symbol(
        {.symbol = 1, .ticks = 100 * i, .epoch = i + 1, .depth = 0, .at_epoch = true});
  REQUIRE(recorder.cuts.size() >= 2);
  CHECK(recorder.cuts[1].reason == (skipped ? CutReason::kBreak : CutReason::kIterations));
}

TEST_CASE(
    "IterationGate: an iteration is dated where it was noted, also beyond the reach") {
  Scripted detector;
  detector.may_begin = {{3, 7}};
  using enum periodicity::LoopEventKind;
  constexpr std::uint64_t kNow = 100'000;
  periodicity::LoopEvent event{.kind = kFound,
                               .level = 0,
                               .loop = 0,
                               .visit = 0,
                               .body_events = 1,
                               .position = kNow - detector.reach_events() + 1,
                               .iteration = 0,
                               .noted = 7};
  detector.events[kNow].push_back(event);
  event.kind = kIteration;
  detector.events[kNow].push_back(event);
  event.position = kNow;
  event.iteration = 1;
  event.noted = periodicity::kNotNoted;
  detector.events[kNow].push_back(event);
  Recorder recorder;
  IterationGate gate({.limit = 2}, detector, recorder);
  gate.start({0, 0});
  for (std::uint64_t i = 0; i != kNow + 1; ++i)
    gate.on_symbol(
        {.symbol = 1, .ticks = 100 * i, .epoch = i + 1, .depth = 0, .at_epoch = true});
  REQUIRE(recorder.iterations.size() == 2);
  CHECK(recorder.iterations[0].ticks == 300);
  CHECK(recorder.iterations[1].ticks == 100 * kNow);
  CHECK(recorder.counts[0].total_ticks == 100 * kNow - 300);
}

TEST_CASE(
    "IterationGate: limit - suspends after exactly N iterations, though detected later") {
  Stream stream({.limit = 5});
  const Recorder& out = stream.body("xyz").body("abcd", 100).end();
  // The loop begins at position 3; its iteration 5 at 3 + 5 * 4 = 23, epoch 24.
  REQUIRE(out.cuts == std::vector<Cut>{{true, 0, 24, CutReason::kIterations},
                                       {false, 0, 3 + 99 * 4 + 1, CutReason::kEnd}});
  REQUIRE(out.iterations.size() == 100);
  for (std::size_t k = 0; k < 100; ++k) {
    CHECK(out.iterations[k].number == k);
    CHECK(out.iterations[k].ticks == 100 * (3 + 4 * k));
  }
  REQUIRE(out.left.size() == 1);
  CHECK(out.left[0].number == 100);
  CHECK(out.left[0].ticks == 100 * 402 + 60);
}

TEST_CASE(
    "IterationGate: limit - suspends when the iteration begins, if detected earlier") {
  Stream stream({.limit = 20});
  CHECK(stream.body("abcd", 19).so_far().cuts.empty());
  stream.body("abcd", 2);
  CHECK(stream.so_far().cuts == std::vector<Cut>{{true, 0, 81, CutReason::kIterations}});
}

TEST_CASE("IterationGate: limit - zero never suspends") {
  Stream stream({.limit = 0});
  const Recorder& out = stream.body("abcd", 500).body("q").end();
  CHECK(out.cuts.empty());
  CHECK(out.iterations.size() == 500);
}

TEST_CASE("IterationGate: break - resumes with the iteration before") {
  SECTION("at the end of an iteration") {
    Stream stream({.limit = 5});
    stream.body("abcd", 100).body("q");
    const auto& cuts = stream.so_far().cuts;
    REQUIRE(cuts.size() == 2);
    CHECK(cuts[1] == Cut{false, 0, 99 * 4 + 1, CutReason::kBreak});
  }
  SECTION("inside an iteration") {
    Stream stream({.limit = 5});
    stream.body("abcd", 100).body("abq");
    const auto& cuts = stream.so_far().cuts;
    REQUIRE(cuts.size() == 2);
    CHECK(cuts[1] == Cut{false, 0, 99 * 4 + 1, CutReason::kBreak});
    CHECK(stream.so_far().left.at(0).number == 100);
  }
}

TEST_CASE("IterationGate: the end of the program - its last iteration is written, whole") {
  Stream stream({.limit = 5});
  std::string last;
  SECTION("that is over") {}
  SECTION("with a part of one after it") { last = GENERATE("a", "ab", "abc"); }
  const auto& cuts = stream.body("abcd", 100).body(last).end().cuts;
  REQUIRE(cuts.size() == 2);
  CHECK(cuts[1] == Cut{false, 0, 99 * 4 + 1, CutReason::kEnd});
}

TEST_CASE("IterationGate: the end of the program - nothing paused is written") {
  Stream stream({.limit = 5, .until_ticks = 100 * 300});
  CHECK(stream.body("abcd", 100).end().cuts.size() == 1);
}

TEST_CASE("IterationGate: min_gap - a shorter gap is not made") {
  Stream stream({.limit = 5, .min_gap_ticks = 100 * 4 * 20});
  stream.body("abcd", 20).body("q");
  const auto& cuts = stream.so_far().cuts;
  CHECK(cuts.empty());
  stream.body("abcd", 50).body("q");
  REQUIRE(cuts.size() == 2);
  // Twenty iterations have been written: of a further visit it is the first one.
  CHECK(cuts[0].epoch == 81 + 1 * 4 + 1);
  CHECK(cuts[1].reason == CutReason::kBreak);
}

TEST_CASE("IterationGate: min_gap - applies at the end of the program, too") {
  Stream stream({.limit = 5, .min_gap_ticks = 100 * 4 * 20});
  // Six to twenty-five; the last one is written.
  SECTION("long enough") { CHECK(stream.body("abcd", 26).end().cuts.size() == 2); }
  SECTION("too short") { CHECK(stream.body("abcd", 25).end().cuts.empty()); }
}

TEST_CASE("IterationGate: keep_from - reports where a break would resume") {
  Stream stream({.limit = 5});
  stream.body("abcd", 100).body("a");
  // Iteration 100 began; the one before it at position 396.
  CHECK(stream.so_far().keep == 397);
}

TEST_CASE(
    "IterationGate: visits - a body seen N times is skipped from its first iteration") {
  const Nested nested = GENERATE(Nested::kFirst, Nested::kEach);
  Stream stream({.limit = 2, .nested = nested});
  std::vector<std::size_t> cuts_after;
  for (int visit = 0; visit < 4; ++visit) {
    stream.body("abcd", 50).body(std::string(1, static_cast<char>('p' + visit)));
    cuts_after.push_back(stream.so_far().cuts.size());
  }
  REQUIRE(cuts_after == std::vector<std::size_t>{2, 4, 6, 8});
  const auto first = [](int visit) { return static_cast<std::uint64_t>(visit) * 201; };
  const auto& cuts = stream.so_far().cuts;
  CHECK(cuts[0].epoch == first(0) + 2 * 4 + 1);
  CHECK(cuts[2].epoch == first(1) + (nested == Nested::kEach ? 2 : 1) * 4 + 1);
  CHECK(cuts[4].epoch == first(2) + 1);
  CHECK(cuts[6].epoch == first(3) + 1);
}

TEST_CASE("IterationGate: cuts - lie at epochs, so that written iterations are whole") {
  // Only the first symbol of each body is at an epoch; the loop begins at "b".
  Stream stream({.limit = 5});
  stream.body("zzb", 1, false);
  stream.body("abcd", 0, false);
  for (int k = 0; k < 100; ++k) stream.body("cdab", 1, false);
  const auto& cuts = stream.so_far().cuts;
  REQUIRE(cuts.size() == 1);
  // Iterations are c d a b from position 3 on and begin at epochs; the fifth ends at 23.
  CHECK(cuts[0].epoch == 24);
}

TEST_CASE(
    "IterationGate: window - nothing is written before it opens and after it closes") {
  Stream stream({.limit = 3, .from_ticks = 100 * 100, .until_ticks = 100 * 300});
  const Recorder& out = stream.body("abcd", 100).end();
  REQUIRE(out.cuts.size() == 3);
  CHECK(out.cuts[0] == Cut{true, 0, 0, CutReason::kWindow});
  CHECK(out.cuts[1] == Cut{false, 0, 101, CutReason::kWindow});
  // Three iterations from there, then skipped; closing finds it skipped already.
  CHECK(out.cuts[2] == Cut{true, 1, 101 + 3 * 4, CutReason::kIterations});
  CHECK(out.iterations.size() == 100);
}

TEST_CASE("IterationGate: window - opens and closes where no symbol comes") {
  Stream stream({.limit = 0, .from_ticks = 1000, .until_ticks = 2000});
  IterationGate& gate = stream.gate();
  CHECK(gate.next_window_ticks() == 1000);
  gate.pass_window({7, 999});
  gate.pass_window({8, 1000});
  CHECK(gate.next_window_ticks() == 2000);
  gate.pass_window({9, 2500});
  gate.pass_window({10, 2600});
  CHECK(stream.so_far().cuts == std::vector<Cut>{{true, 0, 0, CutReason::kWindow},
                                                 {false, 0, 8, CutReason::kWindow},
                                                 {true, 1, 9, CutReason::kWindow}});
}

TEST_CASE("IterationGate: overdue - a skipped iteration takes four times as long") {
  Stream stream({.limit = 5});
  CHECK_FALSE(stream.gate().overdue(1 << 20));
  stream.body("abcd", 4);
  CHECK_FALSE(stream.gate().overdue(1 << 20));  // it is written
  stream.body("abcd", 96);
  const std::uint64_t begin = 100 * (stream.position() - 4);
  CHECK_FALSE(stream.gate().overdue(begin + 4 * 400));
  CHECK(stream.gate().overdue(begin + 4 * 400 + 1));
  // Nor does it help that the one before was slow: the median counts.
  const std::uint64_t after = stream.wait(100'000).body("abcd").now() - 400;
  CHECK(stream.gate().overdue(after + 4 * 400 + 1));
  stream.body("q");
  CHECK_FALSE(stream.gate().overdue(1 << 20));
}

TEST_CASE("IterationGate: limit of space - suspends for good") {
  Stream stream({.limit = 0});
  stream.body("abcdefgh");
  stream.gate().limit_reached({9, 800});
  stream.body("ababababab", 20).body("q");
  REQUIRE(stream.so_far().cuts == std::vector<Cut>{{true, 0, 9, CutReason::kLimit}});
}

TEST_CASE("IterationGate: marks=summary - skipped iterations are summed up") {
  Stream stream({.limit = 5, .marks_summary = true});
  const Recorder& out = stream.body("abcd", 100).body("q").end();
  REQUIRE(out.skipped.size() == 1);
  const SkippedIterations& skipped = out.skipped[0];
  CHECK(out.iterations.size() + skipped.count == 100);
  CHECK(skipped.least_ticks == 360);  // the last, which ends with its last event
  CHECK(skipped.greatest_ticks == 400);
  CHECK(skipped.total_ticks == skipped.count * 400 - 40);
}

}  // namespace refrain::filters::iteration_gate_test
