#include "addresses/code_sites.h"

#include <dwarf.h>

#include <algorithm>

#include "addresses/resolver_impl.h"

namespace refrain::addresses {

CodeSites::CodeSites(Resolver& symbols) : symbols_(symbols) {}

CodeSites::~CodeSites() = default;

const CodeSite& CodeSites::at_call(std::uint64_t return_address) {
  const auto [entry, is_new] = sites_.try_emplace(return_address);
  CodeSite& site = entry->second;
  if (!is_new || return_address == 0) return site;
  const std::uint64_t address = return_address - 1;
  Resolver::Impl& impl = *symbols_.impl_;
  Resolver::Impl::Loaded* const loaded = impl.find(address);
  if (loaded == nullptr) return site;
  site.module = base_name(loaded->module.path);
  if (!loaded->tried) impl.load(*loaded);
  Dwfl_Module* const module =
      impl.dwfl != nullptr ? dwfl_addrmodule(impl.dwfl, address) : nullptr;
  if (module == nullptr || !impl.trusted(module)) return site;
  site.path = loaded->module.path;
  site.bias = loaded->bias;
  site.address = address - loaded->bias;
  if (const code::SymbolIndex::Symbol symbol = impl.symbols.find(module, address);
      symbol.name != nullptr)
    site.begin = symbol.begin;
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = impl.units.find(module, address, bias);
  if (unit == nullptr) return site;
  std::vector<Dwarf_Die> scopes = impl.functions.scopes(unit, address - bias);
  CodeFrame next;  // the call is known before its function
  const code::SourceLine here = impl.line_of(unit, address - bias);
  if (here.file != nullptr) next.file = here.file;
  next.line = here.line;
  if (const Place* const region = symbols_.region_function(return_address);
      region != nullptr && region->line != 0) {
    // A call that the compiler has added may be in what was inlined in front of it.
    const std::string owner =
        region->elf_symbol.substr(0, region->elf_symbol.find("._omp_fn."));
    const auto own = std::ranges::find_if(scopes, [&](Dwarf_Die& scope) {
      const char* name = code::attribute_text(&scope, DW_AT_linkage_name);
      if (name == nullptr) name = code::attribute_text(&scope, DW_AT_name);
      return name != nullptr && name == owner;
    });
    if (own != scopes.end()) {
      scopes.erase(scopes.begin(), own);
      next.file = region->file;
      next.line = region->line;
    }
  }
  for (Dwarf_Die& scope : scopes) {
    next.function = code::function_of(&scope);
    next.scope = scope.addr;
    site.frames.insert(site.frames.begin(), next);
    next = {};
    if (dwarf_tag(&scope) == DW_TAG_subprogram) break;
    const code::SourceLine call = code::call_of(unit, &scope);
    if (call.file != nullptr) next.file = call.file;
    next.line = call.line;
  }
  return site;
}

std::string CodeSites::module_of(std::uint64_t address) const {
  const Resolver::Impl::Loaded* const loaded = symbols_.impl_->find(address);
  return loaded == nullptr ? std::string() : base_name(loaded->module.path);
}

const code::FunctionLoops* CodeSites::loops(const CodeSite& site) {
  if (site.path.empty()) return nullptr;
  const auto [at, is_new] = programs_.try_emplace(site.path);
  Dwfl* const all = symbols_.impl_->dwfl;
  if (is_new)
    at->second = code::ProgramLoops::open(
        site.path,
        all == nullptr ? nullptr : dwfl_addrmodule(all, site.address + site.bias),
        site.bias);
  return at->second == nullptr ? nullptr : at->second->at(site.address);
}

}  // namespace refrain::addresses
