// The code of a program or library that is mapped in this process. Addresses are those of the process.
//
// Place in the flow: ARCHITECTURE.md, stage 5, for code/call_flow.h. No file is opened: symbol tables are not mapped, so
// functions are those of .eh_frame_hdr, without names.
// Thread-safety: none; one user at a time. Ownership: plain values that point into what is mapped; nothing may be asked once
// the object is unloaded.
// Errors: what is damaged or of another form than linkers write is left out. Throws only when memory runs out.
// Cost: nothing at the start; a function is a binary search; the first name one pass over the object's relocations.
#pragma once

#include <link.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "code/code_image.h"

namespace refrain::code {

class MappedImage final : public CodeImage {
 public:
  explicit MappedImage(const dl_phdr_info& object);

  // Returns true if it is still this object: its place, headers and name.
  bool is(const dl_phdr_info& object) const;
  const std::string& path() const noexcept { return path_; }
  // [begin, end) of its code.
  std::span<const std::pair<std::uint64_t, std::uint64_t>> code() const { return code_; }

  std::span<const std::uint8_t> bytes(std::uint64_t address) const override;
  bool executable(std::uint64_t address) const override;
  const FunctionRange* function_at(std::uint64_t address) const override;
  std::vector<HandlerEntry> handlers(std::uint64_t address) const override;
  // What is in memory; but of a slot that is not filled yet, the object's own function that it is for.
  std::optional<std::uint64_t> word(std::uint64_t address) override;
  std::string_view imported(std::uint64_t address) override;

 private:
  struct Import {
    std::uint64_t address;
    std::uint32_t symbol;
  };
  // Of one table of relocations, by address. A large library has 100 000, of which few are asked for: symbols are looked at then.
  struct Imports {
    std::uint64_t begin = 0, bytes = 0;
    bool read = false;
    std::vector<Import> all;
  };
  struct ImportedSymbol {
    std::uint64_t value;  // of the object's own symbol; 0: it is of another one
    std::string_view name;
  };
  void find_tables();
  const Import* import(std::uint64_t address);
  std::optional<ImportedSymbol> imported_symbol(std::uint64_t address);
  UnwindEntry frame_at(std::uint64_t address) const;
  template <typename T>
  std::optional<T> read(std::uint64_t address) const;

  std::uint64_t base_;
  const void* headers_;
  std::string path_;
  std::vector<std::pair<std::uint64_t, std::span<const std::uint8_t>>> segments_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> code_;
  std::uint64_t frame_index_ = 0;  // .eh_frame_hdr
  std::uint64_t dynamic_ = 0;
  bool tables_found_ = false;
  std::array<Imports, 2> imports_;  // slots of calls, and others
  std::span<const std::uint8_t> symbols_, texts_;
  mutable std::unordered_map<std::uint64_t, FunctionRange> functions_;  // by begin
  mutable const FunctionRange* last_ = nullptr;  // most questions are about the same one
};

}  // namespace refrain::code
