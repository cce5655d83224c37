#include "code/loop_lines.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

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
    for (const Node node : inside_)
      for (const std::uint64_t address : instructions(node)) {
        const std::uint32_t line = line_in(scopes_.at(address));
        if (line > declared) lower(first, line);
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

}  // namespace refrain::code
