#include "periodicity/nested/loop_reporter.h"

#include <array>
#include <catch2/catch.hpp>
#include <memory>

#include "test/support/loop_record.h"

namespace refrain::periodicity::loop_reporter_test {
namespace {

// A loop of three events, known to the store, that is not yet open.
class Reports {
 public:
  Reports() {
    TokenHistory history({.capacity = 64, .max_lag = 16, .enough_bits = 4});
    for (std::uint64_t k = 0; k != 12; ++k) history.append({.id = 1 + k % 3});
    body = bodies.find_or_add(history, 0, 3).body;
  }
  const LoopEvent& event(std::size_t index) const { return record.events.at(index); }

  ExpectedEvents events;
  BodyStore bodies{{.bodies = 16, .items = 64, .enough_bits = 4}};
  OpenLoops open{bodies, 16};
  std::uint32_t body = kNoBody;
  test::LoopRecord record;

 private:
  KeptEvents kept_{events.recent};
  std::unique_ptr<LoopReporter> reporter_ =
      std::make_unique<LoopReporter>(events, kept_, open, bodies, 100);

 public:
  LoopReporter& reporter = *reporter_;
};

TEST_CASE("LoopReporter: report_open - outermost first, as far as they have begun") {
  Reports reports;
  for (const bool begun : {true, true, false}) {
    OpenLoop& loop = reports.open.open(reports.body);
    loop.begun = begun;
    loop.first = 3 + reports.open.depth();
  }
  reports.events.position = 10;
  reports.reporter.report_open(reports.record);
  REQUIRE(reports.record.events.size() == 4);
  CHECK(reports.event(0).kind == LoopEventKind::kFound);
  CHECK(reports.event(0).level == 0);
  CHECK(reports.event(0).position == 4);
  CHECK(reports.event(0).parent == kNoLoop);
  CHECK(reports.event(1).kind == LoopEventKind::kIteration);
  CHECK(reports.event(2).kind == LoopEventKind::kFound);
  CHECK(reports.event(2).level == 1);
  CHECK(reports.event(2).visit == 1);
  CHECK(reports.event(2).parent == reports.bodies[reports.body].loop);
  CHECK_FALSE(reports.open[2].reported);
}

TEST_CASE("LoopReporter: reach - what began too long ago is not reported") {
  Reports reports;
  OpenLoop& loop = reports.open.open(reports.body);
  loop.begun = true;
  loop.first = 50;
  reports.events.position = 151;
  reports.reporter.report_open(reports.record);
  CHECK(reports.record.events.empty());
  reports.events.position = 150;
  reports.reporter.report_open(reports.record);
  CHECK(reports.record.events.size() == 2);
}

TEST_CASE("LoopReporter: reach - an end too long ago is moved into it") {
  Reports reports;
  OpenLoop& loop = reports.open.open(reports.body);
  reports.events.position = 10;
  reports.reporter.report_found(0, 5, 0, reports.record);
  loop.iterations = 3;
  reports.events.position = 500;
  reports.reporter.report_break({.id = 9, .position = 14}, 14, reports.record);
  CHECK(reports.record.events.back().kind == LoopEventKind::kLeft);
  CHECK(reports.record.events.back().position == 400);
}

TEST_CASE("LoopReporter: report_break - says how often the loop was left like that") {
  Reports reports;
  for (std::uint64_t k = 0; k != 3; ++k) {
    OpenLoop& loop = reports.open.open(reports.body);
    reports.events.position = 20 * k + 10;
    reports.reporter.report_found(0, 20 * k, 0, reports.record);
    loop.first = 20 * k;
    loop.begun = true;
    loop.iterations = 3;
    loop.item = 1;
    const Token breaking{.id = k == 1 ? 78u : 77u, .position = 20 * k + 10};
    reports.reporter.report_break(breaking, 20 * k + 9, reports.record);
    reports.open.close_innermost();
    const auto& events = reports.record.events;
    CHECK(events[events.size() - 2].kind == LoopEventKind::kMismatch);
    CHECK(events.back().kind == LoopEventKind::kLeft);
    CHECK(events.back().exit_count == (k == 2 ? 1 : 0));
    CHECK(events.back().left_so_at == (k == 2 ? 10 : 0));
  }
}

TEST_CASE("LoopReporter: visits - positions inside of reported ones are taken out") {
  Reports reports;
  reports.reporter.note_visit(10, 20);
  reports.reporter.note_visit(30, 40);
  std::array<std::uint64_t, 5> positions{50, 35, 30, 25, 15};
  REQUIRE(reports.reporter.take_out_reported(positions) == 3);
  CHECK(positions[0] == 50);
  CHECK(positions[1] == 30);
  CHECK(positions[2] == 25);
}

TEST_CASE("LoopReporter: end_stream - what is left then is marked so") {
  Reports reports;
  reports.open.open(reports.body);
  reports.reporter.report_found(0, 0, 0, reports.record);
  reports.reporter.end_stream();
  reports.events.position = 12;
  reports.reporter.report_end(12, reports.record);
  CHECK(reports.record.events.back().at_end);
  CHECK(reports.record.events.back().position == 12);
}

}  // namespace
}  // namespace refrain::periodicity::loop_reporter_test
