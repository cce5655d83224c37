#include "writer/loops/loop_places.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "addresses/code_sites.h"
#include "addresses/short_name.h"
#include "code/program_loops.h"

namespace refrain::writer {
namespace {

using Frames = std::vector<spool::CallChain::Frame>;

bool is_runtime(std::string_view module) {
  for (const std::string_view name :
       {"librefrain", "libomp", "libgomp", "libiomp", "libmpi", "libpmpi", "libc.so",
        "libc-", "libpthread", "ld-linux", "libgcc_s"})
    if (module.starts_with(name)) return true;
  return false;
}

class PlaceFinder {
 public:
  PlaceFinder(const spool::Journal& journal, const std::vector<LoopNode>& tree,
              addresses::Resolver& resolver)
      : journal_(journal), tree_(tree), resolver_(resolver), sites_(resolver) {}

  std::map<std::uint32_t, LoopPlace> find() {
    options_.resize(tree_.size());
    for (std::size_t i = 0; i < tree_.size(); ++i) options_[i] = options_of(chains_of(i));
    std::vector<std::set<std::uint64_t>> taken(tree_.size());
    for (std::size_t i = tree_.size(); i-- > 0;) {
      const std::size_t parent = tree_[i].parent;
      const auto code = journal_.loop_code.find(tree_[i].loop);
      LoopPlace place =
          code != journal_.loop_code.end() ? place_of(code->second) : choose(i, taken[i]);
      if (parent != LoopNode::kNoParent)
        taken[parent].insert(taken[i].begin(), taken[i].end());
      if (place.known()) out_[tree_[i].loop] = std::move(place);
    }
    return std::move(out_);
  }

 private:
  // A function on the way, with its calls through which events came.
  struct Candidate {
    std::vector<std::uint64_t> returns;
    std::vector<const addresses::CodeSite*> sites;
  };

  // A loop of the machine code that may be the detected loop; innermost first.
  struct Option {
    std::uint64_t entry = 0;
    LoopPlace place;
  };
  struct Options {
    std::vector<Option> loops;
    LoopPlace fallback;
  };

  static bool has(const spool::Loop& loop, const spool::LoopBodyEvent& place) {
    if (loop.body.size() < loop.body_events) return true;  // not all of it is known
    return std::find(loop.body.begin(), loop.body.end(), place) != loop.body.end();
  }

  // The loop's own chains; if it was left before there were any, those of its events in a
  // loop around it, or else in any.
  std::vector<Frames> chains_of(std::size_t index) {
    const auto known = journal_.loops.find(tree_[index].loop);
    if (known == journal_.loops.end() || known->second.body.empty()) return {};
    for (std::size_t i = index; i != LoopNode::kNoParent; i = tree_[i].parent) {
      std::vector<Frames> chains = chains_in(known->second, tree_[i].loop);
      if (!chains.empty()) return chains;
    }
    return chains_in(known->second, std::nullopt);
  }

  std::vector<Frames> chains_in(const spool::Loop& of, std::optional<std::uint32_t> in) {
    std::vector<Frames> chains;
    for (const spool::CallChain& chain : journal_.chains) {
      const bool there = !in || std::find(chain.loops.begin(), chain.loops.end(), *in) !=
                                    chain.loops.end();
      if (there && has(of, chain.place)) add(chains, chain.frames);
    }
    return chains;
  }

  void add(std::vector<Frames>& to, const Frames& frames) {
    Frames users = frames;
    // If the event's place is not an address, the chain begins in the tracer.
    while (!users.empty() && is_runtime(sites_.module_of(users.front().address)))
      users.erase(users.begin());
    if (!users.empty() && std::find(to.begin(), to.end(), users) == to.end())
      to.push_back(std::move(users));
  }

  Options options_of(const std::vector<Frames>& chains) {
    Options out;
    if (chains.empty()) return out;
    bool several = false;
    for (const Candidate& candidate : candidates(chains)) {
      const addresses::CodeSite& site = *candidate.sites.front();
      if (site.frames.empty()) continue;
      const code::FunctionLoops* const function = sites_.loops(site);
      for (const code::CodeLoop* loop : loops_around(function, candidate))
        out.loops.push_back({loop->header, place_of(candidate, loop)});
      const bool calls = candidate.returns.size() > 1;
      if (!out.fallback.known() || (!several && calls))
        out.fallback = place_of(candidate, nullptr);
      several |= calls;
    }
    return out;
  }

  // The loops of the function around all of the calls, innermost first.
  static std::vector<const code::CodeLoop*> loops_around(
      const code::FunctionLoops* function, const Candidate& candidate) {
    std::vector<const code::CodeLoop*> out;
    if (function == nullptr) return out;
    const auto holds_all = [&](std::uint32_t loop) {
      return std::all_of(candidate.sites.begin(), candidate.sites.end(),
                         [&](const addresses::CodeSite* site) {
                           const code::Node node = function->blocks.at(site->address);
                           return node != code::kNoNode &&
                                  function->forest.contains(loop, node);
                         });
    };
    std::uint32_t loop = function->innermost(candidate.sites.front()->address);
    for (; loop != code::CodeLoop::kNone; loop = function->loops[loop].parent)
      if (holds_all(loop)) out.push_back(&function->loops[loop]);
    return out;
  }

