#include "code_profile/loop_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "addresses/resolver.h"
#include "code/debug_index.h"
#include "code_profile/raw_profile.h"

namespace refrain::code_profile {
namespace {

// Names and source lines of one process's blocks and loops.
//
// Place in the flow: between raw_profile.h and loop_profile.h; addresses are resolved by
// addresses. Thread-safety: none. Cost: two look-ups a block that ran, each address once.

struct Place {
  std::string function, file;
  std::uint32_t line = 0;
};

class SourcePlaces {
 public:
  explicit SourcePlaces(const RawProfile& raw);

  // Of the machine code's function, without what is inlined into it; empty if there is no symbol.
  std::string symbol(std::uint64_t address);
  Place function(std::uint64_t address);
  // Of a loop the line of its head or of a jump back to it, whichever is less: the line of its `for` or
  // `while`, or the first in its `do`.
  Place loop(std::uint32_t number);
  // Does the iteration that was not finished count? Yes, unless the test at the loop's head failed.
  bool counts_last(std::uint32_t loop, const RawTrips& trips);
  const std::vector<std::string>& complaints() const { return resolver_.complaints(); }

 private:
  Place first_in(const RawBlock& block);
  bool ends_at(const RawBlock& block, const Place& place);

  const RawProfile& raw_;
  addresses::Resolver resolver_;
  std::map<std::uint32_t, Place> loops_;
};

std::vector<std::string> module_texts(const RawProfile& raw) {
  std::vector<std::string> texts;
  for (const RawModule& module : raw.modules)
    if (!module.path.empty())
      texts.push_back(fmt::format("{:x} {:x} {:x} - {}", module.start, module.end,
                                  module.offset, module.path));
  return texts;
}

SourcePlaces::SourcePlaces(const RawProfile& raw)
    : raw_(raw), resolver_(module_texts(raw)) {}

std::string SourcePlaces::symbol(std::uint64_t address) {
  return resolver_.at(address).elf_symbol;
}

Place SourcePlaces::function(std::uint64_t address) {
  const addresses::Place& symbol = resolver_.at(address);
  Place place{symbol.function, symbol.file, symbol.line};
  if (!symbol.elf_symbol.empty() && symbol.linkage != symbol.elf_symbol)
    place.function = code::demangled(symbol.elf_symbol.c_str());
  return place;
}

// Of the first statement that begins in the block: what goes on from the code in front of it may be anything.
Place SourcePlaces::first_in(const RawBlock& block) {
  const addresses::Place& first = resolver_.at(block.address);
  Place place{first.function, first.file, first.line};
  const addresses::Place& before = resolver_.at(block.address - 1);
  if (before.line != place.line || before.file != place.file) return place;
  for (std::uint32_t i = 1; i < block.bytes; ++i) {
    const addresses::Place& symbol = resolver_.at(block.address + i);
    if (symbol.line != 0 && (symbol.line != place.line || symbol.file != place.file))
      return {symbol.function, symbol.file, symbol.line};
  }
  return place;
}

Place SourcePlaces::loop(std::uint32_t number) {
  const auto [known, is_new] = loops_.try_emplace(number);
  Place& place = known->second;
  if (!is_new) return place;
  const RawLoop& loop = raw_.loops[number];
  place = first_in(raw_.blocks[loop.head]);
  for (const std::uint32_t latch : loop.latches) {
    const RawBlock& block = raw_.blocks[latch];
    const addresses::Place& back =
        resolver_.at(block.address + std::max(block.bytes, 1U) - 1);
    if (back.line == 0) continue;
    // Where the head's code was inlined, the jump back tells what the loop is in.
    const bool same = back.file == place.file && back.function == place.function;
    if (place.line == 0 || !same || back.line < place.line)
      place = {back.function, back.file, back.line};
  }
  return place;
}

// Does it end with an instruction of the line?
bool SourcePlaces::ends_at(const RawBlock& block, const Place& place) {
  const addresses::Place& last =
      resolver_.at(block.address + std::max(block.bytes, 1U) - 1);
  return last.line == place.line && last.file == place.file;
}

bool SourcePlaces::counts_last(std::uint32_t number, const RawTrips& trips) {
  const RawLoop& raw = raw_.loops[number];
  if (trips.exit == kNone) return true;
  // At its end, where it may go back.
  if (std::ranges::find(raw.latches, trips.exit) != raw.latches.end()) return true;
  const Place place = loop(number);
  if (place.line == 0) return trips.exit != raw.head || !raw.head_leaves;
  // The test is what is at the loop's own line, in one block or in several: `i < n && a[i] != 0`.
  std::vector<std::uint32_t> test{raw.head};
  for (std::size_t i = 0; i < test.size(); ++i) {
    const RawBlock& block = raw_.blocks[test[i]];
    if (!ends_at(block, place)) continue;
    if (test[i] == trips.exit) return false;
    for (const std::uint32_t next : block.jumps)
      if (std::ranges::find(test, next) == test.end()) test.push_back(next);
  }
  return true;
}

void add(Counts& to, const Counts& what) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
}

Counts times(const Counts& counts, std::uint64_t by) {
  Counts out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = counts[i] * by;
  return out;
}

// Is a loop; module; of a function its symbol; else the address in the file.
using Key = std::tuple<bool, std::string, std::string, std::uint64_t>;

}  // namespace

