// The nested detector where chance decides which messages come, in which order and how often.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "filters/nested_policy.h"
#include "periodicity/nested/nested_detector.h"
#include "test/support/chance.h"
#include "test/support/loop_record.h"
#include "test/support/streams.h"

namespace refrain::periodicity::nested_detector_messages_test {
namespace {

using test::Stream;

struct Answer {
  std::uint64_t iterations = 0;  // most of an outermost loop, in one visit
  double skipped = 0;            // with a limit of 10
  bool left_out = false;
};

Answer ask(const Stream& stream, bool messages = true, NestedSettings settings = {}) {
  settings.messages = messages;
  NestedDetector detector(settings);
  test::LoopRecord record;
  bool in_reach = true;
  for (std::size_t i = 0; i != stream.size(); ++i) {
    const std::size_t reported = record.events.size();
    detector.push(stream[i], 0, record);
    for (std::size_t k = reported; k != record.events.size(); ++k)
      in_reach &= record.events[k].position <= i &&
                  record.events[k].position + detector.reach_events() >= i;
  }
  detector.finish(record);
  CHECK(in_reach);
  CHECK(record.complaint(stream.size()) == "");
  Answer answer{.left_out = detector.messages_nondeterministic()};
  filters::SkippedIntervals intervals;
  filters::NestedPolicy policy({.limit = 10, .nested = filters::Nested::kOnce}, intervals);
  for (const auto& event : record.events) {
    policy.on_loop_event(event);
    if (event.level == 0 && event.kind == LoopEventKind::kLeft)
      answer.iterations = std::max(answer.iterations, event.iteration);
  }
  intervals.finish(stream.size());
  answer.skipped =
      static_cast<double>(intervals.skipped_events()) / static_cast<double>(stream.size());
  return answer;
}

constexpr std::uint64_t message(std::uint64_t number) { return kMessageSymbol | number; }

// Steps of collective calls, with messages between them in the order in which particles move.
Stream particles(std::uint64_t steps, double probability, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto happens = [&] {
    return static_cast<double>(random() >> 11) * 0x1p-53 < probability;
  };
  Stream stream{1, 2, 3};
  for (std::uint64_t step = 0; step != steps; ++step) {
    for (const std::uint64_t symbol : {10, 11, 12}) stream.push_back(symbol);
    for (std::uint64_t round = 5 + step % 4; round != 0; --round) {
      stream.push_back(20);
      for (std::uint64_t k = 0; k != 3; ++k) {
        stream.push_back(message(30 + k));
        while (happens()) stream.push_back(message(33 + random() % 3));
      }
      if (happens()) stream.push_back(message(40));
      stream.push_back(21);
    }
    stream.push_back(13);
  }
  stream.push_back(4);
  return stream;
}

TEST_CASE("NestedDetector: messages - in random order") {
  for (const double probability : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6})
    for (std::uint64_t rank = 0; rank != 4; ++rank) {
      INFO("probability " << probability << ", rank " << rank);
      const Answer answer = ask(particles(60, probability, rank));
      CHECK(answer.left_out);
      CHECK(answer.iterations == 60);
      CHECK(answer.skipped >= 0.75);
      CHECK(ask(particles(60, probability, rank), false).iterations != 60);
    }
}

TEST_CASE("NestedDetector: messages - that follow a rule are kept") {
  const Answer answer = ask(particles(60, 0, 1));
  CHECK_FALSE(answer.left_out);
  CHECK(answer.iterations == 60);
  for (const auto& [name, symbols] : test::streams_in("test/streams")) {
    INFO(name);
    Stream stream = symbols;
    const test::Chance some{test::ChanceKind::kOptional, 0};
    for (auto& symbol : stream)
      if (depends_on_timing(symbol, some)) symbol |= kMessageSymbol;
    const Answer with = ask(stream);
    const Answer without = ask(symbols, false);
    CHECK(with.iterations == without.iterations);
  }
}

// Recorded streams of which a third of the symbols are messages in random order: as many
// iterations as without chance, one more or less.
TEST_CASE("NestedDetector: messages - chance in recorded streams") {
  for (const auto kind : {test::ChanceKind::kOptional, test::ChanceKind::kSwapped,
                          test::ChanceKind::kRepeated, test::ChanceKind::kMixed})
    for (const double probability : {0.1, 0.3, 0.5}) {
      int streams = 0;
      int right = 0;
      int right_otherwise = 0;
      for (const auto& [name, symbols] : test::streams_in("test/streams")) {
        if (symbols.size() < 1000 || symbols.size() > 60000) continue;
        const test::Chance chance{kind, probability, symbols.size() % 100, 1};
        Stream stream = with_chance(symbols, chance);
        const auto clean =
            static_cast<double>(ask(without_timing(symbols, chance), false).iterations);
        for (auto& symbol : stream)
          if (depends_on_timing(symbol, chance)) symbol |= kMessageSymbol;
        const auto near = [&](const Answer& answer) {
          return std::abs(static_cast<double>(answer.iterations) - clean) < 1.5 ? 1 : 0;
        };
        ++streams;
        right += near(ask(stream));
        right_otherwise += near(ask(stream, false));
      }
      INFO(text(kind) << " " << probability << ": " << right << " of " << streams
                      << ", if all counts " << right_otherwise);
      CHECK(right * 10 >= streams * 6);
      CHECK(right > right_otherwise);
    }
}

TEST_CASE("NestedDetector: messages - no loops in noise") {
  for (const std::uint64_t symbols : {2, 3, 4, 16, 64})
    for (std::uint64_t seed = 0; seed != 3; ++seed) {
      INFO(symbols << " symbols, seed " << seed);
      Stream stream = test::random_stream(50000, symbols, seed);
      for (auto& symbol : stream)
        if (symbol % 2 == 0) symbol |= kMessageSymbol;
      if (symbols > 3) CHECK(ask(stream).skipped < 0.05);
    }
}

TEST_CASE("NestedDetector: messages - any stream with little memory") {
  std::mt19937_64 random(7);
  for (int round = 0; round != 200; ++round) {
    INFO("round " << round);
    Stream stream =
        particles(10 + random() % 60, 0.01 * static_cast<double>(random() % 70), random());
    if (round % 2 == 0) stream = test::perturbed(stream, 20 + random() % 200, random());
    ask(stream, true,
        {.history_tokens = 64u << random() % 4,
         .max_body_tokens = 16u << random() % 4,
         .max_bodies = 16,
         .max_items = 256,
         .reach_events = 64 + random() % 500,
         .irregular = round % 3 != 0});
  }
}

}  // namespace
}  // namespace refrain::periodicity::nested_detector_messages_test
