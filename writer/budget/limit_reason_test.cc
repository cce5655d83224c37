#include "writer/budget/limit_reason.h"

#include <catch2/catch.hpp>

namespace refrain::writer::limit_reason_test {
namespace {

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

LimitFacts run(std::uint64_t visits, std::uint64_t iterations, double mean_ns) {
  LimitFacts facts{.limit = 10,
                   .events_seen = 1000,
                   .events_written = 900,
                   .duration_ns = 1.2 * mean_ns * static_cast<double>(iterations),
                   .min_gap_ns = 1e6,
                   .loops = {}};
  facts.loops.push_back({"init", 1, 3, 3, 0.01 * facts.duration_ns});
  facts.loops.push_back(
      {"main", visits, iterations, iterations, mean_ns * static_cast<double>(iterations)});
  return facts;
}

}  // namespace

TEST_CASE("LimitReason: no reason - little is written, or all was asked for") {
  LimitFacts facts = run(1, 12, 1e6);
  facts.events_written = 400;
  CHECK(limit_reason(facts).empty());
  facts = run(1, 12, 1e6);
  facts.limit = 0;
  CHECK(limit_reason(facts).empty());
}

TEST_CASE("LimitReason: few iterations - says the limit that would help") {
  const std::string reason = limit_reason(run(1, 12, 1e6));
  CHECK(has(reason, "12 iterations"));
  CHECK(has(reason, "-n 1 writes fewer"));
  CHECK(has(limit_reason(run(1, 20, 1e6)), "-n 2 writes fewer"));
  CHECK_FALSE(has(limit_reason(run(1, 21, 1e6)), "would keep"));
  // Fewer than the limit: all are kept.
  CHECK(has(limit_reason(run(1, 4, 1e6)), "4 iterations, all written"));
}

TEST_CASE("LimitReason: no loop - says how to name one") {
  LimitFacts facts = run(1, 12, 1e6);
  facts.loops.clear();
  CHECK(has(limit_reason(facts), "no loop was detected"));
  CHECK(has(limit_reason(facts), "REFRAIN_PHASE_BEGIN"));
}

TEST_CASE("LimitReason: much time elsewhere - says how much") {
  LimitFacts facts = run(1, 100, 1e6);
  facts.duration_ns *= 4;
  CHECK(has(limit_reason(facts), "of the time is outside the detected loops"));
}

TEST_CASE("LimitReason: short gaps - says the gap that would help") {
  const std::string reason = limit_reason(run(100, 600, 100e3));  // 0.5 ms a visit
  CHECK(has(reason, "at most 0.5 ms"));
  CHECK(has(reason, "at least 1 ms"));
  CHECK(has(reason, "--min-gap 250us"));
}

TEST_CASE("LimitReason: budget - says which limit keeps it, or that none does") {
  CHECK(budget_line("20 MB", 0, 5, 1000).empty());
  CHECK(budget_line("20 MB", 20'000'000, 0, 1000).empty());
  CHECK(budget_line("20 MB", 20'000'000, 37, 19'000'000) ==
        "the budget of 20 MB allows 37 iterations of each loop (-n 37)");
  CHECK(has(budget_line("300 kB", 300'000, 1, 700'000), "--marks summary"));
  CHECK(has(budget_line("300 kB", 300'000, 1, 700'000), "larger than the budget"));
}

TEST_CASE("LimitReason: breaks and slow iterations - says that they are written") {
  CHECK(has(limit_reason(run(1, 1000, 1e6)), "1000 of 1000 iterations of the main loop"));
}

}  // namespace refrain::writer::limit_reason_test
