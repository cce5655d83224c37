// Which class the time of a new node is of.
#include "tracer/recorder/call_tree.h"
#include "tracer/recorder/excluded_regions.h"
#include "tracer/recorder/region_class.h"

namespace refrain::recorder {

using spool::CallKey;

// Address of the innermost parallel region around what lies in this one, 0: none.
std::uint64_t CallTree::team_around(const Open* open) const noexcept {
  while (open != stack_ &&
         static_cast<std::uint8_t>(open->node->what) != spool::kImplicitTaskBegin)
    --open;
  return open->node->payload;
}

bool CallTree::is_filtered(const Open* open) const noexcept {
  return open != stack_ &&
         is_excluded({open->node->what, open->node->payload}, team_around(open - 1));
}

// Of a new node in the innermost open region. Time in what the filter leaves out is that of what lies around it; others
// do not see it.
std::uint8_t CallTree::class_of_node(CallKey key, CallKey before) const noexcept {
  const std::uint8_t around = current()->cls;
  const std::uint64_t team = team_around(top_);
  if (is_excluded(key, team)) return around;
  if (is_excluded(before, team)) before = {};
  const Open* parent = top_;
  while (is_filtered(parent)) --parent;
  return static_cast<std::uint8_t>(
      class_of_region(key, {parent->node->what, parent->node->payload},
                      static_cast<base::TimeClass>(around), before));
}

}  // namespace refrain::recorder
