#include "tracer/sampler/saved_registers.h"

#include <catch2/catch.hpp>
#include <cstdint>

#if defined(__x86_64__)
namespace {

using namespace refrain::sampler;

SavedFrame frames[8];
unsigned count;
std::uint64_t values[kKeptRegisters];

}  // namespace

// Saves all of them, and looks for those of its caller.
extern "C" [[gnu::noinline]] void saved_inner() {
  asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
  count = saved_registers({}, frames, 8);
  if (count < 2) return;
  for (unsigned i = 0; i != kKeptRegisters; ++i)
    values[i] = frames[1].at[i] == 0
                    ? 0
                    : *reinterpret_cast<const volatile std::uint64_t*>(frames[1].at[i]);
}

asm(R"(
  .text
  .type saved_outer, @function
saved_outer:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  push %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r12, 0
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  lea 24(%rsp), %rbx
  mov $77, %r12d
  call saved_inner
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  pop %r12
  .cfi_adjust_cfa_offset -8
  pop %rbx
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
)");
extern "C" void saved_outer();

TEST_CASE("Saved registers: a caller's, where the function that it called has saved them") {
  count = 0;
  saved_outer();
  REQUIRE(count > 2);
  CHECK(frames[0].base < frames[1].base);
  CHECK(values[0] == frames[1].base);  // where its return address lies
  CHECK(values[2] == 77);
  // What it has saved itself belongs to its caller.
  CHECK(frames[2].at[0] == frames[1].base - 8);
  CHECK(frames[2].at[2] == frames[1].base - 16);
}
#endif
