// A program with holes between its segments (see BUILD), as linkers make with large pages.
#include "tracer/sampler/unwind_lookup.h"

#include <ucontext.h>

#include <catch2/catch.hpp>

#include "tracer/sampler/stack_walk.h"

namespace refrain::sampler::unwind_lookup_test {
namespace {

volatile int g_after = 0;

__attribute__((noinline)) Walk walk_here(std::uint64_t* frames, unsigned most) {
  ucontext_t context;
  getcontext(&context);
  return walk_stack(context, bounds_of_this_thread(), frames, most);
}
__attribute__((noinline)) Walk caller(std::uint64_t* frames, unsigned most) {
  const Walk walk = walk_here(frames, most);
  g_after = 1;
  return walk;
}

}  // namespace

TEST_CASE(
    "Unwind tables: holes between segments - tables are in another mapping than code") {
  if (!have_object_lookup()) return;
  CodeObject code;
  const auto here = reinterpret_cast<std::uintptr_t>(&caller);
  REQUIRE(find_object(here, code));
  REQUIRE((code.index < code.begin || code.index >= code.end));
  FrameProgram program;
  REQUIRE(find_frame_program(code, here, program));
  CHECK(program.function_begin == here);

  // Catch's functions stand in between, and omit frame pointers or not.
  std::uint64_t frames[100];
  const Walk walk = caller(frames, 100);
  CHECK(walk.end == WalkEnd::kOutermost);
  CHECK(walk.count > 5);
}

TEST_CASE(
    "Unwind tables: holes between segments - an index that is not its object's is not read") {
  if (!have_object_lookup()) return;
  CodeObject code;
  const auto here = reinterpret_cast<std::uintptr_t>(&caller);
  REQUIRE(find_object(here, code));
  FrameProgram program;
  for (const std::uintptr_t index :
       {std::uintptr_t{0}, std::uintptr_t{4096}, code.begin - 8, code.end, code.index + 4,
        ~std::uintptr_t{7}}) {
    CodeObject damaged = code;
    damaged.index = index;
    CHECK_FALSE(find_frame_program(damaged, here, program));
  }
}

}  // namespace refrain::sampler::unwind_lookup_test
