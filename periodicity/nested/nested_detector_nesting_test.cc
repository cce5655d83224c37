// What the nested detector reports nests: visits of loops are apart or one is within one
// iteration of the other, and no two visits of one loop overlap.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "periodicity/nested/nested_detector.h"
#include "test/support/little_memory.h"
#include "test/support/loop_nest.h"
#include "test/support/loop_record.h"
#include "test/support/program_streams.h"
#include "test/support/streams.h"
#include "test/support/visit_nesting.h"

namespace refrain::periodicity::nested_detector_nesting_test {
namespace {

using test::LoopRecord;
using test::Stream;

enum class Depths { kNone, kSome };

// The number of visits that were reported.
std::size_t check(const std::string& name, const Stream& stream, Depths depths) {
  INFO(name << (depths == Depths::kSome ? ", with depths" : ""));
  NestedDetector detector;
  LoopRecord record;
  for (const auto symbol : stream) {
    const auto depth = depths == Depths::kSome ? symbol * 7919 / 8 % 3 : 0;
    detector.push(symbol, static_cast<std::uint16_t>(depth), record);
  }
  detector.finish(record);
  REQUIRE(record.complaint(stream.size()) == "");
  CHECK(test::nesting_complaint(record) == "");
  return test::visits_of(record).size();
}

std::size_t check_both(const std::string& name, const Stream& stream) {
  return check(name, stream, Depths::kNone) + check(name, stream, Depths::kSome);
}

LoopEvent event(LoopEventKind kind, std::uint32_t loop, std::uint64_t position,
                std::uint64_t iteration) {
  return {.kind = kind,
          .level = 0,
          .loop = loop,
          .visit = 0,
          .body_events = 1,
          .position = position,
          .iteration = iteration};
}

// Iterations of `size` events.
void record_visit(LoopRecord& record, std::uint32_t loop, std::uint64_t begin,
                  std::uint64_t size, std::uint64_t iterations, bool broken = false) {
  record.events.push_back(event(LoopEventKind::kFound, loop, begin, 0));
  for (std::uint64_t k = 0; k != iterations + (broken ? 1 : 0); ++k)
    record.events.push_back(event(LoopEventKind::kIteration, loop, begin + k * size, k));
  record.events.push_back(event(LoopEventKind::kLeft, loop,
                                begin + iterations * size + (broken ? 1 : 0), iterations));
}

}  // namespace

TEST_CASE("Nesting: the check - finds what does not nest") {
  LoopRecord record;
  record_visit(record, 0, 10, 3, 4);
  SECTION("an outer loop reported later") {
    record_visit(record, 1, 4, 20, 3);
    CHECK(test::nesting_complaint(record) == "");
    REQUIRE(test::visits_of(record).size() == 2);
    CHECK(test::visits_of(record)[0].loop == 1);
  }
  SECTION("one that begins in it") {
    record_visit(record, 1, 19, 20, 3);
    CHECK(test::nesting_complaint(record) != "");
  }
  SECTION("one with two iterations around it") {
    record_visit(record, 1, 5, 10, 3);
    CHECK(test::nesting_complaint(record) != "");
  }
  SECTION("the same once more") {
    record_visit(record, 0, 13, 3, 1);
    CHECK(test::nesting_complaint(record) != "");
  }
  SECTION("one that begins in its broken iteration") {
    record_visit(record, 1, 40, 5, 2, true);
    record_visit(record, 2, 50, 7, 3);
    CHECK(test::nesting_complaint(record) == "");
  }
}

TEST_CASE("Nesting: streams of real programs") {
  std::size_t visits = 0;
  for (const auto& [name, symbols] : test::real_streams())
    visits += check_both(name, symbols);
  CHECK(visits > 10000);
}

TEST_CASE("Nesting: made-up programs") {
  std::size_t visits = 0;
  for (const auto& kind : test::program_kinds())
    for (std::uint64_t seed = 0; seed < 10; ++seed)
      visits += check_both(kind + " " + std::to_string(seed),
                           test::program_stream(kind, seed).symbols);
  CHECK(visits > 10000);
}

TEST_CASE("Nesting: random nests, also with perturbations") {
  std::size_t visits = 0;
  for (int depth = 1; depth <= 3; ++depth)
    for (const bool extras : {false, true})
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const auto stream = test::random_nest({.depth = depth,
                                               .trips = 8,
                                               .extras = extras,
                                               .outer_trips = depth == 3 ? 20u : 60u},
                                              seed)
                                .symbols;
        const std::string name =
            "depth " + std::to_string(depth) + " seed " + std::to_string(seed);
        visits += check_both(name, stream);
        visits += check_both(name + " perturbed", test::perturbed(stream, 50, seed));
      }
  CHECK(visits > 10000);
}

// A loop that goes on for longer than the detector's reach, in what looked like another iteration
// of two loops around it, which had in fact ended before.
TEST_CASE("Nesting: an end that is out of reach - after what was reported inside") {
  Stream stream;
  const auto add = [&stream](const char* symbols, int times) {
    for (; times != 0; --times)
      for (const char* symbol = symbols; *symbol != 0; ++symbol)
        stream.push_back(static_cast<Symbol>(*symbol));
  };
  for (int outer = 0; outer != 4; ++outer) {
    add("abcdefgh", 1);
    for (int middle = 0; middle != 3; ++middle) {
      add("pq", 1);
      add("wxyz", 10);
      add("rst", 1);
    }
  }
  add("abcdefghpq", 1);
  const std::uint64_t inner = stream.size();
  add("wxyz", 100);
  const std::uint64_t end = stream.size();
  add("pq", 1);
  NestedDetector detector(test::kLittleMemory);
  REQUIRE(end - inner > detector.reach_events());
  LoopRecord record;
  for (const Symbol symbol : stream) detector.push(symbol, 0, record);
  detector.finish(record);
  REQUIRE(record.complaint(stream.size()) == "");
  CHECK(test::nesting_complaint(record) == "");
  const std::vector<test::Visit> visits = test::visits_of(record);
  const bool seen =
      std::any_of(visits.begin(), visits.end(), [&](const test::Visit& visit) {
        return visit.begins.front() == inner && visit.end == end;
      });
  CHECK(seen);
}

TEST_CASE("Nesting: noise") {
  for (const std::uint64_t symbols : {2, 3, 4, 16})
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      check_both(std::to_string(symbols) + " symbols",
                 test::random_stream(50000, symbols, seed));
}

}  // namespace refrain::periodicity::nested_detector_nesting_test
