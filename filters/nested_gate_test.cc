// The gate with the nested detector: decides as the policy does, accounts for every iteration
// at every level, and keeps slow iterations.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>

#include "filters/gate_record.h"
#include "filters/iteration_gate.h"
#include "filters/nested_policy.h"
#include "periodicity/nested/nested_detector.h"
#include "test/support/loop_nest.h"
#include "test/support/streams.h"

namespace refrain::filters::nested_gate_test {
namespace {

using periodicity::NestedDetector;
using test::Stream;

// What the gate counts is what its marks and sums say.
void check_counts(const GateRecord& record) {
  for (const auto& [loop, sums] : record.loops) {
    INFO("loop " << loop);
    REQUIRE(record.counts.contains(loop));
    const LoopCounts& counts = record.counts.at(loop);
    CHECK(counts.iterations == sums.iterations);
    CHECK(counts.total_ticks == sums.ticks);
    if (sums.iterations == 0) continue;
    CHECK(counts.least_ticks == sums.least);
    CHECK(counts.greatest_ticks == sums.greatest);
  }
}

// Runs the gate over a stream; event i has epoch i + 1 and takes ticks[i].
GateRecord gated(const Stream& symbols, const std::vector<std::uint64_t>& ticks,
                 GatePolicy policy, bool finish = true,
                 Communication communication = Communication::kNone) {
  GateRecord record;
  NestedDetector detector;
  IterationGate gate(policy, detector, record);
  gate.start({0, 0});
  std::uint64_t now = 0;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    gate.on_symbol({symbols[i], now, i + 1, 0, true, communication});
    now += ticks.empty() ? 100 : ticks[i];
    gate.on_symbol_end(now - 10, 0);
  }
  if (finish) gate.finish(now);
  if (finish) check_counts(record);
  return record;
}

std::vector<std::uint64_t> random_ticks(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> ticks(size);
  for (auto& t : ticks) t = 100 + random() % 50;
  return ticks;
}

// What NestedPolicy alone skips of the stream, without its end, event by event. A resume in
// the past can bring back only what is in the present gap.
class SkippedByPolicy final : public IntervalSink {
 public:
  SkippedByPolicy(const Stream& symbols, NestedPolicySettings settings)
      : skipped_(symbols.size() + 1), gone_(symbols.size() + 1) {
    NestedPolicy policy(settings, *this);
    NestedDetector detector;
    for (const std::uint64_t symbol : symbols) {
      if (suspended_) skipped_[now_] = true;
      detector.push(symbol, 0, policy);
      policy.symbol_done();
      ++now_;
      const std::uint64_t given_up = suspended_ ? from_ : now_;
      for (std::uint64_t i = std::min(gone_to_, touched_); i < given_up; ++i)
        gone_[i] = gone_[i] || skipped_[i];
      gone_to_ = given_up;
      touched_ = given_up;
    }
  }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (std::uint64_t i = 0; i < now_; ++i) {
      if (!skipped_[i]) continue;
      if (all.empty() || all.back().second != i + 1) all.push_back({i + 1, i + 1});
      all.back().second = i + 2;
    }
    return all;
  }

  void suspend(std::uint64_t position) noexcept override {
    for (std::uint64_t i = position; i <= now_; ++i) skipped_[i] = true;
    touched_ = std::min(touched_, position);
    for (from_ = position; from_ > gone_to_ && skipped_[from_ - 1];) --from_;
    suspended_ = true;
  }
  void resume(std::uint64_t position) noexcept override {
    for (std::uint64_t i = position; i <= now_; ++i) skipped_[i] = gone_[i];
    suspended_ = false;
  }

 private:
  std::vector<bool> skipped_;
  std::vector<bool> gone_;  // skipped, and no longer kept
  std::uint64_t gone_to_ = 0;
  std::uint64_t touched_ = 0;  // from where on this event changed anything
  std::uint64_t now_ = 0;
  std::uint64_t from_ = 0;
  bool suspended_ = false;
};

