// NestedPolicy where an inner loop has messages but no collective.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "filters/nested_policy.h"

namespace refrain::filters::nested_policy_messages_test {
namespace {

using periodicity::LoopEventKind;
using Intervals = std::vector<SkippedIntervals::Interval>;

// Answers for every interval that other ranks may have run something else in it.
struct ApartSink : IntervalSink {
  void suspend(std::uint64_t position) noexcept override { intervals.suspend(position); }
  void resume(std::uint64_t position) noexcept override { intervals.resume(position); }
  bool apart(std::uint64_t begin, std::uint64_t end) const noexcept override {
    return is_apart && end > begin;
  }
  bool receives_open() const noexcept override { return open; }
  bool loops_agree() const noexcept override { return agree; }
  bool by_chance() const noexcept override { return chance; }
  SkippedIntervals intervals;
  bool agree = false;
  bool chance = false;
  bool is_apart = true;
  bool open = false;
};

// Written iterations of an inner loop: five visits, in iterations of 1000 events, with so many iterations of 10 each.
// `inside`: a loop in the first of them. `left`: the outer loop ends with the last of them.
std::vector<std::uint64_t> written_of(ApartSink& sink,
                                      const std::vector<std::uint64_t>& rounds,
                                      bool inside = false, std::uint64_t limit = 3,
                                      bool left = false) {
  NestedPolicy policy({.limit = limit, .nested = Nested::kFirst}, sink);
  const auto emit = [&](LoopEventKind kind, std::uint32_t loop, std::uint64_t position,
                        std::uint64_t iteration) {
    policy.on_loop_event({.kind = kind,
                          .level = static_cast<std::uint16_t>(loop - 1),
                          .loop = loop,
                          .visit = 0,
                          .body_events = 0,
                          .position = position,
                          .iteration = iteration});
  };
  std::vector<std::uint64_t> begins;
  emit(LoopEventKind::kFound, 1, 0, 0);
  // (The outer loop has one long iteration, so that all visits lie in a written one.)
  emit(LoopEventKind::kIteration, 1, 0, 0);
  for (std::uint64_t k = 0; k != rounds.size(); ++k) {
    emit(LoopEventKind::kFound, 2, 1000 * k + 100, 0);
    for (std::uint64_t i = 0; i != rounds[k]; ++i) {
      begins.push_back(1000 * k + 100 + 10 * i);
      emit(LoopEventKind::kIteration, 2, begins.back(), i);
      if (!inside || begins.size() != 1) continue;
      emit(LoopEventKind::kFound, 3, begins.back(), 0);
      emit(LoopEventKind::kIteration, 3, begins.back(), 0);
      emit(LoopEventKind::kLeft, 3, begins.back() + 10, 1);
    }
    emit(LoopEventKind::kLeft, 2, 1000 * k + 100 + 10 * rounds[k], rounds[k]);
  }
  if (left) emit(LoopEventKind::kLeft, 1, 1000 * rounds.size(), 1);
  sink.intervals.finish(1000 * rounds.size());
  std::vector<std::uint64_t> written(rounds.size());
  for (const std::uint64_t begin : begins) {
    bool skipped = false;
    for (const auto& gap : sink.intervals.intervals())
      skipped |= gap.begin <= begin && begin < gap.end;
    written[begin / 1000] += !skipped;
  }
  return written;
}

}  // namespace

TEST_CASE(
    "NestedPolicy: messages alone - an inner loop is skipped after three times the limit") {
  const auto nested = GENERATE(Nested::kEach, Nested::kFirst);
  ApartSink sink;
  NestedPolicy policy({.limit = 3, .nested = nested}, sink);
  const auto emit = [&](LoopEventKind kind, std::uint32_t loop, std::uint64_t position,
                        std::uint64_t iteration, std::uint16_t level) {
    policy.on_loop_event({.kind = kind,
                          .level = level,
                          .loop = loop,
                          .visit = 0,
                          .body_events = 0,
                          .position = position,
                          .iteration = iteration});
  };
  // Iterations of 1000 events; in each a visit of 20, in the third one of 50 iterations.
  emit(LoopEventKind::kFound, 1, 0, 0, 0);
  for (std::uint64_t k = 0; k < 6; ++k) {
    const std::uint64_t rounds = k == 2 ? 50 : 20;
    emit(LoopEventKind::kIteration, 1, 1000 * k, k, 0);
    emit(LoopEventKind::kFound, 2, 1000 * k + 100, 0, 1);
    for (std::uint64_t i = 0; i < rounds; ++i)
      emit(LoopEventKind::kIteration, 2, 1000 * k + 100 + 10 * i, i, 1);
    emit(LoopEventKind::kLeft, 2, 1000 * k + 100 + 10 * rounds, rounds, 1);
  }
  sink.intervals.finish(6000);
  CHECK(sink.intervals.intervals() ==
        Intervals{{190, 300}, {1190, 1300}, {2190, 2600}, {3000, 6000}});
}

TEST_CASE("NestedPolicy: messages alone - where ranks agree the limit counts in the run") {
  using Written = std::vector<std::uint64_t>;
  ApartSink each;
  CHECK(written_of(each, {4, 4, 4, 4, 4}) == Written{4, 4, 4, 4, 4});
  // Three times three, and none that is alone.
  ApartSink agreeing;
  agreeing.agree = true;
  CHECK(written_of(agreeing, {4, 4, 4, 4, 4}) == Written{4, 4, 1, 0, 0});
  // Visits that differ may differ from rank to rank.
  ApartSink uneven;
  uneven.agree = true;
  CHECK(written_of(uneven, {4, 5, 4, 4, 4}) == Written{4, 5, 4, 4, 4});
  // So may loops inside.
  ApartSink nest;
  nest.agree = true;
  CHECK(written_of(nest, {4, 4, 4, 4, 4}, true) == Written{4, 4, 4, 4, 4});
  ApartSink chance;
  chance.chance = true;
  CHECK(written_of(chance, {40}) == Written{30});
  ApartSink no_chance;
  CHECK(written_of(no_chance, {40}) == Written{9});
}

namespace {

// Events of nested loops, one at each level.
struct Emitter {
  NestedPolicy& policy;
  void operator()(LoopEventKind kind, std::uint16_t level, std::uint64_t position,
                  std::uint64_t iteration) const {
    policy.on_loop_event({.kind = kind,
                          .level = level,
                          .loop = level,
                          .visit = 0,
                          .body_events = 0,
                          .position = position,
                          .iteration = iteration});
  }
};

}  // namespace

TEST_CASE(
    "NestedPolicy: messages alone - something novel is written to the end of its visit") {
  ApartSink sink;
  sink.agree = GENERATE(true, false);
  sink.is_apart = GENERATE(true, false);
  NestedPolicy policy({.limit = 3, .nested = Nested::kFirst}, sink);
  const Emitter emit{policy};
  // In a long iteration ten visits of forty; what is novel comes with the first iteration of the last.
  emit(LoopEventKind::kFound, 0, 0, 0);
  emit(LoopEventKind::kIteration, 0, 0, 0);
  for (std::uint64_t k = 0; k != 10; ++k) {
    emit(LoopEventKind::kFound, 1, 1000 * k + 100, 0);
    for (std::uint64_t i = 0; i != 40; ++i) {
      emit(LoopEventKind::kIteration, 1, 1000 * k + 100 + 10 * i, i);
      if (k == 9 && i == 0) emit(LoopEventKind::kNovel, 1, 9101, 0);
    }
    emit(LoopEventKind::kLeft, 1, 1000 * k + 500, 40);
  }
  sink.intervals.finish(10000);
  // Where ranks may have other loops three times the limit are written in any case.
  const std::uint64_t written = sink.is_apart ? 9 : 1;
  REQUIRE(!sink.intervals.intervals().empty());
  CHECK(sink.intervals.intervals().back() ==
        SkippedIntervals::Interval{9100 + 10 * written, 9500});
}

namespace {

// A loop with a collective in each visit, whose iterations begin with open receives.
struct CrossingSink : ApartSink {
  CrossingSink() { agree = open = true, is_apart = false; }
};

}  // namespace

TEST_CASE("NestedPolicy: messages across iterations - whole visits are written") {
  using Written = std::vector<std::uint64_t>;
  CrossingSink crossing;
  CHECK(written_of(crossing, {4, 4, 4, 4, 4}) == Written{4, 0, 0, 0, 0});
  CrossingSink in_step;
  in_step.open = false;
  CHECK(written_of(in_step, {4, 4, 4, 4, 4}) == Written{3, 1, 1, 1, 0});
  // Where receives are posted, one after the other, nothing crosses.
  CrossingSink posting;
  posting.is_apart = true;
  CHECK(written_of(posting, {4, 4, 4, 4, 4}) == Written{4, 4, 1, 0, 0});
  CrossingSink long_visit;
  CHECK(written_of(long_visit, {40, 40}) == Written{9, 0});
  // Where the loop around ends, none is written alone; else the last one is.
  CrossingSink left;
  CHECK(written_of(left, {4, 4, 4, 4, 4}, false, 3, true) == Written{4, 0, 0, 0, 0});
  CrossingSink left_in_step;
  left_in_step.open = false;
  CHECK(written_of(left_in_step, {4, 4, 4, 4, 4}, false, 3, true) ==
        Written{3, 1, 1, 1, 1});
}

TEST_CASE(
    "NestedPolicy: messages across iterations - a few iterations more, as many visits") {
  for (const std::uint64_t rounds : {2, 3}) {
    CrossingSink sink;
    INFO(rounds);
    std::vector written(7, rounds);
    written[5] = written[6] = 0;
    CHECK(written_of(sink, std::vector(7, rounds), false, 8) == written);
  }
}

TEST_CASE("NestedPolicy: messages across iterations - also of a loop that may be inner") {
  CrossingSink sink;
  const bool may_be_inner = GENERATE(true, false);
  NestedPolicy policy({.limit = 3, .nested = Nested::kFirst}, sink);
  const auto emit = [&](LoopEventKind kind, std::uint64_t position,
                        std::uint64_t iteration) {
    policy.on_loop_event({.kind = kind,
                          .level = 0,
                          .loop = 1,
                          .visit = 0,
                          .body_events = 0,
                          .position = position,
                          .iteration = iteration,
                          .may_be_inner = may_be_inner,
                          .exit_count = 10});
  };
  emit(LoopEventKind::kFound, 0, 0);
  for (std::uint64_t k = 0; k != 6; ++k) emit(LoopEventKind::kIteration, 10 * k, k);
  emit(LoopEventKind::kLeft, 60, 6);
  sink.intervals.finish(100);
  CHECK(sink.intervals.intervals() == (may_be_inner ? Intervals{} : Intervals{{30, 60}}));
}

TEST_CASE(
    "NestedPolicy: messages across iterations - all that is in a whole visit is written") {
  CrossingSink sink;
  sink.open = GENERATE(true, false);
  NestedPolicy policy({.limit = 3, .nested = Nested::kFirst}, sink);
  const Emitter emit{policy};
  // In a long iteration a visit of six, in each of these one of twenty.
  emit(LoopEventKind::kFound, 0, 0, 0);
  emit(LoopEventKind::kIteration, 0, 0, 0);
  emit(LoopEventKind::kFound, 1, 100, 0);
  for (std::uint64_t i = 0; i != 6; ++i) {
    const std::uint64_t at = 100 * (i + 1);
    emit(LoopEventKind::kIteration, 1, at, i);
    emit(LoopEventKind::kFound, 2, at + 20, 0);
    for (std::uint64_t k = 0; k != 6; ++k)
      emit(LoopEventKind::kIteration, 2, at + 20 + 10 * k, k);
    emit(LoopEventKind::kLeft, 2, at + 80, 6);
  }
  emit(LoopEventKind::kLeft, 1, 700, 6);
  sink.intervals.finish(1000);
  // (In the first iteration it is not known yet.)
  const bool cut_later =
      std::any_of(sink.intervals.intervals().begin(), sink.intervals.intervals().end(),
                  [](const auto& gap) { return gap.end > 200; });
  CHECK(cut_later != sink.open);
}

TEST_CASE("NestedPolicy: messages alone - outside other loops N iterations a visit") {
  const auto nested = GENERATE(Nested::kFirst, Nested::kEach);
  ApartSink sink;
  NestedPolicy policy({.limit = 3, .nested = nested}, sink);
  const auto emit = [&](LoopEventKind kind, std::uint64_t position,
                        std::uint64_t iteration) {
    policy.on_loop_event({.kind = kind,
                          .level = 0,
                          .loop = 1,
                          .visit = 0,
                          .body_events = 0,
                          .position = position,
                          .iteration = iteration,
                          .at_end = kind == LoopEventKind::kLeft});
  };
  for (std::uint64_t visit = 0; visit < 5; ++visit) {
    emit(LoopEventKind::kFound, visit * 100, 0);
    for (std::uint64_t k = 0; k < 6; ++k)
      emit(LoopEventKind::kIteration, visit * 100 + 10 * k, k);
    emit(LoopEventKind::kLeft, visit * 100 + 60, 6);
  }
  sink.intervals.finish(500);
  CHECK(sink.intervals.intervals() ==
        Intervals{{30, 60}, {130, 160}, {230, 260}, {300, 360}, {400, 460}});
}

}  // namespace refrain::filters::nested_policy_messages_test
