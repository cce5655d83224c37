#include "code/call_flow.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <utility>

#include "base/loaded_symbols.h"

namespace refrain::code {
namespace {

constexpr std::size_t kMaxInstructions = 40'000;
constexpr unsigned kMaxJumps = 4;  // one after another
constexpr std::size_t kMaxTargets = 64;
#if defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
constexpr std::uint16_t kMachine = EM_X86_64;
#endif

bool no_stop(Node, Node) { return false; }

// The graph of a function, its blocks cut after calls.
struct CutGraph {
  Digraph next;
  std::vector<std::uint64_t> begins;  // of each node
  std::vector<std::uint64_t> ends;
  std::vector<std::pair<std::uint64_t, Node>>
      calls;  // return address; node that ends with it
  std::vector<std::pair<Node, LeavingJump>> leaving;
  Node entry = kNoNode;

  explicit CutGraph(const BlockGraph& blocks);
  // That ends with a call; kNoNode: it is none.
  Node at(std::uint64_t call) const {
    const auto found =
        std::lower_bound(calls.begin(), calls.end(), std::pair{call, Node{0}});
    return found == calls.end() || found->first != call ? kNoNode : found->second;
  }
};

CutGraph::CutGraph(const BlockGraph& blocks) {
  std::vector<std::pair<Node, Node>> edges;
  std::vector<Node> first;  // of each block
  std::vector<Node> last;
  std::vector<std::pair<Node, Node>> again;  // ends with setjmp(), and what follows
  for (const Block& block : blocks.blocks) {
    first.push_back(static_cast<Node>(begins.size()));
    begins.push_back(block.begin);
    auto call = std::upper_bound(blocks.calls.begin(), blocks.calls.end(), block.begin);
    for (; call != blocks.calls.end() && *call <= block.end; ++call) {
      const auto node = static_cast<Node>(begins.size() - 1);
      calls.emplace_back(*call, node);
      if (*call == block.end) continue;
      edges.emplace_back(node, node + 1);
      ends.push_back(*call);
      begins.push_back(*call);
    }
    ends.push_back(block.end);
    last.push_back(static_cast<Node>(begins.size() - 1));
  }
  for (Node block = 0; block < first.size(); ++block)
    for (const Node to : blocks.next.next(block))
      edges.emplace_back(last[block], first[to]);
  if (blocks.entry != kNoNode) entry = first[blocks.entry];
  std::sort(calls.begin(), calls.end());
  for (const LeavingJump& jump : blocks.leaving)
    if (const Node block = blocks.at(jump.address); block != kNoNode)
      leaving.emplace_back(last[block], jump);
  next = Digraph(begins.size(), edges);
  if (blocks.returns_again.empty()) return;
  for (const std::uint64_t call : blocks.returns_again) {
    const Node node = at(call);
    if (node == kNoNode) continue;
    const std::vector<bool> reached = reached_from(next, {node}, no_stop);
    for (const auto& [after, from] : calls)
      if (reached[from])
        for (const Node to : next.next(node)) edges.emplace_back(from, to);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  next = Digraph(begins.size(), edges);
}

}  // namespace

struct CallFlow::Object {
  MappedImage image;
  FlowReader reader;

  Object(const dl_phdr_info& info, CallFlow& flow)
      : image(info),
        reader(image, flow.disassembler_, kMaxInstructions,
               [&flow](std::string_view name) { return flow.never_returns(name); }) {}
};

struct CallFlow::Function {
  std::uint64_t begin;
  Object* object;
  Trust trust;
  CutGraph graph;
  HeadedLoops loops;
  std::vector<std::vector<std::uint64_t>> around;  // headers, outermost first, of each loop
  std::vector<bool> ends_with_call;                // of each node; empty: not asked for yet
  std::unique_ptr<FrameWrites> writes;
  std::vector<CarriedWord> words;  // of each loop