// The first few places where they could differ.
std::string text(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& intervals) {
  std::string all;
  for (const auto& [from, to] : intervals)
    all += std::to_string(from) + "-" + std::to_string(to) + " ";
  return all;
}

std::string text(const std::map<std::uint32_t, GateRecord::Sums>& loops) {
  std::string all;
  for (const auto& [loop, s] : loops)
    all += "loop " + std::to_string(loop) + ": " + std::to_string(s.visits) + " visits, " +
           std::to_string(s.iterations) + " iterations, " + std::to_string(s.ticks) + ", " +
           std::to_string(s.least) + " to " + std::to_string(s.greatest) + "; ";
  return all;
}

std::vector<test::NamedStream> some_streams() {
  std::vector<test::NamedStream> all = test::real_streams();
  for (auto& [name, symbols] : all)
    if (symbols.size() > 40000) symbols.resize(40000);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const test::NestShape shape{.depth = 1 + static_cast<int>(seed % 3),
                                .extras = seed % 2 == 1,
                                .outer_trips = 40};
    const Stream stream = test::random_nest(shape, seed).symbols;
    all.push_back({"nest " + std::to_string(seed), stream});
    all.push_back({"perturbed nest", test::perturbed(stream, 500, seed)});
  }
  return all;
}

// A nest of two levels: outer × [s; 6 × [a b]; t], event times by the caller.
Stream two_levels(std::size_t outer, std::size_t inner = 6) {
  Stream stream;
  for (std::size_t k = 0; k < outer; ++k) {
    stream.push_back(1);
    for (std::size_t i = 0; i < inner; ++i) stream.insert(stream.end(), {2, 3});
    stream.push_back(4);
  }
  return stream;
}

}  // namespace

TEST_CASE("NestedGate: cuts - equal those of the policy alone") {
  for (const Nested nested : {Nested::kFirst, Nested::kEach, Nested::kOnce})
    for (const std::uint64_t limit : {1, 3, 10})
      for (const auto& [name, symbols] : some_streams()) {
        INFO(name << ", limit " << limit << ", " << word_of(nested));
        const SkippedByPolicy expected(symbols, {limit, nested});
        const GateRecord record =
            gated(symbols, {}, {.limit = limit, .nested = nested}, false);
        CHECK(text(record.skipped(symbols.size() + 1)) == text(expected.intervals()));
      }
}

TEST_CASE("NestedGate: marks - counts and durations equal those of the whole trace") {
  for (const auto& [name, symbols] : some_streams()) {
    const auto ticks = random_ticks(symbols.size(), 7);
    const GateRecord whole = gated(symbols, ticks, {.limit = 0});
    CHECK(whole.summed == 0);
    for (const Nested nested : {Nested::kFirst, Nested::kEach, Nested::kOnce})
      for (const bool summary : {false, true})
        for (const std::uint64_t waiting : {1 << 4, 1 << 14}) {
          INFO(name << ", " << word_of(nested) << (summary ? ", summary " : " ")
                    << waiting);
          const GateRecord record = gated(symbols, ticks,
                                          {.limit = 3,
                                           .nested = nested,
                                           .min_gap_ticks = 1000,
                                           .marks_summary = summary,
                                           .slow = {5, 0.01},
                                           .waiting_marks = waiting});
          CHECK(text(record.loops) == text(whole.loops));
        }
  }
}

TEST_CASE("NestedGate: marks - inner loops of skipped iterations are summed up") {
  const Stream stream = two_levels(200, 20);
  const GateRecord record = gated(stream, {}, {.limit = 5});
  REQUIRE(record.loops.size() == 2);
  CHECK(record.loops.at(1).iterations == 200);
  CHECK(record.loops.at(0).iterations == 4000);
  CHECK(record.numbers.at(1).size() == 200);
  // Of the first five and of the last.
  CHECK(record.numbers.at(0).size() == 6 * 20);
  CHECK(record.summed == 4000 - 120);
}

