// What the tables for exceptions say of a program's functions: where each begins and ends,
// and where exceptions are caught.
//
// Place in the flow: ARCHITECTURE.md, stage 5, under code/elf_image.h. A stripped program still
// has these tables.
// Thread-safety: pure. Ownership: plain values.
// Errors: a damaged table ends where the damage begins.
// Cost: linear; of one entry, its length.
// Source: Linux Standard Base, "Exception Frames"; Itanium C++ ABI, "Exception Handling Tables".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace refrain::code {

struct UnwindEntry {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t handlers = 0;  // address of its table of handlers; 0: none
};

// `bytes` of .eh_frame, which is at `address`.
std::vector<UnwindEntry> read_unwind_table(std::span<const std::uint8_t> bytes,
                                           std::uint64_t address);

// The one entry that begins at an address; its `begin` is its `end` if it cannot be read.
UnwindEntry read_unwind_entry(std::span<const std::uint8_t> bytes, std::uint64_t address,
                              std::uint64_t entry);

struct HandlerEntry {
  std::uint64_t begin = 0;  // of the calls
  std::uint64_t end = 0;
  std::uint64_t handler = 0;
};

// `bytes` from the start of a table of handlers (.gcc_except_table), which is at `address`, on;
// `function`: the start of the entry that refers to it.
std::vector<HandlerEntry> read_handlers(std::span<const std::uint8_t> bytes,
                                        std::uint64_t address, std::uint64_t function);

}  // namespace refrain::code
