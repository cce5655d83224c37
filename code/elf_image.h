// An ELF file of x86-64 or aarch64 as it lies in memory: its bytes by address, its functions, and what
// the words are that the loader fills in.
//
// Place in the flow: ARCHITECTURE.md, stage 5, for code/block_graph.h. Addresses are those of the file:
// what the loader adds is not in them.
//
// Functions are those of the symbol tables; where these say nothing (a stripped program, a
// symbol without a size), those of the tables for exceptions.
// Thread-safety: none; one user at a time. Ownership: has the file mapped; names and bytes
// live as long as it.
// Errors: what is damaged is left out. Throws only when memory runs out.
// Cost: at the start, linear in symbols and exception tables (0.1 s for a million); then logarithmic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "code/code_image.h"

struct Elf;

namespace refrain::code {

class ElfImage final : public CodeImage {
 public:
  // Null if the file cannot be read, or is for another processor.
  static std::unique_ptr<ElfImage> open(const std::string& path);
  // `file` must live as long as the image.
  static std::unique_ptr<ElfImage> from_memory(std::span<std::uint8_t> file);
  ~ElfImage() override;

  // The processor that it is for: EM_X86_64 or EM_AARCH64.
  std::uint16_t machine() const noexcept { return machine_; }

  // Symbols of a file with debug information of the same program, which must live as long.
  void add_symbols(Elf* elf);

  std::span<const std::uint8_t> bytes(std::uint64_t address) const override;
  bool executable(std::uint64_t address) const override;
  std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const;

  const FunctionRange* function_at(std::uint64_t address) const override;
  std::span<const FunctionRange> functions() const { return functions_; }
  std::vector<HandlerEntry> handlers(std::uint64_t address) const override;
  std::optional<std::uint64_t> word(std::uint64_t address) override;
  std::string_view imported(std::uint64_t address) override;

 private:
  struct Segment {
    std::uint64_t begin;
    std::span<const std::uint8_t> bytes;
    std::uint64_t offset;
    bool executable;
  };
  // Of a symbol, which is looked at when somebody asks for the word: a large library has 100 000. kNoSymbol: `value` is the word.
  struct Relocation {
    std::uint64_t address;
    std::uint64_t value;
    std::uint32_t symbol;
    std::uint32_t table;  // of relocation_symbols_
  };
  ElfImage() = default;
  bool read();
  void read_symbols(Elf* elf, unsigned type);
  void read_frames();
  void read_relocations();
  void settle_functions();
  const Relocation* relocation(std::uint64_t address);
  // The value of its symbol, and its name; none: there is no such symbol.
  std::optional<std::pair<std::uint64_t, std::string_view>> symbol_of(
      const Relocation& relocation) const;

  int file_ = -1;
  Elf* elf_ = nullptr;
  std::uint16_t machine_ = 0;
  std::vector<Segment> segments_;
  std::vector<FunctionRange> symbols_;  // `end` may be `begin`: without a size
  std::vector<FunctionRange> functions_;
  std::vector<UnwindEntry> frames_;
  bool relocations_read_ = false;
  std::vector<Relocation> relocations_;
  struct SymbolTable {
    void* data;         // Elf_Data
    std::size_t names;  // section
  };
  std::vector<SymbolTable> relocation_symbols_;
};

}  // namespace refrain::code
