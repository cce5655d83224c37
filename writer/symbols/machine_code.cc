#include "writer/symbols/machine_code.h"

#include <algorithm>
#include <array>
#include <limits>

namespace refrain::writer {
namespace {

using Flow = Instruction::Flow;

// Control flow of a function, by number of instruction.
class Graph {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  Graph(const Disassembler& disassembler, std::span<const std::uint8_t> code,
        std::uint64_t begin)
      : begin_(begin) {
    std::vector<std::uint32_t> number(code.size() + 1, kNone);
    std::vector<Instruction> all;
    std::size_t at = 0;
    while (at < code.size()) {
      const Instruction one = disassembler.decode(code.subspan(at));
      if (one.bytes == 0) {
        whole_ = false;
        break;
      }
      number[at] = static_cast<std::uint32_t>(all.size());
      offsets_.push_back(at);
      all.push_back(one);
      at += one.bytes;
    }
    end_ = at;
    next_.resize(all.size(), {kNone, kNone});
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Flow flow = all[i].flow;
      if (flow == Flow::kUnknown) whole_ = false;
      if ((flow == Flow::kNext || flow == Flow::kBranch) && i + 1 < all.size())
        next_[i][0] = static_cast<std::uint32_t>(i + 1);
      if (flow != Flow::kJump && flow != Flow::kBranch) continue;
      const std::int64_t to = static_cast<std::int64_t>(offsets_[i]) + all[i].target;
      if (to < 0 || static_cast<std::size_t>(to) >= end_) continue;  // it leaves
      next_[i][1] = number[static_cast<std::size_t>(to)];
      if (next_[i][1] == kNone) whole_ = false;
    }
  }

  // Removes what cannot be reached from the function's begin: padding between blocks seems
  // to run into the next one. Not if a wanted call would go with it.
  void drop_unreachable(std::span<const std::uint32_t> wanted) {
    std::vector<bool> reached(next_.size());
    std::vector<std::uint32_t> todo;
    const auto visit = [&](std::uint32_t i) {
      if (i == kNone || i >= reached.size() || reached[i]) return;
      reached[i] = true;
      todo.push_back(i);
    };
    visit(0);
    while (!todo.empty()) {
      const std::uint32_t i = todo.back();
      todo.pop_back();
      for (const std::uint32_t to : next_[i]) visit(to);
    }
    for (const std::uint32_t call : wanted)
      if (!reached[call]) return;
    for (std::size_t i = 0; i < next_.size(); ++i)
      if (!reached[i]) next_[i] = {kNone, kNone};
  }

  bool whole() const { return whole_; }
  std::size_t size() const { return offsets_.size(); }
  std::uint64_t address(std::uint32_t i) const { return begin_ + offsets_[i]; }
  const std::array<std::uint32_t, 2>& next(std::uint32_t i) const { return next_[i]; }

  std::uint32_t at(std::uint64_t address) const {
    if (address < begin_ || address - begin_ >= end_) return kNone;
    const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), address - begin_);
    return static_cast<std::uint32_t>(after - offsets_.begin() - 1);
  }

 private:
  std::uint64_t begin_;
  std::size_t end_ = 0;
  bool whole_ = true;
  std::vector<std::size_t> offsets_;
  std::vector<std::array<std::uint32_t, 2>> next_;
};

// Marks what can be reached from `from` inside of `among`, by edges that do not lead to `cut`.
class Reach {
 public:
  Reach(const Graph& graph, const std::vector<bool>& among, std::uint32_t cut)
      : graph_(graph), among_(among), cut_(cut), back_(graph.size()) {
    for (std::uint32_t i = 0; i < graph.size(); ++i)
      for (const std::uint32_t to : graph.next(i))
        if (allowed(i, to)) back_[to].push_back(i);
  }

  std::vector<bool> forward(std::uint32_t from) const {
    return mark(from, [this](std::uint32_t i, auto visit) {
      for (const std::uint32_t to : graph_.next(i))
        if (allowed(i, to)) visit(to);
    });
  }
  std::vector<bool> backward(std::uint32_t from) const {
    return mark(from, [this](std::uint32_t i, auto visit) {
      for (const std::uint32_t to : back_[i]) visit(to);
    });
  }

 private:
  bool allowed(std::uint32_t from, std::uint32_t to) const {
    return to != Graph::kNone && to != cut_ && among_[from] && among_[to];
  }

  // Not `from` itself, unless a path leads back to it.
  template <typename Each>
  std::vector<bool> mark(std::uint32_t from, Each each) const {
    std::vector<bool> marked(graph_.size());
    std::vector<std::uint32_t> todo{from};
    while (!todo.empty()) {
      const std::uint32_t i = todo.back();
      todo.pop_back();
      each(i, [&](std::uint32_t to) {
        if (marked[to]) return;
        marked[to] = true;
        todo.push_back(to);
      });
    }
    return marked;
  }

  const Graph& graph_;
  const std::vector<bool>& among_;
  const std::uint32_t cut_;
  std::vector<std::vector<std::uint32_t>> back_;
};

// The instructions on a path from `call` back to it; none if there is no such path.
std::vector<bool> component(const Graph& graph, const std::vector<bool>& among,
                            std::uint32_t cut, std::uint32_t call) {
  const Reach reach(graph, among, cut);
  std::vector<bool> out = reach.forward(call);
  const std::vector<bool> back = reach.backward(call);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] && back[i];
  return out;
}

// Where a component is entered; the first in the code, if there are several.
std::uint32_t entry_of(const Graph& graph, const std::vector<bool>& loop) {
  std::uint32_t first = Graph::kNone;
  std::uint32_t entry = Graph::kNone;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (loop[i] && first == Graph::kNone) first = i;
    if (loop[i]) continue;
    for (const std::uint32_t to : graph.next(i))
      if (to != Graph::kNone && loop[to]) entry = std::min(entry, to);
  }
  return entry == Graph::kNone ? first : entry;
}

}  // namespace

CodeLoops loops_around(const Disassembler& disassembler, std::span<const std::uint8_t> code,
                       std::uint64_t begin, std::span<const std::uint64_t> calls) {
  constexpr std::size_t kMostLevels = 16;
  CodeLoops out;
  Graph graph(disassembler, code, begin);
  out.whole = graph.whole();
  std::vector<std::uint32_t> wanted;
  for (const std::uint64_t call : calls) wanted.push_back(graph.at(call));
  if (wanted.empty() || std::count(wanted.begin(), wanted.end(), Graph::kNone) != 0) {
    out.whole = false;
    return out;
  }
  graph.drop_unreachable(wanted);
  std::vector<bool> among(graph.size(), true);
  std::uint32_t cut = Graph::kNone;
  while (out.loops.size() < kMostLevels) {
    std::vector<bool> loop = component(graph, among, cut, wanted.front());
    const bool holds_all = std::all_of(wanted.begin(), wanted.end(),
                                       [&](std::uint32_t call) { return loop[call]; });
    if (!holds_all) break;
    cut = entry_of(graph, loop);
    CodeLoop& found = out.loops.emplace_back();
    found.entry = graph.address(cut);
    for (std::uint32_t i = 0; i < graph.size(); ++i)
      for (const std::uint32_t to : graph.next(i))
        if (loop[i] && to == cut) found.closes.push_back(graph.address(i));
    among = std::move(loop);
  }
  std::reverse(out.loops.begin(), out.loops.end());
  return out;
}

}  // namespace refrain::writer
