// The parts of a SymbolResolver: modules, their files and their debug information.
//
// Place in the flow: inside writer/symbols alone (symbol_resolver.h, code_sites.h).
// Thread-safety, errors: see symbol_resolver.h.
#pragma once

#include <cxxabi.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "writer/symbols/symbol_resolver.h"

namespace refrain::writer {
namespace resolving {

inline std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

inline std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Names of C++, and of procedures in gfortran's modules: "__solver_MOD_step" is
// solver::step.
inline std::string demangled(const char* name) {
  const std::string_view mangled(name);
  const std::size_t procedure = mangled.find("_MOD_");
  if (mangled.starts_with("__") && procedure != std::string_view::npos && procedure > 2)
    return std::string(mangled.substr(2, procedure - 2)) +
           "::" + std::string(mangled.substr(procedure + 5));
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

inline const Dwfl_Callbacks kCallbacks = {
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

// The offset at which the module was loaded; nullopt if the file has no segment that fits
// the mapping.
inline std::optional<std::uint64_t> load_bias(int fd, const Module& module) {
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

inline const char* attribute_text(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

// Finds the compilation unit of an address. libdwfl looks only into .debug_aranges, which
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

// The name as in the source: with namespace or module; Fortran's external procedures
// without the underscore that the linker sees.
inline std::string function_of(Dwarf_Die* scope) {
  const char* linkage = attribute_text(scope, DW_AT_linkage_name);
  const char* name = attribute_text(scope, DW_AT_name);
  if (linkage == nullptr) return name == nullptr ? std::string() : demangled(name);
  if (name != nullptr && linkage == std::string(name) + '_') return name;
  return demangled(linkage);
}

// The functions of units by their code. A unit is read once, when the first of its
// addresses is asked for: that passes over all of its entries, because few compilers say
// where the next sibling is. (libdw's dwarf_getscopes() does so for each address, and does
// not look into gfortran's modules.)
class FunctionIndex {
 public:
  // The functions around an address of the debug information, innermost first, up to the
  // one whose code it is.
  std::vector<Dwarf_Die> scopes(Dwarf_Die* unit, std::uint64_t address) {
    Unit& known = units_[unit->addr];
    if (!std::exchange(known.looked_through, true)) add(unit, false, known);
    const Function* function = known.find(address);
    if (function == nullptr && !std::exchange(known.looked_into_classes, true)) {
      known.functions.clear();
      add(unit, true, known);
      function = known.find(address);
    }
    std::vector<Dwarf_Die> out;
    if (function == nullptr) return out;
    Dwarf_Die die = function->die;
    add_inlined(&die, address, out);
    out.push_back(function->die);
    return out;
  }

 private:
  struct Function {
    std::uint64_t begin;
    std::uint64_t end;
    Dwarf_Die die;
  };
  struct Unit {
    bool looked_through = false;
    bool looked_into_classes = false;
    std::vector<Function> functions;  // by begin

    const Function* find(std::uint64_t address) const {
      auto at = std::upper_bound(
          functions.begin(), functions.end(), address,
          [](std::uint64_t value, const Function& f) { return value < f.begin; });
      if (at == functions.begin()) return nullptr;
      --at;
      return at->end <= address ? nullptr : &*at;
    }
  };

  // Namespaces and modules are searched at once. Classes are many, and their functions are
  // mostly defined outside of them.
  static void add(Dwarf_Die* unit, bool classes, Unit& to) {
    walk(unit, classes, to);
    std::sort(to.functions.begin(), to.functions.end(),
              [](const Function& a, const Function& b) { return a.begin < b.begin; });
  }
  static void walk(Dwarf_Die* around, bool classes, Unit& to) {
    Dwarf_Die child;
    if (dwarf_child(around, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      const bool is_class = tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
      if (tag == DW_TAG_subprogram) {
        Dwarf_Addr base = 0;
        Dwarf_Addr begin = 0;
        Dwarf_Addr end = 0;
        std::ptrdiff_t at = 0;
        while ((at = dwarf_ranges(&child, at, &base, &begin, &end)) > 0)
          if (begin < end) to.functions.push_back({begin, end, child});
      }
      if (tag == DW_TAG_namespace || tag == DW_TAG_module || (classes && is_class)) {
        Dwarf_Die inside = child;
        walk(&inside, classes, to);
      }
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  // Adds the functions inlined at an address.
  static void add_inlined(Dwarf_Die* around, std::uint64_t address,
                          std::vector<Dwarf_Die>& out) {
    Dwarf_Die child;
    if (dwarf_child(around, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) continue;
      if (dwarf_haspc(&child, address) != 1) continue;
      Dwarf_Die inside = child;
      add_inlined(&inside, address, out);
      if (tag == DW_TAG_inlined_subroutine) out.push_back(child);
      return;
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  std::unordered_map<const void*, Unit> units_;
};

// `address`: in the debug information.
inline void resolve_line(Dwarf_Die* unit, std::uint64_t address, Symbol& symbol) {
  Dwarf_Line* line = dwarf_getsrc_die(unit, address);
  if (line == nullptr) return;
  const char* file = dwarf_linesrc(line, nullptr, nullptr);
  int number = 0;
  if (file == nullptr || dwarf_lineno(line, &number) != 0) return;
  symbol.file = file;
  symbol.line = number > 0 ? static_cast<std::uint32_t>(number) : 0;
}

}  // namespace resolving

struct SymbolResolver::Impl {
  struct Loaded {
    Module module;
    bool tried = false;
  };
  std::vector<Loaded> modules;
  std::vector<std::pair<std::string, std::uint64_t>> reported;  // path, bias
  std::vector<std::string> complaints;
  resolving::UnitIndex units;
  resolving::FunctionIndex functions;
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
    elf_version(EV_CURRENT);  // libelf refuses all calls before this
    resolving::FileDescriptor file(module.path);
    if (file.get() < 0) return complain(module, "cannot be opened to look up names");
    const auto bias = resolving::load_bias(file.get(), module);
    if (!bias) return complain(module, "is not the file that ran");
    const auto key = std::make_pair(module.path, *bias);
    if (std::find(reported.begin(), reported.end(), key) != reported.end()) return;
    if (dwfl == nullptr) {
      dwfl = dwfl_begin(&resolving::kCallbacks);
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

}  // namespace refrain::writer