  // Inner loops have chosen before. What they have taken is not available to a loop around
  // them; but where two detected loops are the same loop of the program, the next one
  // outwards stays available if it is the first that a loop around it could be.
  LoopPlace choose(std::size_t index, std::set<std::uint64_t>& taken) const {
    const Options& own = options_[index];
    if (own.loops.empty()) return own.fallback;
    const std::uint64_t innermost = own.loops.front().entry;
    std::set<std::uint64_t> of_outer;
    for (std::size_t i = tree_[index].parent; i != LoopNode::kNoParent; i = tree_[i].parent)
      if (!options_[i].loops.empty()) of_outer.insert(options_[i].loops.front().entry);
    for (const Option& option : own.loops) {
      if (option.entry != innermost && of_outer.contains(option.entry)) break;
      if (taken.insert(option.entry).second) return option.place;
    }
    return own.loops.front().place;
  }

  // Of a loop that was found by its code.
  LoopPlace place_of(const spool::LoopCode& code) {
    if (!code.function.empty())
      return {.function = code.function,
              .file = code.file,
              .first_line = code.first_line,
              .last_line = code.last_line,
              .code = addresses::base_name(code.file) + ':' + code.function +
                      offset_text(code.header)};
    Candidate candidate;
    const addresses::Place* python = nullptr;
    for (const std::uint64_t call : code.calls)
      if (const addresses::Place* const line = resolver_.python(call); line != nullptr)
        python = line;
      else
        add_site(candidate, call);
    if (candidate.sites.empty()) return {};
    const addresses::CodeSite& site = *candidate.sites.front();
    const code::FunctionLoops* const function = sites_.loops(site);
    const std::uint64_t header = code.header - site.bias;
    const code::CodeLoop* loop = nullptr;
    if (function != nullptr)
      for (const code::CodeLoop& each : function->loops)
        if (each.header == header) loop = &each;
    LoopPlace out = place_of(candidate, loop);
    out.code = site.module + offset_text(header);
    if (out.known()) return out;
    // Without debug information: the line of Python code that it is called from, or the function and the offset in it, or the place in the file.
    if (python != nullptr)
      return {.function = python->function,
              .file = python->file,
              .first_line = python->line,
              .last_line = python->line,
              .code = out.code};
    const addresses::Place& place = resolver_.at(code.header);
    const bool named =
        !place.elf_symbol.empty() && site.begin != 0 && site.begin <= code.header;
    std::string name = addresses::short_name(place.function);
    name.resize(std::min(name.size(), name.rfind("+0x")));
    out.function = named ? name + offset_text(code.header - site.begin) : out.code;
    return out;
  }

  static std::string offset_text(std::uint64_t offset) {
    char text[32];
    std::snprintf(text, sizeof text, "+0x%llx", static_cast<unsigned long long>(offset));
    return text;
  }

  // From the innermost shared function outwards.
  std::vector<Candidate> candidates(const std::vector<Frames>& chains) {
    const Frames& first = chains.front();
    std::size_t shared = first.size();  // outer frames that all have
    for (const Frames& chain : chains) {
      const std::size_t most = std::min(shared, chain.size());
      std::size_t same = 0;
      while (same < most &&
             chain[chain.size() - 1 - same] == first[first.size() - 1 - same])
        ++same;
      shared = same;
    }
    std::vector<Candidate> out;
    // The function where they part, called by the shared ones.
    Candidate inner;
    for (const Frames& chain : chains) {
      if (chain.size() == shared ||
          is_runtime(sites_.module_of(inner_address(chain, shared)))) {
        inner = {};
        break;
      }
      add_site(inner, inner_address(chain, shared));
      if (inner.sites.back()->begin != inner.sites.front()->begin) {
        inner = {};
        break;
      }
    }
    if (!inner.sites.empty() && (shared != 0 || chains.size() == 1))
      out.push_back(std::move(inner));
    for (std::size_t i = first.size() - shared; i < first.size(); ++i)
      if (!is_runtime(sites_.module_of(first[i].address)))
        add_site(out.emplace_back(), first[i].address);
    return out;
  }

  // The first address inside the frames that chains share.
  static std::uint64_t inner_address(const Frames& chain, std::size_t shared) {
    return chain[chain.size() - 1 - shared].address;
  }

  void add_site(Candidate& to, std::uint64_t address) {
    if (std::find(to.returns.begin(), to.returns.end(), address) != to.returns.end())
      return;
    to.returns.push_back(address);
    to.sites.push_back(&sites_.at_call(address));
  }

  // How many functions, from the outermost inwards, are around all of the calls.
  static std::size_t shared_functions(const Candidate& candidate) {
    const std::vector<addresses::CodeFrame>& frames = candidate.sites.front()->frames;
    std::size_t depth = frames.size();
    for (const addresses::CodeSite* site : candidate.sites) {
      std::size_t same = 0;
      while (same < std::min(depth, site->frames.size()) &&
             site->frames[same].scope == frames[same].scope)
        ++same;
      depth = same;
    }
    return depth;
  }