  Function(Object& in, const FunctionRange& range, const BlockGraph& blocks)
      : begin(range.begin),
        object(&in),
        trust(blocks.entry == kNoNode ? Trust::kNone
              : blocks.whole()        ? Trust::kWhole
                                      : Trust::kGuessed),
        graph(blocks),
        loops(headed_loops(graph.next, graph.entry)),
        around(loops.loops.size()) {
    for (std::uint32_t i = 0; i < around.size(); ++i) {
      if (loops.loops[i].header == kNoNode) continue;  // taken into the one around it
      for (std::uint32_t at = i; at != kNoNode; at = loops.loops[at].parent)
        around[i].push_back(graph.begins[loops.loops[at].header]);
      std::reverse(around[i].begin(), around[i].end());
    }
  }
};

CallFlow::Carried CallFlow::carried(std::uint64_t call, std::size_t loop) noexcept try {
  const Place at = place(call);
  if (at.function == nullptr || at.function->trust != Trust::kWhole) return {};
  Function& in = *at.function;
  std::uint32_t number = in.loops.loop_of[at.node];
  std::size_t depth = loops(call).size();
  if (loop >= depth) return {};
  for (; depth != loop + 1; --depth) number = in.loops.loops[number].parent;
  if (in.words.empty()) {
    in.ends_with_call.assign(in.graph.begins.size(), false);
    for (const auto& [after, node] : in.graph.calls) in.ends_with_call[node] = true;
    in.words.resize(in.loops.loops.size());
  }
  const CutCode code{in.graph.next, in.graph.begins, in.graph.ends, in.ends_with_call,
                     in.graph.entry};
  if (in.writes == nullptr)
    in.writes = std::make_unique<FrameWrites>(code, in.object->image, disassembler_);
  CarriedWord& carried = in.words[number];
  if (!carried.searched) {
    carried = in.writes->find(code, in.loops, number);
    carried.searched = true;
  }
  if (carried.phases.empty() || carried.phases[at.node] == CarriedWord::Phase::kUnknown)
    return {};
  return {carried.word, true, carried.phases[at.node] == CarriedWord::Phase::kLate};
} catch (...) {
  return {};
}

CallFlow::CallFlow() : disassembler_(kMachine) {}

CallFlow::~CallFlow() = default;

std::span<const std::uint64_t> CallFlow::loops(std::uint64_t call) noexcept {
  const Place at = place(call);
  if (at.function == nullptr) return {};
  const std::uint32_t loop = at.function->loops.loop_of[at.node];
  return loop == kNoNode ? std::span<const std::uint64_t>() : at.function->around[loop];
}

std::uint64_t CallFlow::function(std::uint64_t call) noexcept { return place(call).begin; }

CallFlow::Trust CallFlow::trust(std::uint64_t call) noexcept {
  const Place at = place(call);
  return at.function == nullptr ? Trust::kNone : at.function->trust;
}

bool CallFlow::forward(std::uint64_t from, std::uint64_t to) noexcept try {
  const Place a = place(from);
  const Place b = place(to);
  if (a.begin != b.begin && a.begin != 0 && b.begin != 0) return false;
  if (a.function == nullptr || b.function == nullptr) return true;
  return goes_forward(a.function->graph.next, a.function->loops, a.node, b.node);
} catch (...) {
  return true;
}

std::span<const std::uint64_t> CallFlow::jumps(std::uint64_t call) noexcept {
  const JumpsOfCall* const found = jumps_of(call);
  return found == nullptr ? std::span<const std::uint64_t>() : found->to;
}

bool CallFlow::jumps_anywhere(std::uint64_t call) noexcept {
  const JumpsOfCall* const found = jumps_of(call);
  return found == nullptr || found->anywhere;
}

std::uint64_t CallFlow::callee(std::uint64_t call) noexcept try {
#if defined(__aarch64__)
  constexpr std::uint64_t kBytes = 4;
#else
  constexpr std::uint64_t kBytes = 5;
#endif
  Object* const object = object_at(call - 1);
  if (object == nullptr || !disassembler_.available()) return 0;
  const Instruction one = disassembler_.decode(object->image.bytes(call - kBytes));
  if (one.bytes != kBytes || one.flow != Instruction::Flow::kCall || !one.direct) return 0;
  std::uint64_t target = call - kBytes + static_cast<std::uint64_t>(one.target);
  if (const auto slot = object->reader.slot_of_stub(target))
    target = object->image.word(*slot).value_or(0);
  Object* const in = object_at(target);
  const FunctionRange* const range =
      in == nullptr ? nullptr : in->image.function_at(target);
  return range == nullptr ? 0 : range->begin;
} catch (...) {
  return 0;
}

void CallFlow::exclude(std::uint64_t address) noexcept try {
  Object* const object = object_at(address);
  const FunctionRange* const range =
      object == nullptr ? nullptr : object->image.function_at(address);
  if (range == nullptr || !excluded_.insert(range->begin).second) return;
  std::erase_if(places_,
                [&](const auto& each) { return each.second.begin == range->begin; });
} catch (...) {
  return;
}

void CallFlow::refresh() noexcept try { list_objects(); } catch (...) {
  return;
}

CallFlow::Place CallFlow::place(std::uint64_t call) noexcept try {
  if (const auto known = places_.find(call); known != places_.end()) return known->second;
  return places_[call] = find(call);
} catch (...) {
  return {};
}

CallFlow::Place CallFlow::find(std::uint64_t call) {
  Object* const object = object_at(call - 1);
  const FunctionRange* const range =
      object == nullptr ? nullptr : object->image.function_at(call - 1);
  if (range == nullptr) return {};
  const auto in = [&](const FunctionRange& owner) -> Place {
    Function* const function = analysed(*object, owner);
    const Node node = function == nullptr ? kNoNode : function->graph.at(call);
    return {node == kNoNode ? nullptr : function, node, owner.begin};
  };
  // Who jumps into the midst of another function may be a part of it.
  const Place own = in(*range);
  if (own.node != kNoNode &&
      std::none_of(
          own.function->graph.leaving.begin(), own.function->graph.leaving.end(),
          [&](const auto& each) { return into_midst(*object, each.second.target); }))
    return own;
  constexpr int kMaxOwners = 4;
  int tried = 0;
  for (const std::uint64_t target : object->reader.jumps_out_of(*range)) {
    if (!into_midst(*object, target) || tried++ == kMaxOwners) continue;
    const Place other = in(*object->image.function_at(target));
    if (other.node != kNoNode || excluded_.contains(other.begin)) return other;
  }
  return own;
}

bool CallFlow::into_midst(Object& object, std::uint64_t target) {
  const FunctionRange* const owner = object.image.function_at(target);
  return owner != nullptr && owner->begin != target && !object.reader.slot_of_stub(target);
}

CallFlow::Object* CallFlow::object_at(std::uint64_t address) {
  for (int i = 0; i < 2; ++i) {
    for (const auto& object : objects_)
      if (object->image.executable(address)) return object.get();
    std::pair<std::uint64_t, std::uint64_t> counts;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
          *static_cast<decltype(counts)*>(data) = {info->dlpi_adds, info->dlpi_subs};
          return 1;
        },
        &counts);
    if (counts == std::pair{loaded_, unloaded_}) return nullptr;
    list_objects();
  }
  return nullptr;
}

