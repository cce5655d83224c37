#include "code/debug_index.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace refrain::code {

std::string demangled(const char* name) {
  const std::string_view mangled(name);
  const std::size_t procedure = mangled.find("_MOD_");
  if (mangled.starts_with("__") && procedure != std::string_view::npos && procedure > 2)
    return std::string(mangled.substr(2, procedure - 2)) +
           "::" + std::string(mangled.substr(procedure + 5));
  // Of other names the C++ library would make types: "f" is float.
  if (!mangled.starts_with("_Z")) return name;
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

const char* attribute_text(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

std::string function_of(Dwarf_Die* scope) {
  const char* linkage = attribute_text(scope, DW_AT_linkage_name);
  const char* name = attribute_text(scope, DW_AT_name);
  if (linkage == nullptr) return name == nullptr ? std::string() : demangled(name);
  if (name != nullptr && linkage == std::string(name) + '_') return name;
  return demangled(linkage);
}

namespace {

// In the file of the row that is found for the address. gcc has several rows at an address, of statements without code of their own, and
// for views of variables.
std::vector<std::uint32_t> lines_begun(Dwarf_Die* unit, Dwarf_Line* line,
                                       std::uint64_t address, const char* file) {
  const auto address_of = [](Dwarf_Line* row) {
    Dwarf_Addr at = 0;
    return dwarf_lineaddr(row, &at) == 0 ? at : 0;
  };
  std::vector<std::uint32_t> out;
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  if (address_of(line) != address || dwarf_getsrclines(unit, &lines, &count) != 0)
    return out;
  std::size_t first = 0;
  for (std::size_t end = count; first < end;) {
    const std::size_t middle = first + (end - first) / 2;
    if (address_of(dwarf_onesrcline(lines, middle)) < address)
      first = middle + 1;
    else
      end = middle;
  }
  for (; first < count; ++first) {
    Dwarf_Line* const row = dwarf_onesrcline(lines, first);
    if (address_of(row) != address) break;
    bool begins = false;
    int number = 0;
    const char* const of = dwarf_linesrc(row, nullptr, nullptr);
    if (dwarf_linebeginstatement(row, &begins) == 0 && begins &&
        dwarf_lineno(row, &number) == 0 && number > 0 && of != nullptr &&
        std::string_view(of) == file)
      out.push_back(static_cast<std::uint32_t>(number));
  }
  return out;
}

}  // namespace

SourceLine line_of(Dwarf_Die* unit, std::uint64_t address) {
  Dwarf_Line* line = dwarf_getsrc_die(unit, address);
  if (line == nullptr) return {};
  const char* file = dwarf_linesrc(line, nullptr, nullptr);
  int number = 0;
  if (file == nullptr || dwarf_lineno(line, &number) != 0) return {};
  return {file, number > 0 ? static_cast<std::uint32_t>(number) : 0,
          lines_begun(unit, line, address, file)};
}

namespace {

// The lines of a unit, by address.
class UnitLines {
 public:
  explicit UnitLines(Dwarf_Die* unit) {
    if (dwarf_getsrclines(unit, &lines_, &count_) != 0) count_ = 0;
  }
  std::size_t count() const { return count_; }
  std::uint64_t address(std::size_t index) const {
    Dwarf_Addr at = 0;
    return dwarf_lineaddr(dwarf_onesrcline(lines_, index), &at) == 0 ? at : 0;
  }
  // No file: it has no number.
  OtherLine at(std::size_t index) const {
    Dwarf_Line* const line = dwarf_onesrcline(lines_, index);
    int number = 0;
    if (dwarf_lineno(line, &number) != 0 || number <= 0) return {};
    return {{dwarf_linesrc(line, nullptr, nullptr), static_cast<std::uint32_t>(number)},
            address(index)};
  }
  std::size_t first_after(std::uint64_t address_) const {
    std::size_t first = 0;
    for (std::size_t last = count_; first < last;) {
      const std::size_t middle = first + (last - first) / 2;
      if (address(middle) > address_)
        last = middle;
      else
        first = middle + 1;
    }
    return first;
  }

 private:
  Dwarf_Lines* lines_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace

OtherLine line_before(Dwarf_Die* unit, std::uint64_t address, std::uint64_t begin) {
  const UnitLines lines(unit);
  for (std::size_t i = lines.first_after(address); i > 0 && lines.address(i - 1) >= begin;
       --i)
    if (const OtherLine found = lines.at(i - 1); found.line.file != nullptr) return found;
  return {};
}

OtherLine line_after(Dwarf_Die* unit, std::uint64_t address, std::uint64_t end) {
  const UnitLines lines(unit);
  for (std::size_t i = lines.first_after(address);
       i < lines.count() && lines.address(i) < end; ++i)
    if (const OtherLine found = lines.at(i); found.line.file != nullptr) return found;
  return {};
}

SourceLine call_of(Dwarf_Die* unit, Dwarf_Die* inlined) {
  SourceLine out;
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
    out.line = static_cast<std::uint32_t>(value);
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
      dwarf_getsrcfiles(unit, &files, &count) == 0 && value < count)
    out.file = dwarf_filesrc(files, value, nullptr, nullptr);
  return out;
}

Dwarf_Die* UnitIndex::find(Dwfl_Module* module, std::uint64_t address, Dwarf_Addr& bias) {
  Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
  if (unit != nullptr) return unit;
  const auto [at, is_new] = modules_.try_emplace(module);
  if (is_new) read(module, at->second);
  bias = at->second.bias;
  const auto& ranges = at->second.ranges;
  auto range =
      std::upper_bound(ranges.begin(), ranges.end(), address - bias,
                       [](std::uint64_t value, const Range& r) { return value < r.begin; });
  if (range == ranges.begin()) return nullptr;
  --range;
  if (address - bias >= range->end) return nullptr;
  unit_ = range->unit;
  return &unit_;
}

void UnitIndex::read(Dwfl_Module* module, Units& units) {
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

namespace {

// Returns true if an address is in the section of a symbol.
bool in_section_of(Dwfl_Module* module, int number, std::uint64_t address) {
  GElf_Sym symbol;
  GElf_Addr value = 0;
  GElf_Word section = SHN_UNDEF;
  Elf* file = nullptr;
  Dwarf_Addr bias = 0;
  if (dwfl_module_getsym_info(module, number, &symbol, &value, &section, &file, &bias) ==
          nullptr ||
      section >= SHN_LORESERVE)
    return false;
  GElf_Shdr header;
  if (gelf_getshdr(elf_getscn(file, section), &header) == nullptr) return false;
  return address - bias >= header.sh_addr &&
         address - bias < header.sh_addr + header.sh_size;
}

}  // namespace

void SymbolIndex::read(Dwfl_Module* module, Symbols& to) {
  const int count = dwfl_module_getsymtab(module);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr value = 0;
    GElf_Word section = SHN_UNDEF;
    const char* const name =
        dwfl_module_getsym_info(module, i, &symbol, &value, &section, nullptr, nullptr);
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (name == nullptr || name[0] == '\0' || section == SHN_UNDEF || type == STT_SECTION ||
        type == STT_FILE || type == STT_TLS)
      continue;
    const int binding = GELF_ST_BIND(symbol.st_info);
    const int rank = binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;
    (binding == STB_LOCAL ? to.local : to.global)
        .push_back({value, value + symbol.st_size, 0, rank, i});
  }
  for (std::vector<Entry>* const all : {&to.global, &to.local}) {
    // Of equals the last one here counts.
    std::sort(all->begin(), all->end(), [](const Entry& a, const Entry& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.rank != b.rank ? a.rank < b.rank : a.number > b.number;
    });
    std::uint64_t reach = 0;
    for (Entry& entry : *all) entry.reach = reach = std::max(reach, entry.end);
  }
}

SymbolIndex::Symbol SymbolIndex::find(Dwfl_Module* module, std::uint64_t address) {
  const auto [at, is_new] = modules_.try_emplace(module);
  if (is_new) read(module, at->second);
  const auto named = [module](const Entry& entry) -> Symbol {
    GElf_Sym symbol;
    GElf_Addr value = 0;
    return {dwfl_module_getsym_info(module, entry.number, &symbol, &value, nullptr, nullptr,
                                    nullptr),
            entry.begin};
  };
  const auto before = [address](const std::vector<Entry>& all) {
    return std::upper_bound(
        all.begin(), all.end(), address,
        [](std::uint64_t value, const Entry& entry) { return value < entry.begin; });
  };
  const std::vector<Entry>* const both[] = {&at->second.global, &at->second.local};
  for (const std::vector<Entry>* const all : both)
    for (auto entry = before(*all); entry != all->begin();) {
      --entry;
      if (entry->reach <= address) break;
      if (entry->end > address) return named(*entry);
    }
  // Without a size: the nearest one behind all that have one.
  std::uint64_t last = 0;
  for (const std::vector<Entry>* const all : both)
    if (const auto entry = before(*all); entry != all->begin())
      last = std::max(last, std::prev(entry)->reach);
  const Entry* found = nullptr;
  for (const std::vector<Entry>* const all : both)
    for (auto entry = before(*all); entry != all->begin();) {
      --entry;
      if (entry->begin < last || (found != nullptr && entry->begin <= found->begin)) break;
      if (in_section_of(module, entry->number, address)) found = &*entry;
    }
  return found == nullptr ? Symbol() : named(*found);
}

std::vector<Dwarf_Die> FunctionIndex::scopes(Dwarf_Die* unit, std::uint64_t address) {
  std::vector<Dwarf_Die> out;
  const Dwarf_Die* const around = function(unit, address);
  if (around == nullptr) return out;
  Dwarf_Die die = *around;
  add_inlined(&die, address, out);
  out.push_back(*around);
  return out;
}

const Dwarf_Die* FunctionIndex::function(Dwarf_Die* unit, std::uint64_t address) {
  Unit& known = units_[unit->addr];
  const Function* found = known.find(address);
  while (found == nullptr && known.looked != Depth::kFunctions) {
    known.looked = static_cast<Depth>(static_cast<int>(known.looked) + 1);
    known.functions.clear();
    add(unit, known);
    found = known.find(address);
  }
  return found == nullptr ? nullptr : &found->die;
}

const FunctionIndex::Function* FunctionIndex::Unit::find(std::uint64_t address) const {
  auto at = std::upper_bound(
      functions.begin(), functions.end(), address,
      [](std::uint64_t value, const Function& f) { return value < f.begin; });
  if (at == functions.begin()) return nullptr;
  --at;
  return at->end <= address ? nullptr : &*at;
}

// Namespaces and modules are searched at once. Classes are many, and their functions are
// mostly defined outside of them. In functions are those of Fortran's `contains`, and what
// gcc has made of OpenMP's regions.
void FunctionIndex::add(Dwarf_Die* unit, Unit& to) {
  walk(unit, to);
  std::sort(to.functions.begin(), to.functions.end(),
            [](const Function& a, const Function& b) { return a.begin < b.begin; });
}

void FunctionIndex::walk(Dwarf_Die* around, Unit& to) {
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
    const bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
    if (tag == DW_TAG_namespace || tag == DW_TAG_module ||
        (is_class && to.looked >= Depth::kClasses) ||
        (is_function && to.looked >= Depth::kFunctions)) {
      Dwarf_Die inside = child;
      walk(&inside, to);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

// Adds the functions inlined at an address.
void FunctionIndex::add_inlined(Dwarf_Die* around, std::uint64_t address,
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

}  // namespace refrain::code
