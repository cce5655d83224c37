#include "code/program_loops.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "code/debug_files.h"

namespace refrain::code {
namespace {

const Dwfl_Callbacks kCallbacks = {
    .find_elf = nullptr,
    .find_debuginfo = find_debug_file,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

}  // namespace

// The file as libdwfl knows it, where nobody else has it open.
struct ProgramLoops::Module {
  Dwfl* all = nullptr;
  Dwfl_Module* module = nullptr;

  explicit Module(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    all = dwfl_begin(&kCallbacks);
    if (all != nullptr) {
      dwfl_report_begin(all);
      module = dwfl_report_elf(all, path.c_str(), path.c_str(), file, 0, true);
      dwfl_report_end(all, nullptr, nullptr);
    }
    if (module == nullptr) ::close(file);  // else libdwfl closes it
  }
  ~Module() {
    if (all != nullptr) dwfl_end(all);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
};

std::unique_ptr<ProgramLoops> ProgramLoops::open(const std::string& path) {
  std::unique_ptr<ElfImage> image = ElfImage::open(path);
  if (image == nullptr) return nullptr;
  auto own = std::make_unique<Module>(path);
  Dwfl_Module* const module = own->module;
  return std::unique_ptr<ProgramLoops>(
      new ProgramLoops(std::move(image), std::move(own), module, 0));
}

std::unique_ptr<ProgramLoops> ProgramLoops::open(const std::string& path,
                                                 Dwfl_Module* module, std::uint64_t bias) {
  std::unique_ptr<ElfImage> image = ElfImage::open(path);
  if (image == nullptr) return nullptr;
  return std::unique_ptr<ProgramLoops>(
      new ProgramLoops(std::move(image), nullptr, module, bias));
}

ProgramLoops::ProgramLoops(std::unique_ptr<ElfImage> image, std::unique_ptr<Module> own,
                           Dwfl_Module* module, std::uint64_t bias)
    : image_(std::move(image)),
      own_(std::move(own)),
      disassembler_(image_->machine()),
      scopes_(module, bias),
      reader_(*image_, disassembler_) {
  Dwarf_Addr debug_bias = 0;
  Dwarf* const debug =
      module == nullptr ? nullptr : dwfl_module_getdwarf(module, &debug_bias);
  if (debug != nullptr && dwarf_getelf(debug) != nullptr)
    image_->add_symbols(dwarf_getelf(debug));
  for (const FunctionRange& function : image_->functions()) {
    const std::size_t cold = function.name.find(".cold");
    if (cold != std::string_view::npos) by_name_[function.name.substr(0, cold)] = {};
  }
  if (by_name_.empty()) return;
  for (const FunctionRange& function : image_->functions())
    if (const auto whole = by_name_.find(function.name); whole != by_name_.end())
      whole->second = function;
}

ProgramLoops::~ProgramLoops() = default;

// The function that a part belongs to which the compiler moved away.
FunctionRange ProgramLoops::whole(const FunctionRange& part) {
  const std::size_t cold = part.name.find(".cold");
  if (cold == std::string_view::npos) return part;
  const auto known = by_name_.find(part.name.substr(0, cold));
  return known == by_name_.end() || known->second.end == 0 ? part : known->second;
}

const FunctionLoops* ProgramLoops::at(std::uint64_t address) {
  const FunctionRange* const found = image_->function_at(address);
  if (found == nullptr) return nullptr;
  FunctionRange function = whole(*found);
  for (int i = 0; i < 2; ++i, function = *found) {
    std::unique_ptr<FunctionLoops>& known = known_[function.begin];
    if (known == nullptr)
      known = std::make_unique<FunctionLoops>(loops_of(reader_, function, &scopes_));
    // Parts of the same name may be of several functions.
    if (function.begin == found->begin || known->reached(address)) return known.get();
  }
  return known_[found->begin].get();
}

FunctionLoops loops_of(FlowReader& reader, const FunctionRange& function,
                       SourceScopes* scopes) {
  FunctionLoops out;
  out.range = function;
  out.blocks = reader.read(function);
  if (out.blocks.entry == kNoNode) return out;
  out.forest = natural_loops(out.blocks.next, out.blocks.entry);
  const std::vector<Block>& blocks = out.blocks.blocks;
  for (std::uint32_t i = 0; i < out.forest.loops.size(); ++i) {
    const NaturalLoop& loop = out.forest.loops[i];
    CodeLoop& made = out.loops.emplace_back();
    made.header = blocks[loop.header].begin;
    made.parent = loop.parent;
    made.depth = loop.depth;
    made.irreducible = loop.irreducible;
    for (const Node entry : loop.entries) made.entries.push_back(blocks[entry].begin);
    for (const Node close : loop.closes) made.closes.push_back(blocks[close].last);
    if (scopes != nullptr) made.place = place_of(out.blocks, out.forest, i, *scopes);
  }
  return out;
}

std::uint32_t FunctionLoops::innermost(std::uint64_t address) const {
  const Node node = blocks.at(address);
  return node == kNoNode ? CodeLoop::kNone : forest.loop_of[node];
}

std::vector<SourceLoop> FunctionLoops::by_source() const {
  std::vector<SourceLoop> out;
  using Key = std::pair<std::pair<std::string, std::string>, std::uint32_t>;
  std::map<std::pair<Key, std::uint32_t>, std::uint32_t> known;
  std::vector<std::uint32_t> group(loops.size());
  for (std::uint32_t i = 0; i < loops.size(); ++i) {
    const CodeLoop& loop = loops[i];
    const SourcePlace& place = loop.place;
    // A loop directly inside of one of the same place is the same, cut in two by the compiler.
    std::uint32_t parent =
        loop.parent == CodeLoop::kNone ? loop.parent : group[loop.parent];
    if (parent != CodeLoop::kNone && place.known() &&
        out[parent].place.line == place.line && out[parent].place.file == place.file &&
        out[parent].place.function == place.function) {
      group[i] = parent;
      out[parent].loops.push_back(i);
      continue;
    }
    const Key key{{place.file, place.function}, place.line};
    const auto [at, is_new] =
        known.try_emplace({key, parent}, static_cast<std::uint32_t>(out.size()));
    if (is_new || !place.known()) {
      group[i] = static_cast<std::uint32_t>(out.size());
      out.push_back({place, {i}, parent});
    } else {
      group[i] = at->second;
      out[at->second].loops.push_back(i);
    }
  }
  return out;
}

}  // namespace refrain::code