void CallFlow::list_objects() {
  struct List {
    CallFlow* self;
    std::vector<std::unique_ptr<Object>> old;
    std::vector<const MappedImage*> added;
    bool failed = false;
  } list{this, std::move(objects_), {}};
  objects_.clear();
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        List& to = *static_cast<List*>(data);
        CallFlow& self = *to.self;
        self.loaded_ = info->dlpi_adds;
        self.unloaded_ = info->dlpi_subs;
        try {
          const auto known = std::find_if(
              to.old.begin(), to.old.end(),
              [&](const auto& each) { return each != nullptr && each->image.is(*info); });
          if (known != to.old.end()) {
            self.objects_.push_back(std::move(*known));
          } else {
            self.objects_.push_back(std::make_unique<Object>(*info, self));
            to.added.push_back(&self.objects_.back()->image);
          }
        } catch (...) {
          to.failed = true;
        }
        return to.failed ? 1 : 0;
      },
      &list);
  if (list.failed) loaded_ = unloaded_ = 0;
  std::erase_if(list.old, [](const auto& each) { return each == nullptr; });
  const auto gone = [&](const Object* object) {
    return std::any_of(list.old.begin(), list.old.end(),
                       [&](const auto& each) { return each.get() == object; });
  };
  std::erase_if(excluded_, [&](std::uint64_t begin) {
    return std::any_of(list.old.begin(), list.old.end(),
                       [&](const auto& each) { return each->image.executable(begin); });
  });
  if (!list.old.empty()) {
    jumps_.clear();
    never_returns_.clear();
  }
  // What was not known may be now.
  std::erase_if(places_, [&](const auto& each) {
    return each.second.function == nullptr || gone(each.second.function->object);
  });
  std::erase_if(functions_, [&](const auto& each) {
    return each.second == nullptr || gone(each.second->object);
  });
  for (const MappedImage* image : list.added) find_interpreter(*image);
}

