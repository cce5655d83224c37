#include "code/source_scopes.h"

#include <dwarf.h>

#include <algorithm>

namespace refrain::code {

// The inlined functions of one, as a tree, and which of them has an address.
struct SourceScopes::Function {
  struct Scope {
    Dwarf_Die die;
    std::uint32_t parent;
    SourceLine call;
  };
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t scope;
  };
  std::vector<Scope> scopes;  // outer ones first
  std::vector<std::uint64_t> begins;
  std::vector<std::uint32_t> scope_of;  // from each of the begins on

  void read(Dwarf_Die* unit, Dwarf_Die die) {
    std::vector<Range> ranges;
    scopes.push_back({die, 0, {}});
    ranges.push_back({0, ~std::uint64_t{0}, 0});
    walk(unit, die, 0, ranges, 0);
    for (const Range& range : ranges) {
      begins.push_back(range.begin);
      begins.push_back(range.end);
    }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    scope_of.assign(begins.size(), 0);
    for (const Range& range : ranges) {  // inner ones over outer ones
      auto at = std::lower_bound(begins.begin(), begins.end(), range.begin);
      for (; at != begins.end() && *at < range.end; ++at)
        scope_of[static_cast<std::size_t>(at - begins.begin())] = range.scope;
    }
  }

  void walk(Dwarf_Die* unit, Dwarf_Die around, std::uint32_t scope,
            std::vector<Range>& ranges, unsigned depth) {
    constexpr unsigned kMostDepth = 200;
    constexpr std::size_t kMostScopes = 1 << 16;
    Dwarf_Die child;
    if (depth == kMostDepth || dwarf_child(&around, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
          tag == DW_TAG_catch_block) {
        walk(unit, child, scope, ranges, depth + 1);
      } else if (tag == DW_TAG_inlined_subroutine && scopes.size() < kMostScopes) {
        const auto own = static_cast<std::uint32_t>(scopes.size());
        scopes.push_back({child, scope, call_of(unit, &child)});
        Dwarf_Addr base = 0;
        Dwarf_Addr begin = 0;
        Dwarf_Addr end = 0;
        std::ptrdiff_t at = 0;
        while ((at = dwarf_ranges(&child, at, &base, &begin, &end)) > 0)
          if (begin < end) ranges.push_back({begin, end, own});
        walk(unit, child, own, ranges, depth + 1);
      }
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  std::uint32_t at(std::uint64_t address) const {
    const auto after = std::upper_bound(begins.begin(), begins.end(), address);
    return after == begins.begin()
               ? 0
               : scope_of[static_cast<std::size_t>(after - begins.begin()) - 1];
  }
};

SourceScopes::SourceScopes(Dwfl_Module* module, std::uint64_t bias)
    : module_(module), bias_(bias) {}

SourceScopes::~SourceScopes() = default;

SourceScopes::Function* SourceScopes::function_at(Dwarf_Die* unit, std::uint64_t address) {
  const Dwarf_Die* const die = functions_.function(unit, address);
  if (die == nullptr) return nullptr;
  std::unique_ptr<Function>& known = known_[die->addr];
  if (known == nullptr) {
    known = std::make_unique<Function>();
    known->read(unit, *die);
    for (const Function::Scope& scope : known->scopes) scopes_[scope.die.addr] = scope.die;
  }
  return known.get();
}

std::vector<SourceFrame> SourceScopes::at(std::uint64_t address) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit =
      module_ == nullptr ? nullptr : units_.find(module_, address + bias_, bias);
  if (unit == nullptr) return {};
  const std::uint64_t there = address + bias_ - bias;
  Function* const function = function_at(unit, there);
  if (function == nullptr) return {};
  std::vector<SourceFrame> out;
  SourceLine line = line_of(unit, there);
  for (std::uint32_t scope = function->at(there);; scope = function->scopes[scope].parent) {
    out.push_back({function->scopes[scope].die.addr, line.file, line.line});
    if (scope == 0) break;
    line = function->scopes[scope].call;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::string SourceScopes::function(const void* scope) const {
  const auto known = scopes_.find(scope);
  if (known == scopes_.end()) return {};
  Dwarf_Die die = known->second;
  return function_of(&die);
}

std::uint32_t SourceScopes::declared_at(const void* scope) const {
  const auto known = scopes_.find(scope);
  if (known == scopes_.end()) return 0;
  Dwarf_Die die = known->second;
  int line = 0;
  return dwarf_decl_line(&die, &line) == 0 ? static_cast<std::uint32_t>(line) : 0;
}

bool SourceScopes::loops_begin_outside(const void* scope) const {
  const auto known = scopes_.find(scope);
  if (known == scopes_.end()) return false;
  Dwarf_Die die = known->second;
  Dwarf_Die unit;
  if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) return false;
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
      return true;
    default:
      return false;
  }
}

}  // namespace refrain::code
