#include "periodicity/nested/irregular_visits.h"

#include <catch2/catch.hpp>
#include <memory>

#include "test/support/loop_record.h"
#include "test/support/streams.h"

namespace refrain::periodicity::irregular_visits_test {
namespace {

// Reads events none of which an exact loop explains.
class Visits {
 public:
  explicit Visits(bool enabled = true)
      : visits_(std::make_unique<IrregularVisits>(events_, bodies_, reporter_, enabled)) {}

  void read(const test::Stream& symbols) {
    for (const auto symbol : symbols) {
      events_.recent.note(events_.position, symbol, 0);
      read_one();
      ++events_.position;
    }
  }
  void finish() {
    reporter_.end_stream();
    visits_->finish(record);
  }
  IrregularVisits& visits() { return *visits_; }
  std::uint64_t position() const { return events_.position; }

  test::LoopRecord record;

 private:
  void read_one() {
    if (visits_->is_open() && visits_->follow(record)) return;
    if (!visits_->is_open() && visits_->active() && visits_->look()) {
      visits_->open(record);
      return;
    }
    visits_->unexplained(events_.position);
  }

  ExpectedEvents events_;
  BodyStore bodies_{{.bodies = 16, .items = 64, .enough_bits = 4}};
  OpenLoops open_{bodies_, 16};
  KeptEvents kept_{events_.recent};
  LoopReporter reporter_{events_, kept_, open_, bodies_, 1 << 14};
  std::unique_ptr<IrregularVisits> visits_;
};

// Iterations of ten events that are always the same and a row of one of eight kinds.
test::Stream iterations(std::size_t count) {
  test::Stream stream;
  for (const auto kind : test::random_stream(count, 8, 5)) {
    for (std::uint64_t k = 0; k < 10; ++k) stream.push_back(k);
    for (std::uint64_t k = 0; k < 10; ++k) stream.push_back(100 * (kind + 1) + k);
  }
  return stream;
}

TEST_CASE("IrregularVisits: visit - found, followed, and left with the end of the stream") {
  Visits visits;
  visits.read(iterations(500));
  CHECK(visits.visits().is_open());
  visits.finish();
  CHECK_FALSE(visits.record.events.empty());
  CHECK(visits.record.events.front().kind == LoopEventKind::kFound);
  CHECK(visits.record.events.back().kind == LoopEventKind::kLeft);
  CHECK(visits.record.events.back().at_end);
  CHECK(visits.record.events.back().iteration > 400);
  CHECK(visits.record.complaint(visits.position()) == "");
}

TEST_CASE("IrregularVisits: break - an event never seen leaves the loop") {
  Visits visits;
  visits.read(iterations(500));
  REQUIRE(visits.visits().is_open());
  const std::uint64_t broken = visits.position() + 2;
  visits.read({0, 1, 7777});
  CHECK_FALSE(visits.visits().is_open());
  const auto& events = visits.record.events;
  CHECK(events[events.size() - 2].kind == LoopEventKind::kMismatch);
  CHECK(events.back().kind == LoopEventKind::kLeft);
  CHECK(events.back().position == broken);
}

TEST_CASE("IrregularVisits: come back - a known loop is the same one, visited again") {
  Visits visits;
  visits.read(iterations(500));
  visits.read({0, 1, 7777, 7778, 7779});
  REQUIRE_FALSE(visits.visits().is_open());
  visits.read(iterations(20));
  CHECK(visits.visits().is_open());
  visits.finish();
  CHECK(visits.record.loops().size() == 1);
  CHECK(visits.record.loops().begin()->second.visits == 2);
}

TEST_CASE("IrregularVisits: none - when they are not enabled, or given up") {
  Visits disabled(false);
  disabled.read(iterations(500));
  CHECK(disabled.record.events.empty());
  Visits given_up;
  given_up.visits().give_up();
  given_up.read(iterations(500));
  CHECK(given_up.record.events.empty());
}

}  // namespace
}  // namespace refrain::periodicity::irregular_visits_test