// Of the function that the program's calls of this name go to.
bool CallFlow::never_returns(std::string_view name) {
  const std::string text(name.substr(0, name.find('@')));
  if (const auto known = never_returns_.find(text); known != never_returns_.end())
    return known->second;
  bool& never = never_returns_[text];
  const auto at = reinterpret_cast<std::uint64_t>(base::symbol_of(text.c_str()));
  // Not objects that were not known yet: those that are looked at would move.
  for (const auto& object : objects_)
    if (object->image.executable(at)) never = object->reader.never_comes_back(at);
  return never;
}

void CallFlow::find_interpreter(const MappedImage& image) {
  const bool program = image.path().empty();
  if (!program && image.path().find("python") == std::string::npos) return;
  if (image.code().empty()) return;
  const auto at = reinterpret_cast<std::uint64_t>(base::symbol_in(
      reinterpret_cast<const void*>(image.code()[0].first), "_PyEval_EvalFrameDefault"));
  for (const auto& object : objects_)
    if (const FunctionRange* const range = object->image.function_at(at); range != nullptr)
      excluded_.insert(range->begin);
}

// Null: it could not be.
CallFlow::Function* CallFlow::analysed(Object& object, const FunctionRange& range) {
  if (excluded_.contains(range.begin) || !disassembler_.available()) return nullptr;
  if (const auto known = functions_.find(range.begin); known != functions_.end())
    return known->second.get();
  const BlockGraph blocks = object.reader.read(range);
  cut_ += blocks.cut;
  std::unique_ptr<Function> made;
  if (blocks.entry != kNoNode) made = std::make_unique<Function>(object, range, blocks);
  return (functions_[range.begin] = std::move(made)).get();
}

const CallFlow::JumpsOfCall* CallFlow::jumps_of(std::uint64_t call) noexcept try {
  const Place at = place(call);
  if (at.function == nullptr) return nullptr;
  if (const auto known = jumps_.find(call); known != jumps_.end() && known->second.settled)
    return &known->second;
  JumpsOfCall made{{}, false, true};
  add_jumps(*at.function, {at.node}, kMaxJumps, made);
  return &(jumps_[call] = std::move(made));
} catch (...) {
  return nullptr;
}

void CallFlow::add_jumps(const Function& function, const std::vector<Node>& from,
                         unsigned depth, JumpsOfCall& out) {
  std::vector<bool> reached = reached_from(function.graph.next, from, no_stop);
  for (const Node node : from) reached[node] = true;
  for (const auto& [node, jump] : function.graph.leaving) {
    if (!reached[node]) continue;
    std::uint64_t target = jump.target;
    auto slot = jump.through_slot ? std::optional(jump.target)
                                  : function.object->reader.slot_of_stub(jump.target);
    if (slot) target = function.object->image.word(*slot).value_or(0);
    if (target == 0) {
      out.anywhere = out.anywhere || !slot;
      continue;
    }
    Object* const object = object_at(target);
    const FunctionRange* const range =
        object == nullptr ? nullptr : object->image.function_at(target);
    const bool begins = range != nullptr && range->begin == target;
    if (slot && !begins && (object == nullptr || object == function.object)) {
      out.settled = false;  // the loader fills it when it is first used
      continue;
    }
    if (range == nullptr && !slot) continue;
    // (Of functions in assembly there may be no table.)
    const std::uint64_t to = slot && !begins ? target : range->begin;
    if (to == function.begin || std::find(out.to.begin(), out.to.end(), to) != out.to.end())
      continue;
    if (out.to.size() == kMaxTargets) return;
    out.to.push_back(to);
    Function* const next =
        depth == 1 || (slot && !begins) ? nullptr : analysed(*object, *range);
    if (next != nullptr) add_jumps(*next, {next->graph.entry}, depth - 1, out);
  }
}

}  // namespace refrain::code
