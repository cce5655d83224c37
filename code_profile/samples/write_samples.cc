#include "code_profile/samples/write_samples.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "addresses/code_sites.h"
#include "addresses/resolver.h"
#include "code/debug_index.h"
#include "code_profile/samples/sample_file.h"
#include "spool/sample_format.h"
#include "spool/sample_reader.h"

namespace refrain::code_profile {
namespace {

using Kind = SamplePlace::Kind;

// Places of a frame, the outermost first.
using Chain = std::vector<std::uint32_t>;

class Placer {
 public:
  explicit Placer(const std::vector<std::string>& module_texts)
      : symbols_(module_texts), sites_(symbols_) {
    for (const std::string& text : module_texts)
      if (addresses::Module module; addresses::parse_module(text, module))
        modules_.push_back(std::move(module));
  }

  PlacedSamples place(const spool::SampleTree& tree) {
    // Where the samples of a node of addresses go.
    std::vector<std::uint32_t> at(tree.nodes.size(), SampleNode::kThread);
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      const spool::SampleTree::Node& node = tree.nodes[i];
      if (node.parent == 0) {
        at[i] = child(SampleNode::kThread, number_of(node.address));
      } else {
        at[i] = at[node.parent];
        for (const std::uint32_t place : chain(node.address)) at[i] = child(at[i], place);
      }
      out_.nodes[at[i]].samples += node.samples;
    }
    const std::vector<std::string>& complaints = symbols_.complaints();
    out_.notes = complaints;
    return std::move(out_);
  }

