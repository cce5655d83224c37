#include "code/loop_lines.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace refrain::code {
namespace {

using Frames = std::vector<SourceFrame>;

class Lines {
 public:
  Lines(const BlockGraph& blocks, const LoopForest& forest, std::uint32_t loop,
        SourceScopes& scopes)
      : blocks_(blocks), forest_(forest), loop_(loop), scopes_(scopes) {
    for (Node node = 0; node < blocks.blocks.size(); ++node)
      if (forest.contains(loop, node)) inside_.push_back(node);
  }

  SourcePlace find() {
    const std::vector<Frames> turns = turns_of();
    SourcePlace out;
    for (const Frames& frames : turns) narrow(frames);
    if (shared_.empty()) return out;
    for (const Frames& frames : turns)
      if (file_ == nullptr && frame_of(frames)->line != 0) file_ = frame_of(frames)->file;
    std::uint32_t turn = 0;
    for (const Frames& frames : turns) lower(turn, line_in(frames));
    std::uint32_t first = turn;
    std::uint32_t last = turn;
    // What the compiler keeps in registers for a whole function may be loaded in a loop.
    const std::uint32_t declared = scopes_.declared_at(shared_.back());
    std::set<std::uint32_t> lines, begun;
    for (const Node node : inside_)
      for (const std::uint64_t address : instructions(node)) {
        const Frames frames = scopes_.at(address);
        const SourceFrame* const frame = frame_of(frames);
        if (frame == nullptr) continue;
        lines.insert(line_in(frames));
        begun.insert(frame->begun.begin(), frame->begun.end());
      }
    for (const std::uint32_t line : lines) {
      if (line > declared && begun.contains(line)) lower(first, line);
      last = std::max(last, line);
    }
    if (turn == 0) return out;
    const std::vector<std::uint32_t> before = lines_before();
    const bool entered = std::find(before.begin(), before.end(), turn) != before.end();
    const bool fortran = scopes_.loops_begin_outside(shared_.back());
    const bool counted = fortran && closes_at(turn);
    out.line = first < turn && !entered && !counted ? first : turn;
    if (first == last && !entered && fortran) out.line = begin_outside(before, turn);
    out.scope = shared_.back();
    out.depth = static_cast<std::uint32_t>(shared_.size() - 1);
    out.function = scopes_.function(out.scope);
    if (file_ != nullptr) out.file = file_;
    return out;
  }

 private:
  static void lower(std::uint32_t& line, std::uint32_t other) {
    if (other != 0 && (line == 0 || other < line)) line = other;
  }

  // Of the jumps back and the branches out.
  std::vector<Frames> turns_of() {
    std::vector<Frames> out;
    const auto& closes = forest_.loops[loop_].closes;
    for (const Node node : inside_) {
      bool turns = std::find(closes.begin(), closes.end(), node) != closes.end();
      if (blocks_.blocks[node].branches)
        for (const Node to : blocks_.next.next(node)) turns |= !forest_.contains(loop_, to);
      if (!turns) continue;
      Frames frames = frames_at_end(node);
      if (!frames.empty()) out.push_back(std::move(frames));
    }
    return out;
  }

  bool closes_at(std::uint32_t line) {
    return std::ranges::any_of(forest_.loops[loop_].closes, [&](Node node) {
      return line_in(frames_at_end(node)) == line;
    });
  }

  // Of a block's last instruction, or, where it has no line, of one just before it.
  Frames frames_at_end(Node node) {
    constexpr std::size_t kLast = 3;
    const auto all = instructions(node);
    Frames frames;
    for (std::size_t i = 0; i < std::min(kLast, all.size()); ++i) {
      frames = scopes_.at(all[all.size() - 1 - i]);
      if (!frames.empty() && frames.back().line != 0) break;
    }
    return frames;
  }

  // The functions around all turns.
  void narrow(const Frames& frames) {
    if (!started_) {
      started_ = true;
      for (const SourceFrame& frame : frames) shared_.push_back(frame.scope);
      return;
    }
    std::size_t same = 0;
    while (same < std::min(shared_.size(), frames.size()) &&
           shared_[same] == frames[same].scope)
      ++same;
    shared_.resize(same);
  }

  // Of the loop's function; null: the instruction is not in it.
  const SourceFrame* frame_of(const Frames& frames) const {
    if (frames.size() < shared_.size()) return nullptr;
    const SourceFrame& frame = frames[shared_.size() - 1];
    return frame.scope == shared_.back() ? &frame : nullptr;
  }

  std::uint32_t line_in(const Frames& frames) const {
    const SourceFrame* const frame = frame_of(frames);
    if (frame == nullptr || frame->file == nullptr || file_ == nullptr) return 0;
    return std::strcmp(frame->file, file_) == 0 ? frame->line : 0;
  }

  std::span<const std::uint64_t> instructions(Node node) const {
    const Block& block = blocks_.blocks[node];
    return std::span(blocks_.instructions).subspan(block.first, block.count);
  }

  // Of what runs last before the loop.
  std::vector<std::uint32_t> lines_before() {
    constexpr std::size_t kLast = 8;
    std::vector<std::uint32_t> lines;
    for (Node node = 0; node < blocks_.blocks.size(); ++node) {
      bool enters = false;
      for (const Node to : blocks_.next.next(node))
        for (const Node entry : forest_.loops[loop_].entries) enters |= to == entry;
      if (!enters || forest_.contains(loop_, node)) continue;
      const auto all = instructions(node);
      for (const std::uint64_t address : all.last(std::min(kLast, all.size())))
        lines.push_back(line_in(scopes_.at(address)));
    }
    return lines;
  }

  // The nearest line above, if it is near.
  static std::uint32_t begin_outside(const std::vector<std::uint32_t>& before,
                                     std::uint32_t line) {
    constexpr std::uint32_t kNear = 5;
    std::uint32_t found = 0;
    for (const std::uint32_t one : before)
      if (one < line && line - one <= kNear) found = std::max(found, one);
    return found == 0 ? line : found;
  }

  const BlockGraph& blocks_;
  const LoopForest& forest_;
  const std::uint32_t loop_;
  SourceScopes& scopes_;
  std::vector<Node> inside_;
  bool started_ = false;
  std::vector<const void*> shared_;
  const char* file_ = nullptr;
};

}  // namespace

SourcePlace place_of(const BlockGraph& blocks, const LoopForest& forest, std::uint32_t loop,
                     SourceScopes& scopes) {
  return Lines(blocks, forest, loop, scopes).find();
}

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
    constexpr std::size_t kMaxScopes = 1 << 16;
    Dwarf_Die child;
    if (depth == kMostDepth || dwarf_child(&around, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
          tag == DW_TAG_catch_block) {
        walk(unit, child, scope, ranges, depth + 1);
      } else if (tag == DW_TAG_inlined_subroutine && scopes.size() < kMaxScopes) {
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
    const bool begins = !line.begun.empty();
    out.push_back({function->scopes[scope].die.addr, line.file, line.line,
                   std::exchange(line.begun, {})});
    if (scope == 0) break;
    line = function->scopes[scope].call;
    if (begins) line.begun = {line.line};
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