// A written iteration has the marks of its inner loops, whatever the reason for writing it: a
// gap would have been too short, at the end, at a break, between two slow iterations.
TEST_CASE("NestedGate: marks - inner loops of written iterations have theirs") {
  const std::size_t inner = 6;  // fewer than the limit
  const std::size_t size = 2 * inner + 2;
  const std::size_t outer = 400;
  Stream stream = two_levels(outer, inner);
  const bool breaks = GENERATE(false, true);
  if (breaks) stream.insert(stream.end(), {91, 92, 93, 94});
  // The distances of slow iterations are 2, 8 and many.
  const std::uint64_t min_gap = GENERATE(0, 5, 1000);
  auto ticks = random_ticks(stream.size(), 3);
  for (const std::size_t k : {60, 63, 150, 159, 300}) ticks[k * size + size - 1] += 90000;
  GatePolicy policy{.limit = 7, .nested = GENERATE(Nested::kFirst, Nested::kEach)};
  policy.slow = {5, 0.05};
  policy.min_gap_ticks = min_gap * size * 125;
  const Communication communication =
      GENERATE(Communication::kNone, Communication::kCollective);
  CAPTURE(breaks, min_gap);
  const GateRecord record = gated(stream, ticks, policy, true, communication);
  const auto skipped = record.skipped(stream.size() + 1);
  std::size_t written = 0;
  for (std::size_t k = 0; k < outer; ++k) {
    const std::size_t from = 1 + k * size;
    // A slow iteration of its inner loop that is written alone does not count.
    written += std::none_of(skipped.begin(), skipped.end(), [&](const auto& gap) {
      return gap.first <= from && from < gap.second;
    });
  }
  CHECK(skipped.empty() == (min_gap == 1000));
  CHECK(written >= (min_gap == 1000 ? outer : 10));
  const std::uint32_t loop = record.loops.at(0).iterations > outer ? 0 : 1;
  CHECK(record.numbers.at(loop).size() == written * inner);
  CHECK(record.loops.at(loop).iterations == outer * inner);
}

TEST_CASE("NestedGate: slow iterations - those made slow, and no others") {
  const std::size_t size = 14;
  Stream stream;
  for (std::size_t i = 0; i < 400 * size; ++i) stream.push_back(i % size);
  auto ticks = random_ticks(stream.size(), 3);
  const std::vector<std::uint64_t> slow = {60, 61, 150, 222, 399};
  for (const std::uint64_t k : slow) ticks[k * size + 13] += 5000;
  const GateRecord record = gated(stream, ticks, {.limit = 10, .slow = {5, 0.05}});
  std::vector<std::uint64_t> outer;
  for (const SlowIteration& one : record.slow) {
    CHECK(one.level == 0);
    CHECK(one.duration_ticks > 5000);
    outer.push_back(one.number);
  }
  // 399 is the last, and written as such.
  CHECK(outer == std::vector<std::uint64_t>{60, 61, 150, 222});
  const std::uint64_t first = 1;
  const auto skipped = record.skipped(stream.size() + 1);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {
      {first + 10 * size, first + 60 * size},
      {first + 62 * size, first + 150 * size},
      {first + 151 * size, first + 222 * size},
      {first + 223 * size, first + 399 * size}};
  CHECK(skipped == expected);
}

// Time taken by tracing is not the program's: directly, or by cold caches after it.
TEST_CASE("NestedGate: slow iterations - not because of time taken by tracing") {
  const std::size_t size = 14;
  Stream stream;
  for (std::size_t i = 0; i < 400 * size; ++i) stream.push_back(i % size);
  const auto ticks = random_ticks(stream.size(), 3);
  GateRecord record;
  NestedDetector detector;
  const GatePolicy policy{.limit = 10, .slow = {5, 0.05}};
  IterationGate gate(policy, detector, record);
  std::uint64_t now = 0;
  std::uint64_t own = 0;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    gate.on_symbol({stream[i], now, i + 1, 0, true, Communication::kNone, own});
    const std::uint64_t k = i % size == 13 ? i / size : 0;
    if (k == 60) now += 1000, own += 1000;  // less than an iteration takes
    if (k == 100) now += 90000, own += 90000;
    if (k == 101) now += 1000;  // caches
    if (k == 200) now += 5000 + 1000, own += 1000;
    if (k == 300) now += 90000 + 80000, own += 80000;
    now += ticks[i];
    gate.on_symbol_end(now - 10, 0);
  }
  std::vector<std::uint64_t> slow;
  for (const SlowIteration& one : record.slow) slow.push_back(one.number);
  CHECK(slow == std::vector<std::uint64_t>{200, 300});
  CHECK(record.slow.at(0).duration_ticks < 5000 + 150 * size);
}

