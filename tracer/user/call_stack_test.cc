#include <catch2/catch.hpp>
#include <memory>

#include "tracer/user/functions.h"

namespace refrain::user::call_stack_test {
namespace {

using Stack = CallStack<int>;

// As functions.cc does it.
struct Calls {
  std::unique_ptr<Stack> stack = std::make_unique<Stack>();

  void enter(std::uintptr_t function, std::uintptr_t frame, std::uintptr_t site) {
    while (stack->begin_ends_top(frame, site)) stack->pop();
    stack->push({function, frame, site, 0});
  }
  std::size_t leave(std::uintptr_t function, std::uintptr_t frame, std::uintptr_t site = 0,
                    bool tail = false) {
    const std::size_t ended = stack->ended_by(function, frame, site, tail);
    for (std::size_t i = 0; i < ended; ++i) stack->pop();
    return ended;
  }
};

}  // namespace

TEST_CASE("CallStack: calls - end in the order of their frames") {
  Calls calls;
  calls.enter(1, 1000, 11);
  calls.enter(2, 900, 12);
  calls.enter(3, 800, 13);
  CHECK(calls.leave(3, 800) == 1);
  CHECK(calls.leave(2, 900) == 1);
  calls.enter(2, 900, 14);
  CHECK(calls.leave(2, 900) == 1);
  CHECK(calls.leave(1, 1000) == 1);
  CHECK(calls.stack->empty());
}

TEST_CASE("CallStack: unwound frames - end when their caller ends, or calls again") {
  Calls calls;
  calls.enter(1, 1000, 11);
  calls.enter(2, 900, 12);
  calls.enter(3, 800, 13);
  CHECK(calls.leave(1, 1000) == 3);  // longjmp, then the end
  calls.enter(1, 1000, 11);
  calls.enter(2, 900, 12);
  calls.enter(3, 800, 13);
  calls.enter(4, 850, 14);  // called by 2: 3 is over
  CHECK(calls.stack->depth() == 3);
  calls.enter(5, 900, 15);  // called by 1, where 2 was
  CHECK(calls.stack->depth() == 2);
  CHECK(calls.leave(2, 900) == 0);  // it has ended
  CHECK(calls.leave(5, 900) == 1);
}

TEST_CASE("CallStack: inlined functions - share the frame and the call site") {
  Calls calls;
  calls.enter(1, 1000, 11);
  calls.enter(2, 1000, 11);
  calls.enter(3, 1000, 11);
  CHECK(calls.stack->depth() == 3);
  CHECK(calls.leave(3, 1000) == 1);
  CHECK(calls.leave(2, 1000) == 1);
  CHECK(calls.leave(1, 1000) == 1);
}

TEST_CASE("CallStack: recursion and alloca - the end lies lower than the begin") {
  Calls calls;
  calls.enter(1, 1000, 11);
  calls.enter(1, 900, 12);
  calls.enter(1, 800, 12);
  CHECK(calls.leave(1, 790) == 1);
  CHECK(calls.leave(1, 900) == 1);
  CHECK(calls.leave(1, 950) == 1);
  CHECK(calls.leave(1, 1000) == 0);
}

TEST_CASE("CallStack: a jump to the hook - ends the callee, not its caller") {
  Calls calls;
  calls.enter(1, 1000, 11);  // recursive: 1 calls 1 calls 1
  calls.enter(1, 900, 12);
  calls.enter(1, 800, 12);
  CHECK(calls.leave(1, 900, 12, true) == 1);
  CHECK(calls.leave(1, 1000, 12, true) == 1);
  CHECK(calls.leave(1, 1100, 11, true) == 1);
  // Out of the depths: its place follows from what is left.
  calls.enter(1, 1000, 11);
  calls.enter(2, 900, 12);
  calls.enter(2, 800, 13);
  calls.enter(2, 700, 13);
  CHECK(calls.leave(2, 900, 0, false) == 3);  // the outer 2, with its frame
  calls.enter(2, 900, 12);
  calls.enter(2, 800, 13);
  CHECK(calls.leave(2, 1000, 12, true) == 2);  // likewise, without
  CHECK(calls.leave(1, 1000) == 1);
}

TEST_CASE(
    "CallStack: too deep - what does not fit is left out, and later calls are followed again") {
  Calls calls;
  const std::uintptr_t top = 1 << 20;
  for (std::uintptr_t i = 0; i < Stack::kMax + 100; ++i) calls.enter(1, top - i * 16, 11);
  CHECK(calls.stack->depth() == Stack::kMax);
  for (std::uintptr_t i = Stack::kMax + 100; i-- > 0;)
    CHECK(calls.leave(1, top - i * 16) == (i < Stack::kMax ? 1 : 0));
  CHECK(calls.stack->empty());
  // The same with a jump out of the depths.
  for (std::uintptr_t i = 0; i < Stack::kMax + 100; ++i) calls.enter(1, top - i * 16, 11);
  CHECK(calls.leave(1, top - (Stack::kMax - 1) * 16) == 1);
  CHECK(calls.leave(1, top - (Stack::kMax - 2) * 16) == 1);
}

TEST_CASE("FunctionTable: the rule - many calls, and short ones") {
  static FunctionTable table;
  Function* function = table.find(0x1234);
  REQUIRE(function != nullptr);
  CHECK(table.find(0x1234) == function);
  CHECK(table.find(0x1235) != function);
  function->value.state.store(FunctionState::kRecorded);
  const OffRule rule{100, 50};
  CHECK_FALSE(FunctionTable::add(*function, 64, 64 * 10, rule));
  CHECK(FunctionTable::add(*function, 64, 64 * 10, rule));
  CHECK(function->value.state.load() == FunctionState::kOff);
  CHECK_FALSE(FunctionTable::add(*function, 64, 64 * 10, rule));  // reported once
  Function* slow = table.find(0x99);
  slow->value.state.store(FunctionState::kRecorded);
  CHECK_FALSE(FunctionTable::add(*slow, 1000, 1000 * 60, rule));
  CHECK_FALSE(FunctionTable::add(*slow, 100000, 100000 * 10, {0, 50}));
}

}  // namespace refrain::user::call_stack_test
