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
// Cost: at the begin, linear in symbols and exception tables (0.1 s for a million); then logarithmic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct Elf;

namespace refrain::code {

// What the tables for exceptions say of a program's functions: where each begins and ends,
// and where exceptions are caught.
//
// Place in the flow: ARCHITECTURE.md, stage 5, under code/elf_image.h. A stripped program still
// has these tables.
// Thread-safety: pure. Ownership: plain values.
// Errors: a damaged table ends where the damage begins.
// Cost: linear.
// Source: Linux Standard Base, "Exception Frames"; Itanium C++ ABI, "Exception Handling Tables".
struct UnwindEntry {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t handlers = 0;  // address of its table of handlers; 0: none
};

// `bytes` of .eh_frame, which is at `address`.
std::vector<UnwindEntry> read_unwind_table(std::span<const std::uint8_t> bytes,
                                           std::uint64_t address);

struct HandlerEntry {
  std::uint64_t begin = 0;  // of the calls
  std::uint64_t end = 0;
  std::uint64_t handler = 0;
};

// `bytes` from the begin of a table of handlers (.gcc_except_table), which is at `address`, on;
// `function`: the begin of the entry that refers to it.
std::vector<HandlerEntry> read_handlers(std::span<const std::uint8_t> bytes,
                                        std::uint64_t address, std::uint64_t function);

struct FunctionRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string_view name;  // of the linker; empty: not known
};

class ElfImage {
 public:
  // Null if the file cannot be read, or is for another processor.
  static std::unique_ptr<ElfImage> open(const std::string& path);
  // `file` must live as long as the image.
  static std::unique_ptr<ElfImage> from_memory(std::span<std::uint8_t> file);
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  // The processor that it is for: EM_X86_64 or EM_AARCH64.
  std::uint16_t machine() const noexcept { return machine_; }

  // Symbols of a file with debug information of the same program, which must live as long.
  void add_symbols(Elf* elf);

  // The bytes from an address to the end of what the file has there.
  std::span<const std::uint8_t> bytes(std::uint64_t address) const;
  bool executable(std::uint64_t address) const;
  std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const;

  const FunctionRange* function_at(std::uint64_t address) const;
  std::span<const FunctionRange> functions() const { return functions_; }
  // Where exceptions of the code at an address are caught.
  std::vector<HandlerEntry> handlers(std::uint64_t address) const;

  // The address in a word of the program's data, as the loader leaves it.
  std::optional<std::uint64_t> word(std::uint64_t address);
  // The name of what the loader puts into a word; empty: none.
  std::string_view imported(std::uint64_t address);

 private:
  struct Segment {
    std::uint64_t begin;
    std::span<const std::uint8_t> bytes;
    std::uint64_t offset;
    bool executable;
  };
  struct Relocation {
    std::uint64_t address;
    std::uint64_t value;
    std::string_view name;
  };
  ElfImage() = default;
  bool read();
  void read_symbols(Elf* elf, unsigned type);
  void read_frames();
  void read_relocations();
  void settle_functions();
  const Relocation* relocation(std::uint64_t address);

  int file_ = -1;
  Elf* elf_ = nullptr;
  std::uint16_t machine_ = 0;
  std::vector<Segment> segments_;
  std::vector<FunctionRange> symbols_;  // `end` may be `begin`: without a size
  std::vector<FunctionRange> functions_;
  std::vector<UnwindEntry> frames_;
  bool relocations_read_ = false;
  std::vector<Relocation> relocations_;
};

}  // namespace refrain::code
