#include "base/loaded_symbols.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace refrain::base {
namespace {

using Symbol = ElfW(Sym);

std::uint32_t gnu_hash(const char* name) noexcept {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

class Symbols {
 public:
  explicit Symbols(const dl_phdr_info& object) noexcept : base_(object.dlpi_addr) {
    for (int i = 0; i < object.dlpi_phnum; ++i)
      if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
        read(reinterpret_cast<const ElfW(Dyn)*>(base_ + object.dlpi_phdr[i].p_vaddr));
  }

  const void* of(const char* name) const noexcept {
    const void* found = nullptr;
    const auto look = [&](std::uint32_t number) {
      const Symbol& symbol = symbols_[number];
      if (found == nullptr && is_defined(symbol) && is_default(number) &&
          std::strcmp(texts_ + symbol.st_name, name) == 0)
        found = address_of(symbol);
    };
    if (!complete()) return nullptr;
    if (gnu_ != nullptr)
      each_of_hash(gnu_hash(name), look);
    else
      each(look);
    return found;
  }

  // As dladdr() chooses: the last one that begins before it and, if it has a size, does not end before it.
  void at(std::uintptr_t address, LoadedSymbol& found) const noexcept {
    if (!complete()) return;
    const Symbol* best = nullptr;
    each([&](std::uint32_t number) {
      const Symbol& symbol = symbols_[number];
      if (!is_defined(symbol)) return;
      const std::uintptr_t begin = base_ + symbol.st_value;
      const bool inside =
          symbol.st_size == 0 ? address == begin : address - begin < symbol.st_size;
      if (inside && (best == nullptr || symbol.st_value > best->st_value)) best = &symbol;
    });
    if (best == nullptr) return;
    found.name = texts_ + best->st_name;
    found.begin = address_of(*best);
  }

 private:
  // After the header: the filter's words, then first symbols by bucket, then hashes, of which the last of a bucket is odd.
  struct GnuTable {
    std::uint32_t buckets, first, words, shift;
  };

  void read(const ElfW(Dyn) * entry) noexcept {
    for (; entry->d_tag != DT_NULL; ++entry) {
      // Some loaders leave them as they are in the file.
      const std::uintptr_t value = entry->d_un.d_ptr;
      const auto* const at =
          reinterpret_cast<const char*>(value < base_ ? value + base_ : value);
      if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const Symbol*>(at);
      if (entry->d_tag == DT_STRTAB) texts_ = at;
      if (entry->d_tag == DT_GNU_HASH) gnu_ = reinterpret_cast<const GnuTable*>(at);
      if (entry->d_tag == DT_HASH) table_ = reinterpret_cast<const std::uint32_t*>(at);
      if (entry->d_tag == DT_VERSYM) versions_ = reinterpret_cast<const ElfW(Half)*>(at);
    }
  }
  bool complete() const noexcept {
    return symbols_ != nullptr && texts_ != nullptr &&
           ((gnu_ != nullptr && gnu_->buckets != 0) || table_ != nullptr);
  }

  const std::uint32_t* buckets() const noexcept {
    return reinterpret_cast<const std::uint32_t*>(
        reinterpret_cast<const ElfW(Addr)*>(gnu_ + 1) + gnu_->words);
  }
  template <typename Do>
  void each_in_bucket(std::uint32_t bucket, const Do& what) const noexcept {
    const std::uint32_t* const hashes = buckets() + gnu_->buckets;
    std::uint32_t number = buckets()[bucket];
    if (number < gnu_->first) return;
    for (std::uint32_t hash = 0; (hash & 1) == 0; ++number) {
      hash = hashes[number - gnu_->first];
      what(number, hash);
    }
  }
  template <typename Do>
  void each_of_hash(std::uint32_t hash, const Do& what) const noexcept {
    each_in_bucket(hash % gnu_->buckets, [&](std::uint32_t number, std::uint32_t of) {
      if ((of | 1) == (hash | 1)) what(number);
    });
  }
  template <typename Do>
  void each(const Do& what) const noexcept {
    if (gnu_ == nullptr)
      for (std::uint32_t number = 1; number < table_[1]; ++number) what(number);
    else
      for (std::uint32_t bucket = 0; bucket < gnu_->buckets; ++bucket)
        each_in_bucket(bucket, [&](std::uint32_t number, std::uint32_t) { what(number); });
  }

  static bool is_defined(const Symbol& symbol) noexcept {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
           ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
           (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC);
  }
  bool is_default(std::uint32_t number) const noexcept {
    constexpr unsigned kHidden = 0x8000;
    return versions_ == nullptr || (versions_[number] & kHidden) == 0;
  }
  const void* address_of(const Symbol& symbol) const noexcept {
    return reinterpret_cast<const void*>(base_ + symbol.st_value);
  }

  std::uintptr_t base_;
  const Symbol* symbols_ = nullptr;
  const char* texts_ = nullptr;
  const GnuTable* gnu_ = nullptr;
  const std::uint32_t* table_ =
      nullptr;  // counts of buckets and symbols, then the hash table
  const ElfW(Half) * versions_ = nullptr;
};

bool has(const dl_phdr_info& object, std::uintptr_t address) noexcept {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type == PT_LOAD &&
        address - (object.dlpi_addr + part.p_vaddr) < part.p_memsz)
      return true;
  }
  return false;
}

template <typename Do>
void each_object(const Do& what) noexcept {
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) noexcept -> int {
        return (*static_cast<const Do*>(data))(*object) ? 1 : 0;
      },
      const_cast<void*>(static_cast<const void*>(&what)));
}

std::uintptr_t number_of(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

LoadedSymbol symbol_at(const void* address) noexcept {
  LoadedSymbol found;
  each_object([&](const dl_phdr_info& object) noexcept {
    if (!has(object, number_of(address))) return false;
    found.file = object.dlpi_name == nullptr ? "" : object.dlpi_name;
    found.object = object.dlpi_phdr;
    Symbols(object).at(number_of(address), found);
    return true;
  });
  return found;
}

const void* symbol_of(const char* name) noexcept {
  const void* found = nullptr;
  each_object([&](const dl_phdr_info& object) noexcept {
    found = Symbols(object).of(name);
    return found != nullptr;
  });
  return found;
}

const void* symbol_after(const void* address, const char* name) noexcept {
  const void* found = nullptr;
  bool after = false;
  each_object([&](const dl_phdr_info& object) noexcept {
    if (after) found = Symbols(object).of(name);
    after = after || has(object, number_of(address));
    return found != nullptr;
  });
  return found;
}

const void* symbol_in(const void* address, const char* name) noexcept {
  const void* found = nullptr;
  each_object([&](const dl_phdr_info& object) noexcept {
    if (!has(object, number_of(address))) return false;
    found = Symbols(object).of(name);
    return true;
  });
  return found;
}

}  // namespace refrain::base