// Two in a row have neighbours in common; the start of an iteration after a slow one must be
// kept until it is known whether it is needed.
TEST_CASE(
    "NestedGate: slow iterations - with communication, their neighbours are written, too") {
  const std::size_t size = 14;
  Stream stream;
  for (std::size_t i = 0; i < 400 * size; ++i) stream.push_back(i % size);
  auto ticks = random_ticks(stream.size(), 3);
  for (const std::uint64_t k : {60, 61, 150, 222}) ticks[k * size + 13] += 5000;
  const Communication communication =
      GENERATE(Communication::kMessage, Communication::kCollective);
  GatePolicy policy{.limit = 10, .slow = {5, 0.05}};
  policy.min_gap_ticks = GENERATE(0, 300);
  const GateRecord record = gated(stream, ticks, policy, true, communication);
  CHECK(record.slow.size() == 4);
  const std::uint64_t first = 1;
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {
      {first + 10 * size, first + 59 * size},
      {first + 63 * size, first + 149 * size},
      {first + 152 * size, first + 221 * size},
      {first + 224 * size, first + 399 * size}};
  CHECK(record.skipped(stream.size() + 1) == expected);
}

TEST_CASE(
    "NestedGate: slow iterations - with communication, the last of a visit has none after it") {
  // In each of the first ten steps the inner iterations from the tenth on are skipped. The
  // last of the fifth step is slow; no other visit of the loop ends there.
  Stream stream;
  std::vector<std::size_t> begins;
  for (std::size_t k = 0; k < 10; ++k) {
    begins.push_back(stream.size() + 1);
    stream.push_back(1);
    for (int i = 0; i < (k == 5 ? 30 : 40); ++i) stream.insert(stream.end(), {2, 3});
    stream.push_back(4);
  }
  auto ticks = random_ticks(stream.size(), 3);
  const std::size_t slow = begins[5] + 2 * 30 - 1;
  ticks[slow] += 20000;
  const GateRecord record =
      gated(stream, ticks, {.limit = 10, .nested = Nested::kEach, .slow = {20, 0.01}}, true,
            Communication::kCollective);
  REQUIRE(record.slow.size() == 1);
  CHECK(record.slow[0].number == 29);
  const auto skipped = record.skipped(stream.size() + 1);
  const auto is_skipped = [&](std::size_t step, std::size_t from, std::size_t to) {
    const std::pair<std::uint64_t, std::uint64_t> interval{begins[step] + 1 + 2 * from,
                                                           begins[step] + 1 + 2 * to};
    return std::find(skipped.begin(), skipped.end(), interval) != skipped.end();
  };
  CHECK(is_skipped(4, 10, 40));
  CHECK(is_skipped(5, 10, 28));
  CHECK(is_skipped(6, 10, 40));
}

TEST_CASE("NestedGate: slow iterations - with communication, not inside skipped ones") {
  const Stream stream = two_levels(300, 200);
  const std::size_t size = 402;
  auto ticks = random_ticks(stream.size(), 3);
  ticks[100 * size + 1 + 2 * 77] += 3000;
  const GatePolicy policy{.limit = 2, .slow = {20, 0.01}};
  CHECK(gated(stream, ticks, policy, true).slow.size() == 1);
  CHECK(gated(stream, ticks, policy, true, Communication::kCollective).slow.empty());
}

