#include "addresses/resolver.h"

#include <dwarf.h>

#include <algorithm>
#include <charconv>

#include "addresses/resolver_impl.h"

namespace refrain::addresses {

using resolving::hex;

namespace {

constexpr std::string_view kPython = "[python]";
constexpr char kSeparator = '\x1f';  // spool::kTextSeparator

// Its symbols say enough, and the debug information that debuggers install for it takes 50 ms to be unpacked.
bool is_system(std::string_view file) {
  return file.starts_with("libc.so.") || file.starts_with("ld-linux");
}

bool is_of_cpp_library(std::string_view file) {
  const std::size_t include = file.find("/include/");
  return include != std::string_view::npos &&
         file.find("/c++/", include) != std::string_view::npos;
}

// Where a function begins, whatever was inlined there.
code::SourceLine begin_of(Dwarf_Die* function) {
  code::SourceLine line;
  int number = 0;
  line.file = dwarf_decl_file(function);
  if (dwarf_decl_line(function, &number) == 0 && number > 0)
    line.line = static_cast<std::uint32_t>(number);
  return line;
}

// A place in what the C++ library's headers brought in is where the program calls them: std::mutex's, that of the lock. The `first` one of a
// function is the function's.
void resolve_inlined(Dwarf_Die* unit, std::vector<Dwarf_Die> scopes, bool first,
                     code::SourceLine line, Place& symbol) {
  std::size_t inner = 0;
  if (first && scopes.size() > 1) {
    inner = scopes.size() - 1;
    if (const code::SourceLine begin = begin_of(&scopes[inner]); begin.file != nullptr)
      line = begin;
  }
  for (; inner + 1 < scopes.size() && line.file != nullptr && is_of_cpp_library(line.file);
       ++inner) {
    const code::SourceLine call = code::call_of(unit, &scopes[inner]);
    if (call.file == nullptr) break;
    line = call;
  }
  if (line.file != nullptr) {
    symbol.file = line.file;
    symbol.line = line.line;
  }
  if (scopes.empty()) return;
  const char* linkage = code::attribute_text(&scopes[inner], DW_AT_linkage_name);
  symbol.function = code::function_of(&scopes[inner]);
  if (linkage != nullptr) symbol.linkage = linkage;
}

}  // namespace

std::string thread_function(const Place& function) {
  constexpr std::string_view kBefore = "std::thread::_Invoker<std::tuple<";
  // Debug information has the last part of its name only.
  const std::string name = function.function == "_M_run"
                               ? code::demangled(function.elf_symbol.c_str())
                               : function.function;
  const std::size_t before = name.find(kBefore);
  if (before == std::string::npos || name.find("::_M_run", before) == std::string::npos)
    return {};
  // The first type of the tuple; the others are of its arguments.
  const std::size_t begin = before + kBefore.size();
  std::size_t end = begin;
  for (int depth = 0; end < name.size(); ++end) {
    const char c = name[end];
    if (depth == 0 && (c == ',' || c == '>')) break;
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
  }
  while (end > begin && name[end - 1] == ' ') --end;
  return name.substr(begin, end - begin);
}

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

Resolver::Resolver(const std::vector<std::string>& module_texts)
    : impl_(std::make_unique<Impl>()) {
  for (const std::string& text : module_texts) {
    Module module;
    if (parse_module(text, module) && module.path == "[function]") {
      region_functions_.try_emplace(module.start, module.offset);
    } else if (module.path.starts_with(kPython)) {
      const std::string_view rest = std::string_view(module.path).substr(kPython.size());
      const std::size_t end = std::min(rest.find(kSeparator), rest.size());
      PythonPlace& python = python_[module.start];
      python.place.function = rest.substr(0, end);
      python.place.file = rest.substr(std::min(end + 1, rest.size()));
      python.place.line = static_cast<std::uint32_t>(module.offset);
      python.place.module = base_name(python.place.file);
      std::from_chars(module.build_id.data(),
                      module.build_id.data() + module.build_id.size(), python.call, 16);
    } else if (!module.path.empty()) {
      impl_->modules.push_back({std::move(module)});
    } else {
      impl_->complaints.push_back("damaged entry in the table of modules");
    }
  }
}

Resolver::~Resolver() = default;

const std::vector<std::string>& Resolver::complaints() const noexcept {
  return impl_->complaints;
}

const Place* Resolver::python(std::uint64_t address) const noexcept {
  const auto found = python_.find(address);
  return found == python_.end() ? nullptr : &found->second.place;
}

const Place& Resolver::at_call(std::uint64_t return_address) {
  if (return_address == 0) return at(0);
  if (const auto python = python_.find(return_address); python != python_.end()) {
    if (python->second.call != 0)
      if (const Place& call = at_call(python->second.call); call.line != 0) return call;
    return python->second.place;
  }
  if (!region_functions_.contains(return_address)) return at(return_address - 1);
  const auto [entry, is_new] = region_calls_.try_emplace(return_address);
  Place& symbol = entry->second;
  if (!is_new) return symbol;
  symbol = at(return_address - 1);
  const Place& function = *region_function(return_address);
  if (function.line != 0 && function.file == symbol.file) symbol.line = function.line;
  return symbol;
}

const Place* Resolver::region_function(std::uint64_t return_address) {
  const auto known = region_functions_.find(return_address);
  return known == region_functions_.end() ? nullptr : &at(known->second);
}

const Place& Resolver::at(std::uint64_t address) {
  if (python_.contains(address)) return at_call(address);
  const auto [entry, is_new] = cache_.try_emplace(address);
  Place& symbol = entry->second;
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
    const code::SymbolIndex::Symbol elf_symbol = impl_->symbols.find(module, address);
    const char* const name = elf_symbol.name;
    if (name != nullptr) symbol.elf_symbol = name;
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit =
        is_system(symbol.module) ? nullptr : impl_->units.find(module, address, bias);
    if (unit != nullptr) {
      resolve_inlined(unit, impl_->functions.scopes(unit, address - bias),
                      name != nullptr && elf_symbol.begin == address,
                      impl_->line_of(unit, address - bias), symbol);
    }
    if (symbol.function.empty() && name != nullptr)
      symbol.function = code::demangled(name) + "+" + hex(address - elf_symbol.begin);
  }
  if (symbol.function.empty())
    symbol.function =
        symbol.module + "+" + hex(address - loaded->module.start + loaded->module.offset);
  return symbol;
}

}  // namespace refrain::addresses
