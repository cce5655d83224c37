// Instructions of aarch64, as far as where control goes after them. All are words of 4 bytes, so that
// one which is not known does not make those behind it unreadable.
//
// Place in the flow: ARCHITECTURE.md, stage 5, under code/disassembler.h.
// Thread-safety: pure. Errors: less than a word: `bytes` is 0. Cost: some ns.
// Source: Arm Architecture Reference Manual for A-profile, C4.1; ELF for the Arm 64-bit Architecture.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "code/disassembler.h"

namespace refrain::code {

Instruction decode_aarch64(std::span<const std::uint8_t> code);

// The address of the slot that the linker's stub at `address` jumps through (adrp, ldr, add, br).
std::optional<std::uint64_t> aarch64_stub_slot(std::span<const std::uint8_t> code,
                                               std::uint64_t address);

}  // namespace refrain::code