  // From the loop's own line to that of the last call in it. Where its line is not known,
  // from the first call, in the innermost function around all of them.
  static LoopPlace place_of(const Candidate& candidate, const code::CodeLoop* loop) {
    std::size_t depth = shared_functions(candidate);
    if (depth == 0) return {};
    const std::vector<addresses::CodeFrame>& frames = candidate.sites.front()->frames;
    const code::SourcePlace* const known =
        loop != nullptr && loop->place.known() && loop->place.depth < depth &&
                frames[loop->place.depth].scope == loop->place.scope
            ? &loop->place
            : nullptr;
    if (known != nullptr) depth = known->depth + 1;
    const addresses::CodeFrame& frame = frames[depth - 1];
    LoopPlace out{.function = addresses::short_name(frame.function),
                  .file = known != nullptr ? known->file : frame.file,
                  .first_line = known != nullptr ? known->line : frame.line,
                  .last_line = known != nullptr ? known->line : frame.line,
                  .code = {}};
    for (const addresses::CodeSite* site : candidate.sites) {
      const addresses::CodeFrame& call = site->frames[depth - 1];
      if (call.file != out.file || call.line == 0) continue;
      out.first_line = std::min(out.first_line, call.line);
      out.last_line = std::max(out.last_line, call.line);
    }
    if (loop != nullptr) {
      out.code = candidate.sites.front()->module + offset_text(loop->header);
    }
    return out;
  }

  const spool::Journal& journal_;
  const std::vector<LoopNode>& tree_;
  addresses::Resolver& resolver_;
  addresses::CodeSites sites_;
  std::vector<Options> options_;
  std::map<std::uint32_t, LoopPlace> out_;
};

}  // namespace

std::string LoopPlace::text() const {
  std::string out = function;
  if (file.empty()) return out;
  out += ' ' + addresses::base_name(file);
  if (first_line != 0) out += ':' + std::to_string(first_line);
  if (last_line != first_line) out += '-' + std::to_string(last_line);
  return out;
}

std::map<std::uint32_t, LoopPlace> loop_places(const spool::Journal& journal,
                                               const std::vector<LoopNode>& tree,
                                               addresses::Resolver& resolver) {
  return PlaceFinder(journal, tree, resolver).find();
}

namespace {

constexpr std::uint32_t kNoLoop = spool::LoopVisit::kNoParent;

struct Known {
  std::uint64_t first_ticks = ~std::uint64_t{0};
  std::map<std::uint32_t, std::uint64_t> visits_by_parent;
  std::uint32_t parent = kNoLoop;
  bool placed = false;
};
using AllKnown = std::map<std::uint32_t, Known>;

AllKnown known_loops(const spool::Journal& journal) {
  AllKnown all;
  for (const auto& [id, loop] : journal.loops) all[id];
  for (const spool::LoopVisit& visit : journal.visits) {
    Known& loop = all[visit.loop];
    loop.first_ticks = std::min(loop.first_ticks, visit.first_ticks);
    ++loop.visits_by_parent[visit.parent];
  }
  for (const spool::SkippedSummary& skipped : journal.summaries) {
    Known& loop = all[skipped.loop];
    loop.first_ticks = std::min(loop.first_ticks, skipped.ticks);
    loop.visits_by_parent[skipped.parent] += skipped.visits;
  }
  for (auto& [id, loop] : all) {
    const auto& parents = loop.visits_by_parent;
    const auto most =
        std::max_element(parents.begin(), parents.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != parents.end() && most->first != id && all.contains(most->first))
      loop.parent = most->first;
  }
  return all;
}

class TreeBuilder {
 public:
  explicit TreeBuilder(AllKnown all) : all_(std::move(all)) {
    for (const auto& [id, loop] : all_) children_[loop.parent].push_back(id);
    for (auto& [parent, children] : children_)
      std::sort(children.begin(), children.end(), [this](std::uint32_t a, std::uint32_t b) {
        return std::tuple(all_[a].first_ticks, a) < std::tuple(all_[b].first_ticks, b);
      });
  }

  std::vector<LoopNode> build() {
    for (const std::uint32_t loop : children_[kNoLoop]) place(loop, LoopNode::kNoParent, 0);
    // Visits that contradict each other about the nesting of two loops.
    for (const auto& [id, loop] : all_)
      if (!loop.placed) place(id, LoopNode::kNoParent, 0);
    return std::move(out_);
  }

 private:
  void place(std::uint32_t loop, std::size_t parent, std::uint16_t level) {
    if (all_[loop].placed) return;
    all_[loop].placed = true;
    const std::size_t index = out_.size();
    out_.push_back({loop, parent, level, all_[loop].first_ticks});
    for (const std::uint32_t inner : children_[loop])
      place(inner, index, static_cast<std::uint16_t>(level + 1));
  }

  AllKnown all_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> children_;
  std::vector<LoopNode> out_;
};

}  // namespace

std::vector<LoopNode> loop_tree(const spool::Journal& journal) {
  return TreeBuilder(known_loops(journal)).build();
}

}  // namespace refrain::writer
