// The code of one program or library, wherever it is read from: of a file (elf_image.h) or as it is mapped in this
// process (mapped_image.h).
//
// Place in the flow: ARCHITECTURE.md, stage 5, for code/block_graph.h and code/jump_table.h.
// Thread-safety: none; one user at a time. Ownership: what is returned lives as long as the image.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "code/unwind_table.h"

namespace refrain::code {

struct FunctionRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string_view name;  // of the linker; empty: not known
};

class CodeImage {
 public:
  CodeImage() = default;
  CodeImage(const CodeImage&) = delete;
  CodeImage& operator=(const CodeImage&) = delete;
  virtual ~CodeImage() = default;

  // The bytes from an address to the end of what there is.
  virtual std::span<const std::uint8_t> bytes(std::uint64_t address) const = 0;
  virtual bool executable(std::uint64_t address) const = 0;
  // Null: there is none.
  virtual const FunctionRange* function_at(std::uint64_t address) const = 0;
  // Where exceptions of the code at an address are caught.
  virtual std::vector<HandlerEntry> handlers(std::uint64_t address) const = 0;
  // The address in a word of the program's data, as the loader leaves it.
  virtual std::optional<std::uint64_t> word(std::uint64_t address) = 0;
  // The name of what the loader puts into a word; empty: none.
  virtual std::string_view imported(std::uint64_t address) = 0;
};

}  // namespace refrain::code
