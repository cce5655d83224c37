#include "writer/symbols/symbol_resolver.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace refrain::writer {
namespace {

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

const Dwfl_Callbacks kCallbacks = {
    .find_elf = nullptr,
    .find_debuginfo = dwfl_build_id_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// How far the module was loaded from where its file says; nullopt if the file has no
// segment that fits the mapping.
std::optional<std::uint64_t> load_bias(int fd, const Module& module) {
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  if (elf == nullptr) return {};
  std::optional<std::uint64_t> bias;
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) continue;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (module.offset >= segment.p_offset + segment.p_filesz) continue;
    const std::uint64_t page = ::sysconf(_SC_PAGESIZE) > 0
                                   ? static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
                                   : 4096;
    if (module.offset < (segment.p_offset & ~(page - 1))) continue;
    bias = module.start - (segment.p_vaddr + module.offset - segment.p_offset);
    break;
  }
  elf_end(elf);
  return bias;
}

const char* attribute_text(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

// Finds the compilation unit of an address. libdwfl looks into .debug_aranges alone, which
// clang does not write: where that fails, the ranges of all units are read, once a module.
class UnitIndex {
 public:
  Dwarf_Die* find(Dwfl_Module* module, std::uint64_t address, Dwarf_Addr& bias) {
    Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
    if (unit != nullptr) return unit;
    const auto [at, is_new] = modules_.try_emplace(module);
    if (is_new) read(module, at->second);
    bias = at->second.bias;
    const auto& ranges = at->second.ranges;
    auto range = std::upper_bound(
        ranges.begin(), ranges.end(), address - bias,
        [](std::uint64_t value, const Range& r) { return value < r.begin; });
    if (range == ranges.begin()) return nullptr;
    --range;
    if (address - bias >= range->end) return nullptr;
    unit_ = range->unit;
    return &unit_;
  }

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    Dwarf_Die unit;
  };
  struct Units {
    Dwarf_Addr bias = 0;
    std::vector<Range> ranges;
  };

  static void read(Dwfl_Module* module, Units& units) {
    if (dwfl_module_getdwarf(module, &units.bias) == nullptr) return;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = dwfl_module_nextcu(module, nullptr, &bias); unit != nullptr;
         unit = dwfl_module_nextcu(module, unit, &bias)) {
      Dwarf_Addr base = 0;
      Dwarf_Addr begin = 0;
      Dwarf_Addr end = 0;
      std::ptrdiff_t at = 0;
      while ((at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0)
        if (begin < end) units.ranges.push_back({begin, end, *unit});
    }
    std::sort(units.ranges.begin(), units.ranges.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }

  std::unordered_map<Dwfl_Module*, Units> modules_;
  Dwarf_Die unit_{};
};

}  // namespace

struct SymbolResolver::Impl {
  struct Loaded {
    Module module;
    bool tried = false;
  };
  std::vector<Loaded> modules;
  std::vector<std::pair<std::string, std::uint64_t>> reported;  // path, bias
  std::vector<std::string> complaints;
  UnitIndex units;
  Dwfl* dwfl = nullptr;

  ~Impl() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }

  Loaded* find(std::uint64_t address) {
    for (Loaded& loaded : modules)
      if (address >= loaded.module.start && address < loaded.module.end) return &loaded;
    return nullptr;
  }

  void complain(const Module& module, const std::string& what) {
    complaints.push_back(module.path + ": " + what);
  }

  void load(Loaded& loaded) {
    loaded.tried = true;
    const Module& module = loaded.module;
    elf_version(EV_CURRENT);  // libelf refuses everything before this
    FileDescriptor file(module.path);
    if (file.get() < 0) return complain(module, "cannot be opened to look up names");
    const auto bias = load_bias(file.get(), module);
    if (!bias) return complain(module, "is not the file that ran");
    const auto key = std::make_pair(module.path, *bias);
    if (std::find(reported.begin(), reported.end(), key) != reported.end()) return;
    if (dwfl == nullptr) {
      dwfl = dwfl_begin(&kCallbacks);
      if (dwfl == nullptr) return;
    }
    dwfl_report_begin_add(dwfl);
    Dwfl_Module* reported_module = dwfl_report_elf(
        dwfl, module.path.c_str(), module.path.c_str(), file.get(), *bias, true);
    if (reported_module != nullptr) file.release();  // libdwfl closes it
    dwfl_report_end(dwfl, nullptr, nullptr);
    if (reported_module == nullptr) return complain(module, dwfl_errmsg(-1));
    reported.push_back(key);
    if (!same_build(reported_module, module)) {
      complain(module, "was rebuilt since; no names from it");
      distrusted.push_back(reported_module);
    }
  }

  static bool same_build(Dwfl_Module* reported_module, const Module& module) {
    if (module.build_id.empty()) return true;
    const unsigned char* bits = nullptr;
    GElf_Addr where = 0;
    const int bytes = dwfl_module_build_id(reported_module, &bits, &where);
    std::string text;
    for (int i = 0; i < bytes; ++i) {
      char digits[3];
      std::snprintf(digits, sizeof(digits), "%02x", bits[i]);
      text += digits;
    }
    return text == module.build_id;
  }

  bool trusted(const Dwfl_Module* module) const {
    return std::find(distrusted.begin(), distrusted.end(), module) == distrusted.end();
  }
  std::vector<Dwfl_Module*> distrusted;
};

