#include "writer/symbols/code_sites.h"

#include "writer/symbols/resolver_impl.h"

namespace refrain::writer {

// Debug information of the returned frames, by their scope.
struct CodeSites::Scopes {
  struct Scope {
    Dwarf_Die die{};
    Dwarf_Addr bias = 0;
  };
  std::unordered_map<std::uint64_t, Scope> all;
};

namespace {

// Where an inlined call is in the source.
void call_place(Dwarf_Die* unit, Dwarf_Die* scope, CodeFrame& frame) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &value) == 0)
    frame.line = static_cast<std::uint32_t>(value);
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &value) != 0 ||
      dwarf_getsrcfiles(unit, &files, &count) != 0 || value >= count)
    return;
  const char* name = dwarf_filesrc(files, value, nullptr, nullptr);
  if (name != nullptr) frame.file = name;
}

}  // namespace

CodeSites::CodeSites(SymbolResolver& symbols)
    : symbols_(symbols), scopes_(std::make_unique<Scopes>()) {}

CodeSites::~CodeSites() = default;

const CodeSite& CodeSites::at_call(std::uint64_t return_address) {
  const auto [entry, is_new] = sites_.try_emplace(return_address);
  CodeSite& site = entry->second;
  if (!is_new || return_address == 0) return site;
  const std::uint64_t address = return_address - 1;
  SymbolResolver::Impl& impl = *symbols_.impl_;
  SymbolResolver::Impl::Loaded* const loaded = impl.find(address);
  if (loaded == nullptr) return site;
  site.module = resolving::base_name(loaded->module.path);
  if (!loaded->tried) impl.load(*loaded);
  Dwfl_Module* const module =
      impl.dwfl != nullptr ? dwfl_addrmodule(impl.dwfl, address) : nullptr;
  if (module == nullptr || !impl.trusted(module)) return site;
  GElf_Off offset = 0;
  GElf_Sym symbol{};
  if (dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr) !=
          nullptr &&
      offset < symbol.st_size) {
    site.begin = address - offset;
    site.end = site.begin + symbol.st_size;
    site.offset = site.begin - loaded->module.start + loaded->module.offset;
  }
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = impl.units.find(module, address, bias);
  if (unit == nullptr) return site;
  std::vector<Dwarf_Die> scopes = impl.functions.scopes(unit, address - bias);
  CodeFrame next;  // the call is known before its function
  Symbol here;
  resolving::resolve_line(unit, address - bias, here);
  next.file = here.file;
  next.line = here.line;
  for (Dwarf_Die& scope : scopes) {
    next.function = resolving::function_of(&scope);
    next.scope = reinterpret_cast<std::uint64_t>(scope.addr);
    scopes_->all[next.scope] = {scope, bias};
    site.frames.insert(site.frames.begin(), next);
    next = {};
    if (dwarf_tag(&scope) == DW_TAG_subprogram) break;
    call_place(unit, &scope, next);
  }
  return site;
}

std::string CodeSites::module_of(std::uint64_t address) const {
  const SymbolResolver::Impl::Loaded* const loaded = symbols_.impl_->find(address);
  return loaded == nullptr ? std::string() : resolving::base_name(loaded->module.path);
}

bool CodeSites::contains(const CodeFrame& frame, std::uint64_t address) const {
  const auto found = scopes_->all.find(frame.scope);
  if (found == scopes_->all.end()) return false;
  Dwarf_Die die = found->second.die;
  return dwarf_haspc(&die, address - found->second.bias) == 1;
}

std::vector<std::uint8_t> CodeSites::code(const CodeSite& site) const {
  constexpr std::uint64_t kMost = 512 << 10;
  std::vector<std::uint8_t> bytes;
  SymbolResolver::Impl::Loaded* const loaded = symbols_.impl_->find(site.begin);
  if (loaded == nullptr || site.end <= site.begin || site.end - site.begin > kMost)
    return bytes;
  const resolving::FileDescriptor file(loaded->module.path);
  bytes.resize(site.end - site.begin);
  if (file.get() < 0 ||
      ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(site.offset)) !=
          static_cast<ssize_t>(bytes.size()))
    bytes.clear();
  return bytes;
}

}  // namespace refrain::writer
