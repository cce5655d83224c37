#include "writer/spool/visit_tree.h"

#include <algorithm>
#include <limits>

namespace refrain::spool {
namespace {

std::uint64_t end_of(const LoopVisit& visit) {
  const std::uint64_t end =
      visit.left ? visit.left_ticks : std::numeric_limits<std::uint64_t>::max();
  return std::min(end, visit.cut_ticks);
}

bool before(const LoopVisit& a, const LoopVisit& b) {
  if (a.first_ticks != b.first_ticks) return a.first_ticks < b.first_ticks;
  const std::uint64_t end_a = end_of(a);
  const std::uint64_t end_b = end_of(b);
  if (end_a != end_b) return end_a > end_b;
  return a.level < b.level;
}

}  // namespace

void nest_visits(std::vector<LoopVisit>& visits) {
  std::stable_sort(visits.begin(), visits.end(), before);
  std::vector<LoopVisit*> around;
  for (LoopVisit& visit : visits) {
    while (!around.empty()) {
      LoopVisit& outer = *around.back();
      const std::uint64_t outer_end = end_of(outer);
      if (outer_end > visit.first_ticks) {
        if (end_of(visit) <= outer_end) break;
        // What was the begin of a broken iteration belongs to this loop.
        outer.cut_ticks = visit.first_ticks;
      }
      around.pop_back();
    }
    visit.level = static_cast<std::uint16_t>(around.size());
    visit.parent = around.empty() ? LoopVisit::kNoParent : around.back()->loop;
    around.push_back(&visit);
  }
}

}  // namespace refrain::spool