struct ProfileBuilder::Impl {
  LoopProfile profile;
  std::map<Key, std::uint32_t> nodes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> edges;

  Node& node(const Key& key, std::uint32_t& at) {
    const auto [entry, is_new] =
        nodes.try_emplace(key, static_cast<std::uint32_t>(profile.nodes.size()));
    at = entry->second;
    if (!is_new) return profile.nodes[at];
    Node& node = profile.nodes.emplace_back();
    node.is_loop = std::get<0>(key);
    node.module = std::get<1>(key);
    return node;
  }

  void edge(std::uint32_t from, std::uint32_t to, std::uint64_t count,
            const Counts& total) {
    const auto [entry, is_new] =
        edges.try_emplace({from, to}, static_cast<std::uint32_t>(profile.edges.size()));
    if (is_new) profile.edges.push_back({from, to, 0, {}});
    profile.edges[entry->second].count += count;
    add(profile.edges[entry->second].total, total);
  }
};

namespace {

// One process on its way into the profile.
template <typename Impl>
class Adder {
 public:
  Adder(Impl& impl, const RawProfile& raw) : impl_(impl), raw_(raw), places_(raw) {}

  void add_all() {
    find_stubs();
    for (std::uint32_t i = 0; i < raw_.functions.size(); ++i)
      function_nodes_.push_back(function(i));
    loop_nodes_.assign(raw_.loops.size(), kNone);
    loop_self_.resize(raw_.loops.size());
    loop_calls_.resize(raw_.loops.size());
    children_.resize(raw_.loops.size());
    for (std::uint32_t i = 0; i < raw_.loops.size(); ++i)
      if (raw_.loops[i].exists) loop(i);
    for (const RawBlock& block : raw_.blocks) add_block(block);
    for (std::uint32_t i = 0; i < raw_.loops.size(); ++i)
      if (raw_.loops[i].exists) add_totals(i);
    for (const std::string& complaint : places_.complaints())
      impl_.profile.complaints.push_back(complaint);
  }

 private:
  // Entries of the linkage table: what they jump to is what was called.
  void find_stubs() {
    stub_of_.assign(raw_.functions.size(), kNone);
    std::map<std::uint64_t, const RawBlock*> at;
    for (const RawBlock& block : raw_.blocks) at[block.address] = &block;
    for (std::uint32_t i = 0; i < raw_.functions.size(); ++i) {
      const auto entry = at.find(raw_.functions[i].address);
      if (entry == at.end()) continue;
      const RawBlock& block = *entry->second;
      if (block.edges.size() != 1 || !block.edges.front().tail ||
          block.of_one_run[kInstructions] > 3)
        continue;
      if (block.edges.front().function != i) stub_of_[i] = block.edges.front().function;
    }
  }