 private:
  static std::uint32_t number_of(std::uint64_t thread) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(thread, std::numeric_limits<std::uint32_t>::max() - 1));
  }

  std::uint32_t child(std::uint32_t parent, std::uint32_t place) {
    const auto [entry, is_new] = children_.try_emplace(
        {parent, place}, static_cast<std::uint32_t>(out_.nodes.size()));
    if (is_new) out_.nodes.push_back({parent, place, 0});
    return entry->second;
  }

  // By what an address was sampled as, with kInnermost.
  const Chain& chain(std::uint64_t address) {
    const auto [entry, is_new] = chains_.try_emplace(address);
    if (is_new) entry->second = find_chain(address);
    return entry->second;
  }

  Chain find_chain(std::uint64_t sampled) {
    const std::uint64_t code = sampled & ~spool::kInnermost;
    const bool innermost = code != sampled;
    if (!innermost && code == spool::kUnknownCaller) return {unknown("[callers unknown]")};
    if (!innermost && code == spool::kDeeper) return {unknown("[deeper callers]")};
    if (code == 0) return {unknown("[unknown]")};
    // Of a frame that called something the instruction before the one it returns to.
    const std::uint64_t returns_to = innermost ? code + 1 : code;
    const std::uint64_t address = returns_to - 1;
    const addresses::Module* const module = module_at(address);
    if (module == nullptr) return {unknown("[unknown]")};
    if (!module->path.starts_with('/')) return {unknown(bracketed(module->path))};
    const addresses::CodeSite& site = sites_.at_call(returns_to);
    if (site.path.empty()) return {unknown(bracketed(file_name(module->path)))};
    const code::FunctionLoops* const function = sites_.loops(site);
    if (function == nullptr) return {without_loops(*module, site)};
    Chain chain{function_place(*module, site, *function)};
    add_loops(chain, *module, site, *function);
    return chain;
  }

  const addresses::Module* module_at(std::uint64_t address) const {
    const auto at = std::ranges::find_if(modules_, [&](const addresses::Module& module) {
      return address >= module.start && address < module.end;
    });
    return at == modules_.end() ? nullptr : &*at;
  }

  static std::string file_name(const std::string& path) {
    return path.substr(path.find_last_of('/') + 1);
  }
  static std::string bracketed(const std::string& name) {
    return name.starts_with('[') ? name : '[' + name + ']';
  }

  std::uint32_t add(SamplePlace place) {
    out_.places.push_back(std::move(place));
    return static_cast<std::uint32_t>(out_.places.size() - 1);
  }

  std::uint32_t unknown(const std::string& name) {
    const auto [entry, is_new] = unknown_.try_emplace(name);
    if (is_new) entry->second = add({.kind = Kind::kUnknown, .function = name});
    return entry->second;
  }

  // In the module's file, of an address as it ran.
  static std::uint64_t in_file(const addresses::Module& module, std::uint64_t address) {
    return address - module.start + module.offset;
  }

  // The file has no function there, or it is of a machine whose code is not read.
  std::uint32_t without_loops(const addresses::Module& module,
                              const addresses::CodeSite& site) {
    if (site.begin == 0) return unknown(bracketed(file_name(module.path)));
    const auto [entry, is_new] = functions_.try_emplace({module.path, site.begin});
    if (is_new) entry->second = function_at(module, site.begin, {});
    return entry->second;
  }

  std::uint32_t function_place(const addresses::Module& module,
                               const addresses::CodeSite& site,
                               const code::FunctionLoops& function) {
    const std::uint64_t begin = function.range.begin + site.bias;
    const auto [entry, is_new] = functions_.try_emplace({module.path, begin});
    if (is_new)
      entry->second = function_at(module, begin, std::string(function.range.name));
    return entry->second;
  }

  // Named as in the profile of exact loops (code_profile/loop_profile.cc).
  std::uint32_t function_at(const addresses::Module& module, std::uint64_t begin,
                            std::string linker_name) {
    const addresses::Place& symbol = symbols_.at(begin);
    SamplePlace place{.function = symbol.function,
                      .file = symbol.file,
                      .line = symbol.line,
                      .module = module.path,
                      .address = in_file(module, begin)};
    if (linker_name.empty() && symbol.file.empty()) {
      // The nearest name in front of it may be that of another function.
      place.function = symbol.module + "+" + hex(place.address);
    } else {
      if (linker_name.empty()) linker_name = symbol.elf_symbol;
      if (!linker_name.empty() && symbol.linkage != linker_name)
        place.function = code::demangled(linker_name.c_str());
    }
    return add(std::move(place));
  }

  static std::string hex(std::uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
  }

  // The loops of one function as places.
  struct Loops {
    std::vector<std::uint32_t> source_of;  // of a loop of the code the one of the source
    std::vector<std::uint32_t> places;     // of those
    std::vector<std::uint32_t> parents;    // among those
  };

  void add_loops(Chain& chain, const addresses::Module& module,
                 const addresses::CodeSite& site, const code::FunctionLoops& function) {
    const std::uint32_t innermost = function.innermost(site.address);
    if (innermost == code::CodeLoop::kNone) return;
    const auto [entry, is_new] = loops_.try_emplace(&function);
    if (is_new) entry->second = loop_places(module, site, function, chain.front());
    const Loops& loops = entry->second;
    for (std::uint32_t at = loops.source_of[innermost]; at != code::CodeLoop::kNone;
         at = loops.parents[at])
      chain.push_back(loops.places[at]);
    std::reverse(chain.begin() + 1, chain.end());
  }

  Loops loop_places(const addresses::Module& module, const addresses::CodeSite& site,
                    const code::FunctionLoops& function, std::uint32_t around) {
    Loops out;
    // A copy: places are added.
    const std::string name = out_.places[around].function;
    out.source_of.resize(function.loops.size());
    for (const code::SourceLoop& loop : function.by_source()) {
      const auto number = static_cast<std::uint32_t>(out.places.size());
      std::uint64_t begin = std::numeric_limits<std::uint64_t>::max();
      bool irreducible = false;
      for (const std::uint32_t part : loop.loops) {
        out.source_of[part] = number;
        begin = std::min(begin, function.loops[part].header);
        irreducible = irreducible || function.loops[part].irreducible;
      }
      out.parents.push_back(loop.parent);
      const bool known = loop.place.known();
      out.places.push_back(
          add({.kind = Kind::kLoop,
               .function = known ? loop.place.function : name,
               .file = known ? loop.place.file : std::string(),
               .line = loop.place.line,
               .module = module.path,
               .address = in_file(module, begin + site.bias),
               .parent = loop.parent == code::CodeLoop::kNone ? SamplePlace::kNone
                                                              : out.places[loop.parent],
               .irreducible = irreducible}));
    }
    return out;
  }

  std::vector<addresses::Module> modules_;
  addresses::Resolver symbols_;
  addresses::CodeSites sites_;
  PlacedSamples out_;
  std::unordered_map<std::uint64_t, Chain> chains_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;
  std::map<std::string, std::uint32_t> unknown_;
  std::map<std::pair<std::string, std::uint64_t>, std::uint32_t> functions_;
  std::unordered_map<const code::FunctionLoops*, Loops> loops_;
};

}  // namespace

PlacedSamples place_samples(const spool::SampleTree& tree,
                            const std::vector<std::string>& module_texts) {
  PlacedSamples placed = Placer(module_texts).place(tree);
  placed.period_ns = tree.period_ns;
  placed.taken = tree.taken;
  placed.shortened = tree.shortened;
  placed.lost = tree.lost;
  placed.missed = tree.missed;
  placed.not_followed = tree.not_followed;
  placed.threads = tree.threads;
  placed.threads_without = tree.threads_without;
  return placed;
}

base::Result<bool> write_samples(const std::string& spool_process_folder,
                                 const std::vector<std::string>& module_texts,
                                 const std::string& command,
                                 const std::string& archive_folder, std::uint32_t process) {
  const std::string path = spool_process_folder + "/" + kSpooledSamples;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  const auto tree = spool::read_samples(path);
  if (!tree) return tree.failure();
  PlacedSamples samples = place_samples(*tree, module_texts);
  samples.process = process;
  samples.command = command;
  if (const auto done = write_sample_file(archive_folder, samples); !done)
    return done.failure();
  return true;
}

}  // namespace refrain::code_profile
