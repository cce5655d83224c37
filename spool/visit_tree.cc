#include "spool/visit_tree.h"

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
    // No loop lies in itself.
    const bool again =
        std::any_of(around.begin(), around.end(), [&](const LoopVisit* outer) {
          return outer->loop == visit.loop && end_of(*outer) > visit.first_ticks;
        });
    bool inside = false;
    while (!around.empty() && !inside) {
      LoopVisit& outer = *around.back();
      const std::uint64_t outer_end = end_of(outer);
      const bool cut_here =
          again && std::any_of(around.begin(), around.end(),
                               [&](const LoopVisit* o) { return o->loop == visit.loop; });
      if (outer_end > visit.first_ticks) {
        inside = !cut_here && end_of(visit) <= outer_end;
        // The begin of the broken iteration belongs to this loop.
        if (!inside) outer.cut_ticks = visit.first_ticks;
      }
      if (!inside) around.pop_back();
    }
    visit.level = static_cast<std::uint16_t>(around.size());
    visit.parent = around.empty() ? LoopVisit::kNoParent : around.back()->loop;
    around.push_back(&visit);
  }
}

}  // namespace refrain::spool
