// Instructions of x86-64 that compilers use most: where control goes after them, and what they change. Fifty times as fast as
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
// Of AVX, AVX-512, BMI and their like: for what the disassembler does not know (Capstone 4 has half of AVX-512). Operands in registers
// are not said, only what is written.
Effect effect_of_vector(std::span<const std::uint8_t> code) noexcept;

}  // namespace refrain::code
