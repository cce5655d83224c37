// Symbols of the libraries of this process, by the index and by libdw.
#include "code/debug_index.h"

#include <gelf.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

namespace refrain::code::debug_index_test {
namespace {

struct Compared {
  SymbolIndex index;
  std::uint64_t state = 1;
  int addresses = 0;
  int named = 0;

  std::uint64_t next() {
    state = state * 6364136223846793005 + 1442695040888963407;
    return state >> 20;
  }
  static bool is_code(Dwfl_Module* module, std::uint64_t address) {
    Dwarf_Addr bias = 0;
    Elf* const file = dwfl_module_getelf(module, &bias);
    std::size_t count = 0;
    if (file == nullptr || elf_getphdrnum(file, &count) != 0) return false;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(file, static_cast<int>(i), &header) != nullptr &&
          (header.p_flags & PF_X) != 0 && address - bias - header.p_vaddr < header.p_memsz)
        return true;
    }
    return false;
  }
  void compare(Dwfl_Module* module, std::uint64_t address) {
    if (!is_code(module, address)) return;
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const name =
        dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    const SymbolIndex::Symbol found = index.find(module, address);
    ++addresses;
    if (name == nullptr) {
      CHECK(found.name == nullptr);
      return;
    }
    ++named;
    INFO(name << "+" << offset << " of " << symbol.st_size);
    // Of several without a size in one place it may be another one; the linker's __ehdr_start is no name of code.
    if (symbol.st_size == 0 && found.name == nullptr) return;
    REQUIRE(found.name != nullptr);
    if (symbol.st_size != 0) CHECK(std::string(found.name) == name);
    CHECK(address - found.begin == offset);
  }
};

}  // namespace

TEST_CASE("SymbolIndex: the symbols that libdw finds") {
  const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                    .find_debuginfo = dwfl_standard_find_debuginfo,
                                    .section_address = dwfl_offline_section_address,
                                    .debuginfo_path = nullptr};
  Dwfl* const dwfl = dwfl_begin(&callbacks);
  REQUIRE(dwfl != nullptr);
  REQUIRE(dwfl_linux_proc_report(dwfl, getpid()) == 0);
  REQUIRE(dwfl_report_end(dwfl, nullptr, nullptr) == 0);
  Compared compared;
  dwfl_getmodules(
      dwfl,
      [](Dwfl_Module* module, void**, const char*, Dwarf_Addr begin, void* data) {
        auto& to = *static_cast<Compared*>(data);
        Dwarf_Addr end = 0;
        dwfl_module_info(module, nullptr, nullptr, &end, nullptr, nullptr, nullptr,
                         nullptr);
        for (int i = 0; i < 400; ++i) to.compare(module, begin + to.next() % (end - begin));
        // Where symbols begin, and just before.
        const int symbols = dwfl_module_getsymtab(module);
        for (int i = 0; i < 100 && symbols > 1; ++i) {
          GElf_Sym symbol;
          GElf_Addr value = 0;
          const int number =
              1 + static_cast<int>(to.next() % (static_cast<unsigned>(symbols) - 1));
          if (dwfl_module_getsym_info(module, number, &symbol, &value, nullptr, nullptr,
                                      nullptr) == nullptr ||
              value < begin || value >= end)
            continue;
          to.compare(module, value);
          to.compare(module, value - 1);
          to.compare(module, value + symbol.st_size);
        }
        return static_cast<int>(DWARF_CB_OK);
      },
      &compared, 0);
  CHECK(compared.addresses > 1000);
  CHECK(compared.named > 500);
  dwfl_end(dwfl);
}

}  // namespace refrain::code::debug_index_test
