// The nested detector on synthetic programs that do not simply repeat, on orders that are
// no loops, and on anything at all.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "filters/nested_policy.h"
#include "periodicity/nested/nested_detector.h"
#include "test/support/loop_nest.h"
#include "test/support/loop_record.h"
#include "test/support/program_streams.h"
#include "test/support/streams.h"
#include "test/support/visit_nesting.h"

namespace {
std::size_t allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace refrain::periodicity::nested_detector_programs_test {
namespace {

using test::LoopRecord;
using test::Stream;

LoopRecord run(const Stream& stream, const NestedSettings& settings = {}) {
  NestedDetector detector(settings);
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

struct Shares {
  double once = 0;
  double each = 0;
};

Shares mean_shares(const std::string& kind, const NestedSettings& settings = {}) {
  constexpr int kSeeds = 10;
  Shares sum;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto program = test::program_stream(kind, seed);
    const auto record = run(program.symbols, settings);
    sum.once += skipped_share(record, filters::Nested::kOnce, program.symbols.size());
    sum.each += skipped_share(record, filters::Nested::kEach, program.symbols.size());
  }
  return {sum.once / kSeeds, sum.each / kSeeds};
}

// What is skipped of each kind, in percent with once and each, a little below what was
// measured when this was written (docs/lab/nested-detection.md).
TEST_CASE("NestedDetector: programs - share skipped of each kind of irregular program") {
  const std::map<std::string, std::pair<int, int>> least{
      {"adaptive blocks", {94, 78}}, {"adaptive levels", {92, 60}},
      {"subcycling", {80, 38}},      {"newton", {93, 84}},
      {"short solver", {95, 94}},    {"growing inner", {82, 62}},
      {"any order of 2", {94, 92}},  {"any order of 3", {74, 68}},
      {"any order of 4", {93, 93}},  {"any order of 6", {97, 97}},
      {"swaps", {83, 81}},           {"master worker", {87, 72}},
      {"every so often", {85, 60}},  {"by chance 3 %", {93, 72}},
      {"by chance 20 %", {94, 86}},  {"by chance 50 %", {94, 90}},
      {"rejected steps", {93, 78}},  {"alternating", {89, 89}},
      {"shared prefix", {78, 72}},   {"phases", {87, 55}},
      {"small counts", {95, 94}}};
  for (const auto& kind : test::program_kinds()) {
    INFO(kind);
    const Shares shares = mean_shares(kind);
    CHECK(100 * shares.once >= least.at(kind).first);
    CHECK(100 * shares.each >= least.at(kind).second);
  }
}

TEST_CASE("NestedDetector: irregular - what it adds") {
  for (const std::string kind : {"any order of 4", "any order of 6", "small counts"}) {
    INFO(kind);
    CHECK(mean_shares(kind, {.irregular = false}).once < mean_shares(kind).once - 0.3);
  }
}

// Head, an order of chance, tail: 1000 times, between a prologue and an epilogue.
TEST_CASE("NestedDetector: irregular - iterations are reported where they begin") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    INFO(seed);
    const auto program = test::program_stream("any order of 6", seed);
    const auto record = run(program.symbols);
    std::size_t right = 0;
    for (const auto& event : record.events) {
      if (event.kind != LoopEventKind::kIteration || event.level != 0) continue;
      right += std::binary_search(program.iterations.begin(), program.iterations.end(),
                                  event.position)
                   ? 1
                   : 0;
    }
    CHECK(right >= 990);
    CHECK(record.events.front().position == program.iterations.front());
    const auto& left = record.events.back();
    CHECK(left.kind == LoopEventKind::kLeft);
    CHECK(left.position == program.end);
  }
}

TEST_CASE("NestedDetector: irregular - a changed program is noticed at once") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    INFO(seed);
    auto program = test::program_stream("any order of 6", seed);
    const std::uint64_t change = program.iterations[700] + 2;
    program.symbols.insert(program.symbols.begin() + static_cast<std::ptrdiff_t>(change),
                           123456);
    const auto record = run(program.symbols);
    CHECK(std::any_of(record.events.begin(), record.events.end(), [&](const auto& event) {
      return event.kind == LoopEventKind::kMismatch && event.position == change;
    }));
    filters::SkippedIntervals intervals;
    filters::NestedPolicy policy({.limit = 10}, intervals);
    for (const auto& event : record.events) policy.on_loop_event(event);
    intervals.finish(program.symbols.size());
    for (const auto& skipped :
         intervals.intervals()) {  // the one before and the broken one
      const bool kept = skipped.end <= program.iterations[699] || skipped.begin > change;
      CHECK(kept);
    }
    CHECK(100 * intervals.skipped_events() > 90 * program.symbols.size());
  }
}

