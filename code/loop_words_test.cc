// What loops carry, in functions that compilers made and in some that they might have made.
#include "code/loop_words.h"

#include <catch2/catch.hpp>
#include <cstdint>

#include "code/call_flow.h"

#if defined(__x86_64__)
namespace refrain::code::loop_words_test {
namespace {

using In = LoopWord::In;

CallFlow::Carried carried(CallFlow& flow, const char& call, std::size_t loop = 0) {
  const auto at = reinterpret_cast<std::uint64_t>(&call);
  REQUIRE(flow.loops(at).size() > loop);
  return flow.carried(at, loop);
}

// Calls that say where they return to.
volatile int three = 3;
std::uint64_t seen[8];
[[gnu::noinline]] void record(int number) {
  seen[number] = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}
// Compilers do not know what it does.
void (*volatile mark)(int) = record;

#if defined(__clang__)
#define PLAIN [[gnu::noinline, clang::optnone]]
#else
#define PLAIN [[gnu::noinline, gnu::optimize("O0")]]
#endif

PLAIN void plain_nest() {
  for (int i = 0; i < three; ++i)
    for (int j = 0; j < three; ++j) mark(0);
}

// i is stepped where others look on.
PLAIN void plain_pointer() {
  int i = 0;
  for (int* at = &i; i < three; ++i) {
    mark(1);
    *at += 0;
  }
}

[[gnu::noinline]] void called(int trips) {
  for (int i = 0; i < trips; ++i) mark(2);
}
[[gnu::noinline]] void calling(int trips) {
  for (int i = 0; i < trips; ++i) {
    called(three);
    mark(3);
  }
}

}  // namespace

TEST_CASE("Loop words: counters in memory, as compilers leave them that do not optimise") {
  CallFlow flow;
  plain_nest();
  plain_pointer();
  REQUIRE(flow.loops(seen[0]).size() == 2);
  const CallFlow::Carried outer = flow.carried(seen[0], 0);
  const CallFlow::Carried inner = flow.carried(seen[0], 1);
  REQUIRE(outer.known);
  REQUIRE(inner.known);
  CHECK(outer.word.in == In::kFrame);
  CHECK(outer.word.bytes == 4);
  CHECK(inner.word.in == In::kFrame);
  CHECK_FALSE(inner.word == outer.word);
  CHECK_FALSE(flow.carried(seen[0], 2).known);
  REQUIRE(flow.loops(seen[1]).size() == 1);
  CHECK_FALSE(flow.carried(seen[1], 0).known);
}

TEST_CASE("Loop words: counters in registers, as compilers leave them that optimise") {
  CallFlow flow;
  calling(three);
  REQUIRE(flow.loops(seen[2]).size() == 1);
  CHECK(flow.carried(seen[2], 0).known);
  REQUIRE(flow.loops(seen[3]).size() == 1);
  CHECK(flow.carried(seen[3], 0).known);
}

asm(R"(
  .text
  .type words_callee, @function
words_callee:
  .cfi_startproc
  ret
  .cfi_endproc

  # Stepped between the calls: the first is early, the second late.
  .type words_midst, @function
words_midst:
  .cfi_startproc
  push %rbx
  xor %ebx, %ebx
1:
  call words_callee
words_midst_early:
  add $1, %ebx
  call words_callee
words_midst_late:
  cmp $3, %ebx
  jne 1b
  pop %rbx
  ret
  .cfi_endproc

  # Counts what happens between the calls, now and then.
  .type words_counts, @function
words_counts:
  .cfi_startproc
  push %rbx
1:
  call words_callee
words_counts_first:
  test %eax, %eax
  je 2f
  add $1, %ebx
2:
  call words_callee
words_counts_second:
  test %eax, %eax
  jne 3f
  add $1, %ebx
3:
  call words_callee
words_counts_third:
  test %eax, %eax
  jne 1b
  pop %rbx
  ret
  .cfi_endproc

  # Words below the stack pointer's old place: one is loaded, stepped and stored, one is stepped in place.
  .type words_stack, @function
words_stack:
  .cfi_startproc
  sub $24, %rsp
1:
  movl $0, 12(%rsp)
2:
  call words_callee
words_stack_inner:
  addl $1, 12(%rsp)
  cmpl $3, 12(%rsp)
  jne 2b
  mov 16(%rsp), %rax
  lea 8(%rax), %rcx
  mov %rcx, 16(%rsp)
  cmp $3, %ecx
  jne 1b
  add $24, %rsp
  ret
  .cfi_endproc

  # Loaded and stepped at the end, stored at the begin.
  .type words_around, @function
words_around:
  .cfi_startproc
  sub $24, %rsp
  xor %eax, %eax
  jmp 2f
1:
  mov 8(%rsp), %eax
  inc %eax
  cmp $3, %eax
  je 3f
2:
  mov %eax, 8(%rsp)
  call words_callee
words_around_call:
  jmp 1b
3:
  add $24, %rsp
  ret
  .cfi_endproc

  # Where something else writes a part of it, or its address is taken.
  .type words_taken, @function
words_taken:
  .cfi_startproc
  sub $24, %rsp
1:
  lea 12(%rsp), %rdi
  call words_callee
words_taken_call:
  addl $1, 12(%rsp)
  cmpl $3, 12(%rsp)
  jne 1b
2:
  call words_callee
words_parts_first:
  movb $0, 18(%rsp)
  call words_callee
words_parts_second:
  addl $1, 16(%rsp)
  cmpl $3, 16(%rsp)
  jne 2b
3:
  mov %rax, 20(%rsp,%rax,8)
  call words_callee
words_array_call:
  addl $1, 20(%rsp)
  jne 3b
  add $24, %rsp
  ret
  .cfi_endproc

  # A frame that is aligned: from the frame pointer only.
  .type words_aligned, @function
words_aligned:
  .cfi_startproc
  lea 8(%rsp), %r10
  and $-32, %rsp
  push -8(%r10)
  push %rbp
  mov %rsp, %rbp
  sub $64, %rsp
1:
  call words_callee
words_aligned_call:
  addl $1, -20(%rbp)
  cmpl $3, -20(%rbp)
  jne 1b
  leave
  lea -8(%r10), %rsp
  ret
  .cfi_endproc

  # In a register that is set aside for a while, and stepped through another one.
  .type words_aside, @function
words_aside:
  .cfi_startproc
  push %rbx
  push %r15
  sub $8, %rsp
1:
  call words_callee
words_aside_call:
  test %eax, %eax
  jne 2f
  mov %r15, (%rsp)
  mov %rbx, %r15
  xor %ebx, %ebx
  call words_callee
words_aside_other:
  mov %r15, %rbx
  mov (%rsp), %r15
  lea 1(%r15), %eax
  test %ebx, %ebx
  jne 3f
2:
  lea 1(%r15), %eax
3:
  mov %eax, %r15d
  cmp $3, %eax
  jne 1b
  add $8, %rsp
  pop %r15
  pop %rbx
  ret
  .cfi_endproc

  # The frame pointer has an address of the frame on one way to the loop: another word's, and in the next function the counter's own.
  .macro words_address_of name, offset
  .type words_\name, @function
words_\name:
  .cfi_startproc
  push %rbp
  sub $32, %rsp
  xor %ebp, %ebp
  test %edi, %edi
  je 1f
  lea \offset(%rsp), %rbp
1:
  call words_callee
words_\name\()_call:
  addl $1, 8(%rsp)
  cmpl $3, 8(%rsp)
  jne 1b
  add $32, %rsp
  pop %rbp
  ret
  .cfi_endproc
  .endm
  words_address_of address, 24
  words_address_of own_address, 8

  # A list: the frame pointer is a register like others.
  .type words_list, @function
words_list:
  .cfi_startproc
  push %rbp
1:
  call words_callee
words_list_call:
  mov 8(%rbp), %rbp
  test %rbp, %rbp
  jne 1b
  pop %rbp
  ret
  .cfi_endproc
)");
extern "C" const char words_midst_early, words_midst_late, words_counts_first,
    words_counts_second, words_counts_third, words_stack_inner, words_around_call,
    words_taken_call, words_parts_first, words_parts_second, words_array_call,
    words_aligned_call, words_aside_call, words_aside_other, words_list_call,
    words_address_call, words_own_address_call;

TEST_CASE("Loop words: early and late calls - and those in between, which tell nothing") {
  CallFlow flow;
  const CallFlow::Carried early = carried(flow, words_midst_early);
  const CallFlow::Carried late = carried(flow, words_midst_late);
  REQUIRE(early.known);
  REQUIRE(late.known);
  CHECK(early.word == LoopWord{.in = In::kRegister, .number = 0});
  CHECK(late.word == early.word);
  CHECK_FALSE(early.late);
  CHECK(late.late);
  CHECK(carried(flow, words_counts_first).known);
  CHECK_FALSE(carried(flow, words_counts_first).late);
  CHECK_FALSE(carried(flow, words_counts_second).known);
  CHECK(carried(flow, words_counts_third).late);
  const CallFlow::Carried aside = carried(flow, words_aside_call);
  REQUIRE(aside.known);
  CHECK(aside.word == LoopWord{.in = In::kRegister, .number = 5});
  CHECK_FALSE(aside.late);
  CHECK(carried(flow, words_aside_other).late);
}

TEST_CASE("Loop words: in memory") {
  CallFlow flow;
  const CallFlow::Carried outer = carried(flow, words_stack_inner, 0);
  const CallFlow::Carried inner = carried(flow, words_stack_inner, 1);
  REQUIRE(outer.known);
  CHECK(outer.word == LoopWord{.in = In::kFrame, .bytes = 8, .offset = -16});
  REQUIRE(inner.known);
  CHECK(inner.word == LoopWord{.in = In::kFrame, .bytes = 4, .offset = -20});
  const CallFlow::Carried around = carried(flow, words_around_call);
  REQUIRE(around.known);
  CHECK(around.word == LoopWord{.in = In::kFrame, .bytes = 4, .offset = -24});
  CHECK_FALSE(carried(flow, words_taken_call).known);
  CHECK_FALSE(carried(flow, words_parts_first).late);
  CHECK(carried(flow, words_parts_first).known);
  CHECK(carried(flow, words_parts_second).late);
  CHECK_FALSE(carried(flow, words_array_call).known);
  const CallFlow::Carried aligned = carried(flow, words_aligned_call);
  REQUIRE(aligned.known);
  CHECK(aligned.word == LoopWord{.in = In::kPointed, .bytes = 4, .offset = -20});
  const CallFlow::Carried address = carried(flow, words_address_call);
  REQUIRE(address.known);
  CHECK(address.word == LoopWord{.in = In::kFrame, .bytes = 4, .offset = -40});
  CHECK_FALSE(carried(flow, words_own_address_call).known);
  const CallFlow::Carried list = carried(flow, words_list_call);
  REQUIRE(list.known);
  CHECK(list.word == LoopWord{.in = In::kRegister, .number = 1});
}

}  // namespace refrain::code::loop_words_test
#endif
