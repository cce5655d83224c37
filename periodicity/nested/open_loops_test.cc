#include "periodicity/nested/open_loops.h"

#include <catch2/catch.hpp>
#include <vector>

namespace refrain::periodicity::open_loops_test {
namespace {

// Bodies 0: events 1 2 3; and 1: event 8, a visit of body 0, event 9.
class Bodies {
 public:
  Bodies() {
    for (std::uint64_t k = 0; k != 12; ++k) append({.id = 1 + k % 3});
    inner_ = store.find_or_add(history_, 0, 3).body;
    history_.clear();
    const std::uint64_t begin = history_.end();
    for (int k = 0; k != 4; ++k) {
      append({.id = 8});
      append(visit(0, 6));
      append({.id = 9});
    }
    outer_ = store.find_or_add(history_, begin, 3).body;
  }
  std::uint32_t inner() const { return inner_; }
  std::uint32_t outer() const { return outer_; }
  Token visit(std::uint64_t position, std::uint64_t events) const {
    return {.id = loop_token_id(store[inner_].loop),
            .position = position,
            .events = events,
            .body = inner_};
  }

  BodyStore store{{.bodies = 16, .items = 64, .enough_bits = 4}};

 private:
  void append(const Token& token) { history_.append(token); }

  TokenHistory history_{{.capacity = 64, .max_lag = 16, .enough_bits = 4}};
  std::uint32_t inner_ = kNoBody;
  std::uint32_t outer_ = kNoBody;
};

TEST_CASE("OpenLoops: stack - opened and closed from the innermost outwards") {
  const Bodies bodies;
  REQUIRE(bodies.inner() != kNoBody);
  REQUIRE(bodies.outer() != kNoBody);
  OpenLoops open(bodies.store, 16);
  CHECK(open.empty());
  open.open(bodies.outer());
  open.open(bodies.inner());
  CHECK(open.depth() == 2);
  CHECK(open.innermost().body == bodies.inner());
  CHECK(open[0].body == bodies.outer());
  open.close_innermost();
  CHECK(open.innermost().body == bodies.outer());
  while (!open.full()) open.open(bodies.inner());
  CHECK(open.depth() == OpenLoops::kMax);
}

TEST_CASE("OpenLoops: iteration - its end forgets its items") {
  const Bodies bodies;
  OpenLoops open(bodies.store, 16);
  OpenLoop& loop = open.open(bodies.outer());
  loop.begun = true;
  const Token inner = bodies.visit(1, 6);
  open.advance(loop, nullptr);
  open.advance(loop, &inner);
  CHECK(loop.item == 2);
  open.end_iteration(loop);
  CHECK(loop.item == 0);
  CHECK(loop.iterations == 1);
  CHECK_FALSE(loop.begun);
  CHECK(open.open(bodies.inner()).inner_base == 0);
}

TEST_CASE("OpenLoops: report_after - an inner loop is reported when it is whole") {
  const Bodies bodies;
  OpenLoops open(bodies.store, 16);
  const OpenLoop& outer = open.open(bodies.outer());
  CHECK(open.report_after(outer) == 3);
  open.open(bodies.inner());
  CHECK(open.report_after(open.innermost()) == 3);
}

TEST_CASE("OpenLoops: put_back - what there is of an iteration is read again") {
  const Bodies bodies;
  RecentEvents recent;
  KeptEvents kept(recent);
  OpenLoops open(bodies.store, 16);
  OpenLoop& loop = open.open(bodies.outer());
  const Token inner = bodies.visit(21, 6);
  open.advance(loop, nullptr);
  open.advance(loop, &inner);
  SECTION("all events are kept: they are in a row") {
    TokenDeque pending(16);
    open.put_back(loop, 27, kept, pending);
    REQUIRE(pending.size() == 2);
    const Token first = pending.pop_front();
    CHECK(first.id == 8);
    CHECK(first.position == 20);
    CHECK(first.body == kNoBody);
    CHECK(pending.front().body == bodies.inner());
    CHECK(pending.front().position == 21);
    CHECK(pending.front().events == 6);
  }
  SECTION("messages are left out: positions are looked up") {
    for (std::uint64_t k = 0; k != 30; ++k) recent.note(k, kMessageSymbol | 5, 0);
    recent.note(18, 8, 0);
    kept.leave_out_messages();
    TokenDeque pending(16);
    open.put_back(loop, 29, kept, pending);
    REQUIRE(pending.size() == 2);
    CHECK(pending.pop_front().position == 18);
    CHECK(pending.front().position == 21);
  }
  SECTION("an inner loop without an event is left out") {
    open.end_iteration(loop);
    const Token nothing = bodies.visit(22, 0);
    open.advance(loop, nullptr);
    open.advance(loop, &nothing);
    TokenDeque pending(16);
    open.put_back(loop, 22, kept, pending);
    REQUIRE(pending.size() == 1);
    CHECK(pending.front().id == 8);
    CHECK(pending.front().position == 21);
  }
}

}  // namespace
}  // namespace refrain::periodicity::open_loops_test