TEST_CASE("NestedDetector: irregular - gives way to a loop that repeats exactly") {
  auto program = test::program_stream("any order of 6", 3);
  auto& symbols = program.symbols;
  symbols.resize(program.end);
  const auto last = program.iterations[999];
  const Stream body(symbols.begin() + static_cast<std::ptrdiff_t>(last), symbols.end());
  for (int k = 0; k < 300; ++k) symbols.insert(symbols.end(), body.begin(), body.end());
  const auto record = run(symbols);
  CHECK(record.loops().size() >= 2);
  CHECK(record.events.back().iteration >= 200);
  CHECK(record.events.back().iteration < 302);
  CHECK(record.events.back().at_end);
}

TEST_CASE("NestedDetector: no loops - long random streams") {
  for (const std::uint64_t symbols : {2, 3, 4, 16, 64}) {
    for (std::uint64_t seed = 100; seed < 103; ++seed) {
      INFO(symbols << " symbols, seed " << seed);
      const auto stream = test::random_stream(300000, symbols, seed);
      const auto record = run(stream);
      CHECK(skipped_share(record, filters::Nested::kOnce, stream.size()) < 0.01);
      CHECK(skipped_share(record, filters::Nested::kEach, stream.size()) < 0.01);
    }
  }
}

// Rows of events in an order that never repeats three times: by the sum of the digits of
// their number, to the base k, modulo k.
TEST_CASE("NestedDetector: no loops - rows in Thue-Morse order") {
  for (const std::uint64_t base : {2, 3, 4, 5}) {
    for (const std::uint64_t size : {1, 2, 5, 20}) {
      for (const bool inner : {false, true}) {
        Stream stream;
        for (std::uint64_t number = 0; number < 10000; ++number) {
          std::uint64_t row = 0;
          for (auto digits = number; digits != 0; digits /= base) row += digits % base;
          row %= base;
          for (std::uint64_t k = 0; k < size + row; ++k) stream.push_back(100 * row + k);
          if (inner) stream.insert(stream.end(), 6, 100 * row + 99);
        }
        INFO("base " << base << ", rows of " << size << ", inner loops " << inner);
        const auto record = run(stream);
        CHECK(skipped_share(record, filters::Nested::kOnce, stream.size()) <
              (inner ? 0.75 : 0.05));
      }
    }
  }
}

TEST_CASE("NestedDetector: variants - what looking for them adds") {
  double with = 0;
  double without = 0;
  for (const std::string kind : {"any order of 2", "any order of 3", "by chance 50 %",
                                 "shared prefix", "master worker"}) {
    with += mean_shares(kind).each;
    without += mean_shares(kind, {.variants = false}).each;
  }
  CHECK(with > without + 0.05);
}

// A stream as of a fuzzer: nests, noise, programs, repeated pieces.
Stream anything(std::mt19937_64& random) {
  Stream stream;
  const auto& kinds = test::program_kinds();
  const std::size_t size = 2000 + random() % 6000;
  while (stream.size() < size) {
    Stream piece;
    switch (random() % 5) {
      case 0:
        piece = test::program_stream(kinds[random() % kinds.size()], random() % 50).symbols;
        break;
      case 1:
        piece = test::random_nest({.depth = static_cast<int>(1 + random() % 3),
                                   .trips = 8,
                                   .extras = random() % 2 == 0,
                                   .outer_trips = 10},
                                  random())
                    .symbols;
        break;
      case 2:
        piece = test::random_stream(500, 1 + random() % 8, random());
        break;
      case 3:
        piece = test::periodic_stream(500, test::random_stream(1 + random() % 60, 4, 1));
        break;
      default:
        if (stream.empty()) continue;
        const std::size_t from = random() % stream.size();
        const std::size_t to = std::min(stream.size(), from + random() % 600);
        piece.assign(stream.begin() + static_cast<std::ptrdiff_t>(from),
                     stream.begin() + static_cast<std::ptrdiff_t>(to));
    }
    if (piece.size() > 3000) piece.resize(3000);
    stream.insert(stream.end(), piece.begin(), piece.end());
  }
  if (random() % 2 == 0) return test::perturbed(stream, 5 + random() % 200, random());
  return stream;
}