TEST_CASE("NestedGate: slow iterations - of an inner loop are written alone") {
  const Stream stream = two_levels(300, 200);
  const std::size_t size = 402;
  auto ticks = random_ticks(stream.size(), 3);
  // Much for two events, little for 402.
  const std::size_t at = 100 * size + 1 + 2 * 77;
  ticks[at] += 3000;
  const GateRecord record = gated(stream, ticks, {.limit = 2, .slow = {20, 0.01}});
  REQUIRE(record.slow.size() == 1);
  CHECK(record.slow[0].level == 1);
  CHECK(record.slow[0].number == 77);
  bool before = false;
  bool after = false;
  for (const auto& [from, to] : record.skipped(stream.size() + 1)) {
    before = before || to == at + 1;
    after = after || from == at + 3;
  }
  CHECK(before);
  CHECK(after);
  CHECK(record.loops.at(0).iterations == 300 * 200);
}

TEST_CASE("NestedGate: slow iterations - take at most their share") {
  const Stream stream = two_levels(4000);
  auto ticks = random_ticks(stream.size(), 3);
  std::mt19937_64 random(5);
  std::size_t made = 0;
  for (std::size_t k = 50; k < 4000; ++k)
    if (random() % 10 == 0) ticks[k * 14] += 9000, ++made;
  for (const double share : {0.0, 0.01, 0.05}) {
    const GateRecord record = gated(stream, ticks, {.limit = 5, .slow = {5, share}});
    std::uint64_t events = 0;
    for (const SlowIteration& one : record.slow)
      if (one.level == 0) events += one.end - one.begin;
    CHECK(events <= share * static_cast<double>(stream.size()) +
                        static_cast<double>(SlowIterations::kFree) * 14);
    if (share == 0) CHECK(record.slow.empty());
    if (share == 0.05) CHECK(events > 0.02 * static_cast<double>(stream.size()));
  }
  CHECK(made > 300);
}

TEST_CASE(
    "NestedGate: break - an inner loop of the last iterations has marks, skipped or too short") {
  // Ranks differ in what is too short for a gap, and must know the same visits nevertheless.
  const std::size_t steps = 40, inner = 20, size = 2 * inner + 2;
  Stream stream;
  for (std::size_t k = 0; k != steps; ++k) {
    stream.push_back(1);
    for (std::size_t i = 0; i != inner; ++i) stream.insert(stream.end(), {2, 3});
    stream.push_back(4);
  }
  stream.insert(stream.end(), {5, 6, 7});
  std::vector<std::uint64_t> ticks(stream.size(), 100);
  GatePolicy policy{.limit = 3, .nested = Nested::kOnce, .slow = {5, 0.0}};
  policy.min_gap_ticks = 1000;
  const GateRecord skipped = gated(stream, ticks, policy);
  for (std::size_t i = (steps - 2) * size; i != stream.size(); ++i) ticks[i] = 20;
  const GateRecord too_short = gated(stream, ticks, policy);
  const auto gaps = [&](const GateRecord& record) {
    return record.skipped(stream.size() + 1).size();
  };
  CHECK(gaps(skipped) > gaps(too_short));
  CHECK(skipped.numbers == too_short.numbers);
  CHECK(skipped.summed == too_short.summed);
}

TEST_CASE("NestedGate: limit - small loops are skipped after a few iterations") {
  Stream stream = {9, 8, 7};
  for (int k = 0; k < 30; ++k) stream.insert(stream.end(), {1, 2, 3, 4, 5});
  const GateRecord record = gated(stream, {}, {.limit = 2}, false);
  const auto skipped = record.skipped(stream.size() + 1);
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0].first == 3 + 2 * 5 + 1);
  CHECK(skipped[0].second == stream.size() + 1);
}

TEST_CASE("NestedGate: time window - counts begin when it opens") {
  const Stream stream = two_levels(100);
  const GateRecord record =
      gated(stream, {}, {.limit = 3, .from_ticks = 100 * 14 * 50}, false);
  const auto skipped = record.skipped(stream.size() + 1);
  REQUIRE(skipped.size() >= 2);
  CHECK(skipped[0].second == 50 * 14 + 1);
  CHECK(skipped.back().first == 53 * 14 + 1);
}

}  // namespace refrain::filters::nested_gate_test
