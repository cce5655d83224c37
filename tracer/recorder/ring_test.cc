// The ring: what it keeps while writing is suspended, how it grows, what it reports as forgotten.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tracer/recorder/recorder_model.h"

namespace refrain::recorder::ring_test {
namespace {

std::uint64_t ring_class(Bench& bench) {
  return bench.recorder->header().ring_commit.load() & (spool::kRingForgot - 1);
}

TEST_CASE("ThreadRecorder: ring - grows for what is wanted, and not otherwise") {
  Bench bench;
  bench.epochs(2, 10);
  bench.suspend(2);
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
  SECTION("all since the suspend is wanted") {
    bench.board->set_keep_from(2);
    bench.epochs(100, 100);
    CHECK(spool::kRingFirst << ring_class(bench) == 16384);
    CHECK_FALSE(bench.read().ring().overflowed);
    bench.check();
  }
}

TEST_CASE("ThreadRecorder: ring - what it forgot is counted and reported") {
  Bench bench(2048);
  bench.epochs(2, 10);
  bench.suspend(2);
  bench.board->set_keep_from(2);
  bench.epochs(50, 100);
  bench.resume(2);
  CHECK(bench.lost(spool::kLossRingOverflow) > 0);
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

// One iteration is larger than the largest ring: what is missing is counted in events.
TEST_CASE("ThreadRecorder: ring - what it forgot is counted in events") {
  const std::uint64_t events = GENERATE(100u, 700u, 5000u);  // an epoch
  const bool no_cut = GENERATE(false, true);                 // in the end: one long region
  Bench bench(2048);
  bench.epochs(2, 10);
  bench.suspend(2);
  bench.board->set_keep_from(2);
  bench.epochs(50, events);
  if (no_cut) bench.events(3000);
  const std::uint64_t wanted = GENERATE(2u, 40u);
  bench.board->set_keep_from(wanted);
  bench.resume(wanted);
  std::uint64_t kept = 0;
  const std::vector<Record> log = log_of(bench.read());
  const auto resume = std::find_if(
      log.begin(), log.end(), [](const Record& r) { return r.kind == spool::kResume; });
  REQUIRE(resume != log.end());
  for (auto r = resume + 1; r != log.end(); ++r) kept += r->kind == spool::kFlush ? 1 : 0;
  // Epoch 2 has 10 events, all later ones up to 52 have `events`.
  const std::uint64_t all =
      (wanted == 2 ? 10 + 50 * events : 13 * events) + (no_cut ? 3000 : 0);
  const std::uint64_t lost = bench.lost(spool::kLossRingOverflow);
  CHECK(lost == all - kept);
}

// More cuts than it remembers: it does not take for kept what lies after one that it no longer knows.
TEST_CASE("ThreadRecorder: ring - what it forgot is reported, whichever cut is asked for") {
  const int wanted = GENERATE(range(3, 250));
  Bench bench(2048);
  bench.epochs(2, 20);
  bench.suspend(2);
  bench.board->set_keep_from(2);
  bench.epochs(300, 20);
  bench.resume(static_cast<std::uint64_t>(wanted));
  const std::vector<Record> log = log_of(bench.read());
  const auto resume = std::find_if(
      log.begin(), log.end(), [](const Record& r) { return r.kind == spool::kResume; });
  REQUIRE(resume != log.end());
  const auto cut = std::find_if(resume, log.end(), spool::is_cut);
  REQUIRE(cut != log.end());
  REQUIRE(cut->a48() > 200);  // the ring has no more
  CHECK(resume->payload == cut->a48());
  CHECK((bench.lost(spool::kLossRingOverflow) > 0) ==
        (cut->a48() > static_cast<std::uint64_t>(wanted)));
}

// The ring went round, and the first cut that it still has is the one that is asked for.
TEST_CASE("ThreadRecorder: ring - nothing is lost if the oldest cut is the wanted one") {
  Bench bench(2048);
  bench.epochs(2, 10);
  bench.suspend(2);
  bench.board->set_keep_from(3);
  bench.events(700);
  bench.sync();  // epoch 3
  while ((bench.recorder->header().ring_commit.load() >> 8) < 2048 + 500) bench.events(1);
  bench.resume(3);
  CHECK(bench.lost() == 0);
  bench.check();
}

// Decides while the ring goes on that all from epoch `resume` on is written, and from `suspend` on skipped.
class Decider final : public RingWatch {
 public:
  Decider(Bench& bench, std::uint64_t resume, std::uint64_t suspend)
      : bench_(bench), resume_(resume), suspend_(suspend) {
    bench.board->set_watch(this);
  }
  void ring_goes_on(ThreadRecorder& recorder, bool) noexcept override {
    if (decided_) return;
    decided_ = true;
    bench_.board->publish({bench_.gap, resume_, false});
    bench_.board->publish({++bench_.gap, suspend_, true});
    recorder.follow(*bench_.board);
    bench_.model.resume(bench_.gap - 1, resume_);
    if (suspend_ <= bench_.epoch) bench_.model.suspend(bench_.gap, suspend_);
  }
  bool decided() const noexcept { return decided_; }

 private:
  Bench& bench_;
  std::uint64_t resume_;
  std::uint64_t suspend_;
  bool decided_ = false;
};

TEST_CASE(
    "ThreadRecorder: ring - it is written and begun anew in the moment in which it goes on") {
  const std::uint64_t size = GENERATE(1024u, 8192u);
  const std::uint64_t behind = GENERATE(0u, 3u, 1000u);  // epochs that stay in the ring
  Bench bench(size);
  bench.epochs(2, 10);
  bench.suspend(2);
  bench.board->set_keep_from(2);
  Decider decider(bench, 40, 45 + behind);
  bench.epochs(44, 10);
  while (!decider.decided()) bench.epochs(1, 10);
  bench.check();
  bench.epochs(5, 10);
  bench.check();
  bench.epochs(300, 10);
  if (behind < 1000) bench.resume(bench.epoch - 5);
  bench.check();
}

// The ring has just gone round when one long iteration begins: what it began with is not
// overwritten before the ring looks whether it should grow.
TEST_CASE("ThreadRecorder: ring - one long iteration after it went round is kept") {
  Bench bench;
  bench.epochs(2, 10);
  bench.suspend(2);
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
  bench.suspend(2);
  bench.board->set_keep_from(2 + 25);
  bench.epochs(30, 50);  // epochs up to 32; wraps once
  REQUIRE(ring_class(bench) == 0);
  bench.events(2000);
  REQUIRE(ring_class(bench) > 0);
  const bool complete = GENERATE(true, false);
  bench.resume(complete ? 31 : 5);
  CHECK((bench.lost(spool::kLossRingOverflow) == 0) == complete);
  const std::vector<Record> log = log_of(bench.read());
  const auto resume = std::find_if(
      log.begin(), log.end(), [](const Record& r) { return r.kind == spool::kResume; });
  REQUIRE(resume != log.end());
  CHECK(resume[1].kind == spool::kSync);
  CHECK(resume->payload == resume[1].a48());
}

// A suspend from long ago: what lies before the iterations that a break can ask for need not go
// through the ring, which stays small.
TEST_CASE("ThreadRecorder: ring - a late suspend keeps what a break can ask for") {
  const bool inside = GENERATE(false, true);
  const bool lives = GENERATE(true, false);
  const std::uint64_t later = GENERATE(0u, 2u);  // than what is kept the break is
  Bench bench;
  bench.epochs(2, 10);
  if (inside) bench.begin();  // its end must be found, whatever the ring forgets
  bench.epochs(1000, 20);
  const std::uint64_t keep = bench.epoch - 3;
  bench.board->set_keep_from(keep);
  bench.suspend(inside ? 4 : 3);
  CHECK((ring_class(bench) == 0) == !inside);
  CHECK(bench.read().ring().overflowed == !inside);
  bench.check(true);
  if (!lives) return;  // killed
  bench.epochs(2, 20);
  bench.check(true);
  bench.resume(keep + later);
  CHECK(bench.lost() == 0);
  bench.check();
}

// A late thread has two decisions to follow: what the second asks for is not what is kept from now on.
TEST_CASE("ThreadRecorder: ring - a late thread keeps all for the next decision") {
  Bench bench;
  bench.epochs(2, 10);
  bench.epochs(1000, 20);
  bench.board->set_keep_from(500);
  bench.board->publish({++bench.gap, 3, true});
  bench.board->publish({bench.gap, 500, false});
  bench.board->set_keep_from(999);
  bench.board->publish({++bench.gap, 990, true});
  bench.recorder->follow(*bench.board);
  bench.model.suspend(bench.gap - 1, 3);
  {
    // As suspend() and resume() of the bench would have it.
    bench.model.resume(bench.gap - 1, 500);
    bench.model.suspend(bench.gap, 990);
  }
  CHECK(bench.lost() == 0);
  bench.check(true);
}

// Epochs of a thread that serves several teams may fall: then cuts are searched one by one.
TEST_CASE("ThreadRecorder: ring - a cut is found where epochs fell") {
  Bench bench;
  bench.epochs(300, 20);
  bench.epoch = 200;
  bench.epochs(300, 20);
  bench.suspend(210);
  // The nearest cut that has no earlier one after it, and the record of the suspend.
  const std::uint64_t before = (300 + 9) * 21;
  CHECK(log_of(bench.read()).size() == before + 1);
  bench.resume(495);
  CHECK(bench.lost() == 0);
  CHECK(log_of(bench.read()).size() == before + 2 + 6 * 21);
}

}  // namespace
}  // namespace refrain::recorder::ring_test
