// Where the functions on the stack have left the registers of those that called them.
//
// Place in the flow: under tracer/runtime/program_facts.h; by the unwind tables, as stack_walk.h, from its caller outwards.
// Of x86-64; elsewhere there are no frames.
// Thread-safety: any thread, with the rules of the process (rule_cache.h); not for signal handlers. Errors: the walk ends where tables do, and at frames of signals.
// Cost: 0.1 us a frame; half a microsecond more where its rule was not made yet.
#pragma once

#include <array>
#include <cstdint>

#include "tracer/sampler/stack_memory.h"

namespace refrain::sampler {

inline constexpr unsigned kKeptRegisters = 6;  // rbx, rbp, r12 to r15

struct SavedFrame {
  std::uint64_t base = 0;  // as CallWalk::Frame has it
  // Where they lie that the function has at its call; 0: not known, or in a register still.
  std::array<std::uint64_t, kKeptRegisters> at{};
};

// The caller's first. How many frames there are, `most` at the most.
unsigned saved_registers(StackBounds bounds, SavedFrame* frames, unsigned most) noexcept;

}  // namespace refrain::sampler
