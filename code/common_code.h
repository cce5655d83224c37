// Instructions of x86-64 that compilers use most: where control goes after them, and what they change. Ten times as fast as
// the disassembler, which is asked for all others.
//
// Place in the flow: ARCHITECTURE.md, stage 5, under code/disassembler.h. Pure. Cost: some 10 ns.
#pragma once

#include <cstdint>
#include <span>

#include "code/disassembler.h"

namespace refrain::code {

// `bytes` is 0 where it is none of them.
Instruction decode_common(std::span<const std::uint8_t> code) noexcept;
Effect effect_common(std::span<const std::uint8_t> code) noexcept;

}  // namespace refrain::code