namespace {

// `address` is that of the debug information.
void resolve_line(Dwarf_Die* unit, std::uint64_t address, Symbol& symbol) {
  Dwarf_Line* line = dwarf_getsrc_die(unit, address);
  if (line == nullptr) return;
  const char* file = dwarf_linesrc(line, nullptr, nullptr);
  int number = 0;
  if (file == nullptr || dwarf_lineno(line, &number) != 0) return;
  symbol.file = file;
  symbol.line = number > 0 ? static_cast<std::uint32_t>(number) : 0;
}

// Takes the names of the innermost function, inlined or not, that a die is of.
void name_from(Dwarf_Die* function, Symbol& symbol) {
  const char* linkage = attribute_text(function, DW_AT_linkage_name);
  const char* name = attribute_text(function, DW_AT_name);
  if (linkage != nullptr) {
    symbol.linkage = linkage;
    symbol.function = demangled(linkage);
  } else if (name != nullptr) {
    symbol.function = demangled(name);
  }
}

}  // namespace

// The functions of compilation units. libdw's dwarf_getscopes() goes through all that a unit says,
// types and all, for each address: half a millisecond where headers of C++ are in it.
class SymbolResolver::Functions {
 public:
  void resolve(Dwarf_Die* unit, std::uint64_t address, Symbol& symbol) {
    const auto [at, is_new] = units_.try_emplace(unit->addr);
    if (is_new) read(unit, at->second);
    const auto function = std::find_if(
        at->second.begin(), at->second.end(),
        [&](const Range& range) { return range.begin <= address && address < range.end; });
    if (function == at->second.end()) return;
    Dwarf_Die innermost = function->die;
    Dwarf_Die inside = function->die;
    while (descend(inside, address)) {
      const int tag = dwarf_tag(&inside);
      if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram) innermost = inside;
    }
    name_from(&innermost, symbol);
  }

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    Dwarf_Die die;
  };

  static void read(Dwarf_Die* unit, std::vector<Range>& functions) {
    Dwarf_Die child;
    for (int more = dwarf_child(unit, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
      if (dwarf_tag(&child) != DW_TAG_subprogram) continue;
      Dwarf_Addr base = 0;
      Dwarf_Addr begin = 0;
      Dwarf_Addr end = 0;
      std::ptrdiff_t at = 0;
      while ((at = dwarf_ranges(&child, at, &base, &begin, &end)) > 0)
        if (begin < end) functions.push_back({begin, end, child});
    }
  }

  // To the child that has the address, if there is one.
  static bool descend(Dwarf_Die& die, std::uint64_t address) {
    Dwarf_Die child;
    for (int more = dwarf_child(&die, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
      if (dwarf_haspc(&child, address) <= 0) continue;
      die = child;
      return true;
    }
    return false;
  }

  std::unordered_map<void*, std::vector<Range>> units_;
};

bool parse_module(std::string_view text, Module& module) {
  const auto field = [&text](std::uint64_t& value) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end == text.data() + text.size() || *end != ' ')
      return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
    return true;
  };
  if (!field(module.start) || !field(module.end) || !field(module.offset)) return false;
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || module.start >= module.end) return false;
  const std::string_view id = text.substr(0, space);
  module.build_id = id == "-" ? std::string() : std::string(id);
  text.remove_prefix(space + 1);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0'))
    text.remove_suffix(1);
  module.path = std::string(text);
  return !module.path.empty();
}

SymbolResolver::SymbolResolver(const std::vector<std::string>& module_texts)
    : impl_(std::make_unique<Impl>()), functions_(std::make_unique<Functions>()) {
  for (const std::string& text : module_texts) {
    Module module;
    if (parse_module(text, module)) {
      impl_->modules.push_back({std::move(module), false});
    } else {
      impl_->complaints.push_back("damaged entry in the table of modules");
    }
  }
}

SymbolResolver::~SymbolResolver() = default;

const std::vector<std::string>& SymbolResolver::complaints() const noexcept {
  return impl_->complaints;
}

const Symbol& SymbolResolver::at(std::uint64_t address) {
  const auto [entry, is_new] = cache_.try_emplace(address);
  Symbol& symbol = entry->second;
  if (!is_new || address == 0) return symbol;
  Impl::Loaded* loaded = impl_->find(address);
  if (loaded == nullptr) {
    symbol.function = hex(address);
    return symbol;
  }
  symbol.module = base_name(loaded->module.path);
  if (!loaded->tried) impl_->load(*loaded);
  Dwfl_Module* module =
      impl_->dwfl != nullptr ? dwfl_addrmodule(impl_->dwfl, address) : nullptr;
  if (module != nullptr && impl_->trusted(module)) {
    GElf_Off offset = 0;
    GElf_Sym elf_symbol;
    const char* name = dwfl_module_addrinfo(module, address, &offset, &elf_symbol, nullptr,
                                            nullptr, nullptr);
    if (name != nullptr) symbol.elf_symbol = name;
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = impl_->units.find(module, address, bias);
    if (unit != nullptr) {
      resolve_line(unit, address - bias, symbol);
      functions_->resolve(unit, address - bias, symbol);
    }
    if (symbol.function.empty() && name != nullptr)
      symbol.function = demangled(name) + "+" + hex(offset);
  }
  if (symbol.function.empty())
    symbol.function =
        symbol.module + "+" + hex(address - loaded->module.start + loaded->module.offset);
  return symbol;
}

}  // namespace refrain::writer
