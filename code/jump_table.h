// Where a jump goes that takes its address from a table ("switch").
//
// Place in the flow: ARCHITECTURE.md, stage 5, under code/block_graph.h.
//
// How: the instructions before the jump are followed one by one; what is known of each
// register is a constant, an index times a number, a place in a table, or what was read
// from there. gcc and clang use tables of offsets to the table (programs that can be
// loaded anywhere) and of addresses. How many entries a table has is said by the comparison before it, by a
// mask, or by the width of the index; else it ends where an entry is no place in the
// function.
// Thread-safety: none; uses the image. Ownership: plain values.
// Errors: what is of another form is not found.
// Cost: some ns for each of the instructions before the jump.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "code/code_image.h"
#include "code/disassembler.h"

namespace refrain::code {

struct JumpTable {
  std::uint64_t address = 0;
  // Entries of 4 bytes are relative to it; none: they are addresses.
  std::optional<std::uint64_t> base = std::nullopt;
  std::optional<std::uint32_t> entries = std::nullopt;  // at most
  bool exact = false;  // there are so many: the index was compared

  std::uint64_t entry(std::uint32_t number) const {
    return address + std::uint64_t{number} * (base ? 4 : 8);
  }
};

// One of the instructions before the jump, in their order; the last one is the jump.
struct Step {
  std::uint64_t address = 0;
  Instruction instruction;
  Operation operation;
  bool taken = false;  // a branch that was taken to come to the next step
};

using KnownRegisters = std::array<std::optional<std::uint64_t>, 16>;

// `known`: what registers hold before the first step, if it is not computed in the steps.
std::optional<JumpTable> find_jump_table(const CodeImage& image,
                                         std::span<const Step> steps,
                                         const KnownRegisters& known);

struct TableEntry {
  std::uint32_t number = 0;
  std::uint64_t target = 0;
};

// `accept`: whether one is in the function. Of a table of exact
// length, less than half may be elsewhere: in code that the compiler moved away.
std::vector<TableEntry> read_jump_table(
    CodeImage& image, const JumpTable& table,
    const std::function<bool(std::uint64_t target)>& accept);

}  // namespace refrain::code
