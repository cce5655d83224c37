// The ring: what it keeps while held, how it grows, what it says of what it forgot.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tracer/recorder/recorder_bench.h"

namespace refrain::recorder {
namespace {

std::uint64_t ring_class(Bench& bench) {
  return bench.recorder->header().ring_commit.load() & (spool::kRingForgot - 1);
}

TEST_CASE("ThreadRecorder: ring - grows for what is wanted, and not otherwise") {
  Bench bench;
  bench.epochs(2, 10);
  bench.hold(2);
  REQUIRE(ring_class(bench) == 0);
  SECTION("the latest iterations are short") {
    for (int i = 0; i < 200; ++i) {
      bench.board->set_keep_from(bench.epoch > 2 ? bench.epoch - 2 : 0);
      bench.epochs(1, 100);
    }
    CHECK(ring_class(bench) == 0);
    CHECK(bench.read().ring().overflowed);
    bench.check(true);
  }
  SECTION("all since the hold is wanted") {
    bench.board->set_keep_from(2);
    bench.epochs(100, 100);
    CHECK(spool::kRingFirst << ring_class(bench) == 16384);
    CHECK_FALSE(bench.read().ring().overflowed);
    bench.check();
  }
}

TEST_CASE("ThreadRecorder: ring - what it forgot is counted and said") {
  Bench bench(2048);
  bench.epochs(2, 10);
  bench.hold(2);
  bench.board->set_keep_from(2);
  bench.epochs(50, 100);
  bench.resume(2);
  CHECK(bench.lost(spool::kLossRingOverflow) == 1);
  const std::vector<Record> log = log_of(bench.read());
  const auto resume = std::find_if(
      log.begin(), log.end(), [](const Record& r) { return r.kind == spool::kResume; });
  REQUIRE(resume != log.end());
  REQUIRE(resume + 1 != log.end());
  CHECK(resume[1].kind == spool::kSync);
  CHECK(resume->payload == resume[1].a48());
  CHECK(resume->payload > 2);
  CHECK(log.back().ticks == bench.ticks);
}

// The ring has just gone round when one long iteration begins: what it began with is not
// overwritten before the ring looks whether it should grow.
TEST_CASE("ThreadRecorder: ring - one long iteration after it went round is kept") {
  Bench bench;
  bench.epochs(2, 10);
  bench.hold(2);
  bench.epochs(18, 50);  // up to epoch 20: more than half of the ring
  bench.board->set_keep_from(20);
  bench.epochs(4, 50);
  const auto records = [&] { return bench.recorder->header().ring_commit.load() >> 8; };
  while (records() < spool::kRingFirst + 10) bench.events(1);
  REQUIRE(ring_class(bench) == 0);
  const std::uint64_t keep = bench.epoch - 1;
  bench.board->set_keep_from(keep);
  bench.events(20000);
  CHECK(ring_class(bench) > 0);
  bench.resume(keep);
  CHECK(bench.lost(spool::kLossRingOverflow) == 0);
  bench.check(true);
}

// Short iterations let it go round; then long ones make it grow, and the count of its
// records begins anew. What was forgotten before stays forgotten.
TEST_CASE("ThreadRecorder: ring - it knows after growing what it forgot") {
  Bench bench;
  bench.epochs(2, 10);
  bench.hold(2);
  bench.board->set_keep_from(2 + 25);
  bench.epochs(30, 50);  // epochs up to 32; wraps once
  REQUIRE(ring_class(bench) == 0);
  bench.events(2000);
  REQUIRE(ring_class(bench) > 0);
  const bool complete = GENERATE(true, false);
  bench.resume(complete ? 31 : 5);
  CHECK(bench.lost(spool::kLossRingOverflow) == (complete ? 0 : 1));
  const std::vector<Record> log = log_of(bench.read());
  const auto resume = std::find_if(
      log.begin(), log.end(), [](const Record& r) { return r.kind == spool::kResume; });
  REQUIRE(resume != log.end());
  CHECK(resume[1].kind == spool::kSync);
  CHECK(resume->payload == resume[1].a48());
}

}  // namespace
}  // namespace refrain::recorder