  std::uint32_t callee(std::uint32_t function) const {
    for (int i = 0; i < 4 && stub_of_[function] != kNone; ++i)
      function = stub_of_[function];
    return function;
  }

  std::uint64_t in_file(std::uint64_t address, std::uint32_t module) const {
    const RawModule& of = raw_.modules[module];
    return of.path.empty() ? address : address - of.start + of.offset;
  }

  std::uint32_t function_node(std::uint64_t address, std::uint32_t module,
                              std::uint64_t entry) {
    const std::string symbol = places_.symbol(address);
    const Key key{false, raw_.modules[module].path, symbol,
                  symbol.empty() ? in_file(entry, module) : 0};
    std::uint32_t at = 0;
    Node& node = impl_.node(key, at);
    if (node.function.empty()) {
      const Place place = places_.function(entry);
      node.function = place.function;
      node.file = place.file;
      node.line = place.line;
      node.address = in_file(entry, module);
    }
    return at;
  }

  std::uint32_t function(std::uint32_t number) {
    const RawFunction& function = raw_.functions[callee(number)];
    const std::uint32_t at =
        function_node(function.address, function.module, function.address);
    if (stub_of_[number] != kNone) return at;
    Node& node = impl_.profile.nodes[at];
    for (const RawCalls& called : function.called) {
      node.entries += called.calls;
      add(node.total, called.total);
    }
    return at;
  }

  void loop(std::uint32_t number) {
    const RawLoop& loop = raw_.loops[number];
    const RawBlock& head = raw_.blocks[loop.head];
    const Key key{true, raw_.modules[head.module].path, "",
                  in_file(head.address, head.module)};
    std::uint32_t at = 0;
    Node& node = impl_.node(key, at);
    loop_nodes_[number] = at;
    if (loop.parent != kNone) children_[loop.parent].push_back(number);
    if (node.function.empty()) {
      const Place place = places_.loop(number);
      node.function = place.function;
      node.file = place.file;
      node.line = place.line;
      node.address = std::get<3>(key);
    }
    node.irreducible = node.irreducible || loop.irreducible;
    for (const RawLoopCounts& counts : loop.counts) {
      ThreadOfLoop thread{raw_.process, counts.thread, 0, counts.inherited};
      for (const RawTrips& trips : counts.trips) {
        const std::uint64_t trip =
            trips.backs + (places_.counts_last(number, trips) ? 1 : 0);
        node.trips[trip] += trips.times;
        thread.entries += trips.times;
        thread.iterations += trip * trips.times;
      }
      if (thread.entries == 0 && thread.iterations == 0) continue;
      node.entries += thread.entries;
      node.iterations += thread.iterations;
      node.threads.push_back(thread);
    }
  }

  void add_block(const RawBlock& block) {
    if (block.runs == 0) return;
    const Counts self = times(block.of_one_run, block.runs);
    add(impl_.profile.total, self);
    std::uint32_t from = kNone;
    if (block.loop != kNone) {
      from = loop_nodes_[block.loop];
      add(loop_self_[block.loop], self);
    } else if (block.function != kNone && stub_of_[block.function] != kNone) {
      add(impl_.profile.nodes[function_nodes_[block.function]].self, self);
      return;
    } else {
      const std::uint64_t entry =
          block.function == kNone ? block.address : raw_.functions[block.function].address;
      from = function_node(block.address, block.module,
                           same_module(block) ? entry : block.address);
    }
    add(impl_.profile.nodes[from].self, self);
    for (const RawCallEdge& edge : block.edges) {
      impl_.edge(from, function_nodes_[edge.function], edge.calls.calls, edge.calls.total);
      if (block.loop != kNone) add(loop_calls_[block.loop], edge.calls.total);
    }
  }

  bool same_module(const RawBlock& block) const {
    return block.function != kNone &&
           raw_.functions[block.function].module == block.module && places_same(block);
  }

  bool places_same(const RawBlock& block) const {
    return const_cast<SourcePlaces&>(places_).symbol(block.address) ==
           const_cast<SourcePlaces&>(places_).symbol(
               raw_.functions[block.function].address);
  }

