// DWARF expressions of unwind tables: a stack machine that computes an address.
//
// Place in the flow: under frame_rules.h. Compilers write them for functions that align their stack,
// linkers for procedure linkage tables, the C library for signal frames.
// Thread-safety: pure; safe in signal handlers. Memory is read as stack_memory.h does.
// Errors: unknown operations, unknown registers, unreadable memory, more than 200 operations: no value.
// Source: DWARF 5, section 2.5.
#pragma once

#include <cstdint>

#include "tracer/sampler/frame_registers.h"
#include "tracer/sampler/stack_memory.h"
#include "tracer/sampler/unwind_lookup.h"

namespace refrain::sampler {

// `first`: what is on its stack at the start, if `with_first`.
bool evaluate(ByteRange expression, const FrameRegisters& registers, StackMemory& memory,
              bool with_first, std::uint64_t first, std::uint64_t& value) noexcept;

// An expression of the form "register + offset", or what is in memory there.
struct SimpleExpression {
  std::uint8_t base = 0;
  std::int64_t offset = 0;
  bool in_memory = false;
};
bool is_simple(ByteRange expression, SimpleExpression& simple) noexcept;

}  // namespace refrain::sampler