NestedSettings any_settings(std::mt19937_64& random) {
  const auto any = [&](std::uint32_t least, std::uint32_t most) {
    return least << random() % std::bit_width(most / least);
  };
  NestedSettings settings;
  if (random() % 3 == 0) return settings;
  settings.history_tokens = any(16, 4096);
  settings.max_body_tokens = any(1, 1024);
  settings.max_bodies = any(1, 256);
  settings.max_items = any(16, 16384);
  settings.found_bits = any(1, 32);
  settings.recognised_bits = any(1, 16);
  settings.reach_events = any(1, 1 << 17);
  settings.irregular = random() % 4 != 0;
  settings.variants = random() % 4 != 0;
  return settings;
}

TEST_CASE("NestedDetector: fuzz - invariants on any stream with any settings") {
  std::mt19937_64 random(20261121);
  std::size_t events = 0;
  for (int round = 0; round < 150; ++round) {
    const Stream stream = anything(random);
    const NestedSettings settings = any_settings(random);
    INFO("round " << round);
    NestedDetector detector(settings);
    LoopRecord record;
    record.events.reserve(40 * stream.size() + 100000);
    bool in_reach = true;
    std::size_t most_reported = 0;
    const std::size_t before = allocations;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const std::size_t reported = record.events.size();
      detector.push(stream[i], static_cast<std::uint16_t>(random() % 3), record);
      most_reported = std::max(most_reported, record.events.size() - reported);
      for (std::size_t k = reported; k < record.events.size(); ++k) {
        in_reach &= record.events[k].position <= i &&
                    record.events[k].position + detector.reach_events() >= i;
      }
    }
    detector.finish(record);
    CHECK(allocations == before);
    CHECK(in_reach);
    CHECK(record.complaint(stream.size()) == "");
    CHECK(test::nesting_complaint(record) == "");
    CHECK(detector.position() == stream.size());
    CHECK(most_reported < 6000);
    events += record.events.size();
    for (const auto nested : {filters::Nested::kOnce, filters::Nested::kEach}) {
      filters::SkippedIntervals intervals;
      filters::NestedPolicy policy({.limit = random() % 12, .nested = nested}, intervals);
      for (const auto& event : record.events) policy.on_loop_event(event);
      intervals.finish(stream.size());
      bool ordered = true;
      std::uint64_t end = 0;
      for (const auto& skipped : intervals.intervals()) {
        ordered &= (skipped.begin >= end && skipped.begin < skipped.end);
        end = skipped.end;
      }
      CHECK(ordered);
      CHECK(end <= stream.size());
    }
  }
  CHECK(events > 50000);
}

// The nest found is the nest generated, or one that predicts the stream as well: as much
// is skipped as with knowledge of the source, except the iterations kept at breaks.
TEST_CASE("NestedDetector: random nests - as much is skipped as the truth allows") {
  std::size_t nests = 0;
  std::size_t good = 0;
  for (const bool vary : {false, true}) {
    for (int depth = 1; depth <= 3; ++depth) {
      for (std::uint64_t seed = 1000; seed < 1030; ++seed) {
        const auto truth = test::random_nest({.depth = depth,
                                              .trips = depth == 3 ? 10u : 25u,
                                              .trips_vary = vary,
                                              .outer_trips = 60},
                                             seed);
        const auto record = run(truth.symbols);
        const double events = static_cast<double>(truth.symbols.size());
        const double best =
            static_cast<double>(truth.iterations[58] - truth.iterations[10]) / events;
        const double skipped =
            skipped_share(record, filters::Nested::kOnce, truth.symbols.size());
        ++nests;
        good += skipped >= best - 0.02 ? 1 : 0;
        INFO("depth " << depth << " seed " << seed << " varying " << vary);
        CHECK(skipped >= 0.75 * best);
      }
    }
  }
  CHECK(nests == 180);
  CHECK(good >= 171);
}

}  // namespace
}  // namespace refrain::periodicity::nested_detector_programs_test
