#include "writer/loops/loop_tree.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace refrain::writer {
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