  // With loops inside and calls. Where the function calls itself, only what was measured while the loop was
  // entered, once however often it is on the stack.
  Counts total(std::uint32_t number) {
    const RawLoop& loop = raw_.loops[number];
    const std::uint32_t function = raw_.blocks[loop.head].function;
    Counts sum{};
    if (function != kNone && raw_.functions[function].recursive) {
      for (const RawLoopCounts& counts : loop.counts) add(sum, counts.total);
      return sum;
    }
    add(sum, loop_self_[number]);
    add(sum, loop_calls_[number]);
    for (const std::uint32_t child : children_[number]) add(sum, total(child));
    return sum;
  }

  void add_totals(std::uint32_t number) {
    const RawLoop& loop = raw_.loops[number];
    const std::uint32_t at = loop_nodes_[number];
    const Counts sum = total(number);
    Node& node = impl_.profile.nodes[at];
    add(node.total, sum);
    std::uint64_t entries = 0;
    for (const RawLoopCounts& counts : loop.counts)
      for (const RawTrips& trips : counts.trips) entries += trips.times;
    std::uint32_t from = kNone;
    if (loop.parent != kNone) {
      from = loop_nodes_[loop.parent];
      node.parent = from;
    } else {
      const RawBlock& head = raw_.blocks[loop.head];
      from = function_node(head.address, head.module, head.address);
    }
    impl_.edge(from, at, entries, sum);
  }

  Impl& impl_;
  const RawProfile& raw_;
  SourcePlaces places_;
  std::vector<std::uint32_t> stub_of_, function_nodes_, loop_nodes_;
  std::vector<Counts> loop_self_, loop_calls_;
  std::vector<std::vector<std::uint32_t>> children_;
};

}  // namespace

ProfileBuilder::ProfileBuilder() : impl_(new Impl) {}
ProfileBuilder::~ProfileBuilder() { delete impl_; }

void ProfileBuilder::add_process(const RawProfile& raw) {
  impl_->profile.commands.push_back(raw.command);
  Adder<Impl>(*impl_, raw).add_all();
}

LoopProfile ProfileBuilder::finish() {
  LoopProfile& built = impl_->profile;
  std::vector<std::uint32_t> order(built.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  for (Node& node : built.nodes)
    // Entered otherwise than by calls: what is known is its own.
    if (!node.is_loop && node.entries == 0) node.total = node.self;
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return built.nodes[a].total[kInstructions] > built.nodes[b].total[kInstructions];
  });
  std::vector<std::uint32_t> now(built.nodes.size(), kNone);
  LoopProfile out;
  for (const std::uint32_t at : order) {
    const Node& node = built.nodes[at];
    if (node.entries == 0 && node.self[kInstructions] == 0) continue;
    now[at] = static_cast<std::uint32_t>(out.nodes.size());
    out.nodes.push_back(node);
  }
  for (Node& node : out.nodes)
    node.parent = node.parent == kNone ? kNone : now[node.parent];
  for (Node& node : out.nodes)
    for (const Node* at = &node; at != nullptr && at->is_loop;
         at = at->parent == kNone ? nullptr : &out.nodes[at->parent])
      ++node.depth;
  for (const Edge& edge : built.edges)
    if (edge.count != 0 && now[edge.from] != kNone && now[edge.to] != kNone)
      out.edges.push_back({now[edge.from], now[edge.to], edge.count, edge.total});
  out.commands = built.commands;
  out.total = built.total;
  const std::set<std::string> complaints(built.complaints.begin(), built.complaints.end());
  out.complaints.assign(complaints.begin(), complaints.end());
  return out;
}

std::string name_of(const Node& node) {
  if (!node.is_loop) return node.function;
  if (node.file.empty()) return fmt::format("{} at 0x{:x}", node.function, node.address);
  return fmt::format("{}:{}", std::filesystem::path(node.file).filename().string(),
                     node.line);
}

}  // namespace refrain::code_profile
