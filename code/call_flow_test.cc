#include "code/call_flow.h"

#include <dlfcn.h>
#include <setjmp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <vector>

namespace refrain::code::call_flow_test {
namespace {

using Trust = CallFlow::Trust;

// Where the calls are of which a function is made: return addresses by number.
std::map<int, std::uint64_t> seen;
volatile int three = 3;
volatile int sink = 0;

[[gnu::noinline, gnu::noclone]] void mark(int number) {
  seen[number] = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}
// Calls that stay calls, and apart from each other.
#define MARK(number) \
  do {               \
    mark(number);    \
    sink = number;   \
  } while (false)

std::vector<std::uint64_t> loops(CallFlow& flow, int number) {
  const auto found = flow.loops(seen.at(number));
  return {found.begin(), found.end()};
}
bool forward(CallFlow& flow, int from, int to) {
  return flow.forward(seen.at(from), seen.at(to));
}

#if defined(__x86_64__)
// Calls 60 and 61 in a row. The call between them, of a function of libstdc++ that throws, is followed by the first
// one: if it came back, there would be a loop.
extern "C" void refrain_ends_elsewhere();
extern "C" [[gnu::noinline]] void refrain_mark_at(int number) {
  seen[number] = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}
extern "C" {
volatile int refrain_never = 0;
}
asm(R"(
  .text
  .type refrain_ends_elsewhere, @function
refrain_ends_elsewhere:
  .cfi_startproc
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  jmp 2f
1: call __cxa_throw_bad_array_length@plt
2: mov $60, %edi
  call refrain_mark_at
  cmpl $0, refrain_never(%rip)
  jne 1b
  mov $61, %edi
  call refrain_mark_at
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size refrain_ends_elsewhere, .-refrain_ends_elsewhere
)");
#endif

[[gnu::noinline]] void nest() {
  MARK(0);
  for (int i = 0; i < three; ++i) {
    MARK(1);
    for (int j = 0; j < three; ++j) {
      MARK(2);
      if ((j + three) % 2 == 0)
        MARK(3);
      else
        MARK(4);
    }
    MARK(5);
  }
  MARK(6);
}

[[gnu::noinline]] void throwing(int i) {
  if (i % 2 != three) throw i;
}
[[gnu::noinline]] void catching() {
  for (int i = 0; i < three; ++i) {
    MARK(0);
    try {
      throwing(i);
    } catch (int caught) {
      MARK(1);
      sink = caught;
    }
  }
  MARK(2);
}

jmp_buf buffer;
[[gnu::noinline]] void jump(int i) {
  if (i < three) longjmp(buffer, i + 1);
}
[[gnu::noinline]] void jumping() {
  MARK(0);
  const int i = setjmp(buffer);
  MARK(1);
  jump(i);
  MARK(2);
}

}  // namespace

TEST_CASE("Call flow: a nest of loops - which are around, what comes after what") {
  CallFlow flow;
  nest();
  REQUIRE(flow.trust(seen[0]) == Trust::kWhole);
  const auto outer = loops(flow, 1);
  const auto inner = loops(flow, 2);
  REQUIRE(outer.size() == 1);
  REQUIRE(inner.size() == 2);
  CHECK(inner[0] == outer[0]);
  CHECK(loops(flow, 0).empty());
  CHECK(loops(flow, 6).empty());
  CHECK(loops(flow, 3) == inner);
  CHECK(loops(flow, 4) == inner);
  CHECK(loops(flow, 5) == outer);
  for (int number = 0; number <= 6; ++number) {
    CHECK(flow.function(seen[number]) == flow.function(seen[0]));
    CHECK_FALSE(forward(flow, number, number));
  }
  // Row: from.
  const std::vector<std::string> wanted{
      "0111111",  //
      "0011111",  // the outer one begins
      "0001111",  // the inner one begins; 3 and 4 exclude each other
      "0000011",  //
      "0000011",  //
      "0000001",  //
      "0000000",
  };
  for (int from = 0; from <= 6; ++from)
    for (int to = 0; to <= 6; ++to) {
      INFO(from << " to " << to);
      CHECK(forward(flow, from, to) == (wanted[from][to] == '1'));
    }
}

TEST_CASE("Call flow: an exception in a loop - its handler is in the loop") {
  CallFlow flow;
  catching();
  REQUIRE(loops(flow, 0).size() == 1);
  CHECK(loops(flow, 1) == loops(flow, 0));
  CHECK(loops(flow, 2).empty());
  CHECK(forward(flow, 0, 1));
  CHECK_FALSE(forward(flow, 1, 0));
}

#if defined(__x86_64__)
TEST_CASE("Call flow: a function of another library that never returns - no loop") {
  refrain_ends_elsewhere();
  CallFlow flow;
  CHECK(flow.trust(seen.at(60)) == Trust::kWhole);
  CHECK(loops(flow, 60).empty());
  CHECK(forward(flow, 60, 61));
  CHECK_FALSE(forward(flow, 61, 60));
}
#endif

TEST_CASE("Call flow: setjmp and longjmp - a loop") {
  CallFlow flow;
  jumping();
  CHECK(loops(flow, 0).empty());
  REQUIRE(loops(flow, 1).size() == 1);
  CHECK(forward(flow, 0, 1));
  CHECK(forward(flow, 1, 2));
  CHECK_FALSE(forward(flow, 2, 1));
  CHECK_FALSE(forward(flow, 2, 0));
}

TEST_CASE("Call flow: two functions, code that is not there, code that is left out") {
  CallFlow flow;
  nest();
  const std::uint64_t in_nest = seen[2];
  catching();
  CHECK_FALSE(flow.forward(in_nest, seen[0]));
  for (const std::uint64_t nowhere :
       {std::uint64_t{0}, std::uint64_t{1}, reinterpret_cast<std::uint64_t>(&seen)}) {
    CHECK(flow.loops(nowhere).empty());
    CHECK(flow.function(nowhere) == 0);
    CHECK(flow.trust(nowhere) == Trust::kNone);
    CHECK(flow.jumps(nowhere).empty());
    CHECK(flow.forward(nowhere, nowhere));
    CHECK(flow.forward(nowhere, in_nest));
  }
  // No call ends there.
  CHECK(flow.function(in_nest + 1) == flow.function(in_nest));
  CHECK(flow.trust(in_nest + 1) == Trust::kNone);
  CHECK_FALSE(flow.loops(in_nest).empty());
  flow.exclude(in_nest);
  CHECK(flow.loops(in_nest).empty());
  CHECK(flow.function(in_nest) != 0);
  CHECK(flow.forward(in_nest, in_nest));
  flow.refresh();
  CHECK(flow.loops(in_nest).empty());
}

TEST_CASE("Call flow: a library that is unloaded - forgotten") {
  CallFlow flow;
  // One of the C library's, which nobody else has open.
  void* const library = dlopen("/usr/lib/x86_64-linux-gnu/gconv/UTF-32.so", RTLD_LAZY);
  if (library == nullptr) return;
  const auto at = reinterpret_cast<std::uint64_t>(dlsym(library, "gconv"));
  REQUIRE(at != 0);
  CHECK(flow.function(at + 1) == at);
  REQUIRE(dlclose(library) == 0);
  flow.refresh();
  CHECK(flow.function(at + 1) == 0);
}

#if defined(__x86_64__)
// A part that was moved away in front of its function, with a loop over both; and calls at the end: direct, through a stub, through a slot,
// through a register. What is not reached from a call is not among its jumps.
asm(R"(
  .text
  .type flow_moved, @function
flow_moved:
  .cfi_startproc
  .cfi_def_cfa_offset 16
flow_moved_in:
  call flow_callee
flow_moved_call:
  jmp flow_whole_back
  .cfi_endproc
  .type flow_whole, @function
flow_whole:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
flow_whole_again:
  call flow_callee
flow_whole_call:
  jne flow_moved_in
flow_whole_back:
  jg flow_whole_again
  call flow_callee
flow_whole_after:
  pop %rbx
  .cfi_adjust_cfa_offset -8
  je flow_callee
  jmp rand@PLT
  .cfi_endproc
  .type flow_callee, @function
flow_callee:
  .cfi_startproc
  jmp flow_last
  .cfi_endproc
  .type flow_last, @function
flow_last:
  .cfi_startproc
  ret
  .cfi_endproc
  .type flow_ways, @function
flow_ways:
  .cfi_startproc
  call flow_callee
flow_ways_first:
  je 1f
  call flow_callee
flow_ways_second:
  jmp *rand@GOTPCREL(%rip)
1:
  call flow_callee
flow_ways_third:
  jmp *%rax
  .cfi_endproc
)");
extern "C" const char flow_moved_call, flow_whole_call, flow_whole_after, flow_whole[],
    flow_whole_again[], flow_callee[], flow_last[], flow_ways_first, flow_ways_second,
    flow_ways_third;

namespace {
std::uint64_t address(const void* of) { return reinterpret_cast<std::uint64_t>(of); }
}  // namespace

TEST_CASE("Call flow: a part that was moved away - belongs to its function") {
  CallFlow flow;
  const std::uint64_t moved = address(&flow_moved_call);
  CHECK(flow.function(moved) == address(flow_whole));
  REQUIRE(flow.loops(moved).size() == 1);
  CHECK(flow.loops(moved)[0] == address(flow_whole_again));
  CHECK(flow.forward(address(&flow_whole_call), moved));
  CHECK_FALSE(flow.forward(moved, address(&flow_whole_call)));
  CHECK(flow.forward(moved, address(&flow_whole_after)));
  CHECK(flow.trust(moved) == Trust::kWhole);
}

TEST_CASE("Call flow: calls at the end of a function - all that can be reached") {
  CallFlow flow;
  REQUIRE(std::rand() >= 0);  // its slot is filled
  const auto has = [&](const char& call, std::uint64_t function) {
    const auto jumps = flow.jumps(address(&call));
    return std::find(jumps.begin(), jumps.end(), function) != jumps.end();
  };
  const auto random = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "rand"));
  CHECK(has(flow_whole_call, address(flow_callee)));
  CHECK(has(flow_whole_call, address(flow_last)));  // where that one jumps to
  CHECK(has(flow_whole_call, random));
  CHECK_FALSE(flow.jumps_anywhere(address(&flow_whole_call)));
  CHECK(has(flow_ways_first, random));
  CHECK(flow.jumps_anywhere(address(&flow_ways_first)));
  CHECK(has(flow_ways_second, random));
  CHECK_FALSE(flow.jumps_anywhere(address(&flow_ways_second)));
  CHECK_FALSE(has(flow_ways_third, random));
  CHECK(flow.jumps_anywhere(address(&flow_ways_third)));
  // Of calls.
  CHECK(flow.callee(address(&flow_whole_call)) == address(flow_callee));
  CHECK(flow.callee(address(&flow_whole_call) + 1) == 0);
}
#endif

}  // namespace refrain::code::call_flow_test
