// Which class the time of a new node is of.
#include "tracer/recorder/call_tree.h"
#include "tracer/recorder/excluded_regions.h"
#include "tracer/recorder/region_class.h"

namespace refrain::recorder {

using spool::CallKey;

// Address of the innermost parallel region around what lies in `node`, 0: none.
std::uint64_t CallTree::team_around(std::uint32_t node) const noexcept {
  while (node != spool::kRootNode &&
         static_cast<std::uint8_t>(nodes_[node].what) != spool::kImplicitTaskBegin)
    node = nodes_[node].parent;
  return nodes_[node].payload;
}

bool CallTree::is_filtered(std::uint32_t node) const noexcept {
  return node != spool::kRootNode && is_excluded({nodes_[node].what, nodes_[node].payload},
                                                 team_around(nodes_[node].parent));
}

// Time in what the filter leaves out is that of what lies around it; others do not see it.
std::uint8_t CallTree::class_of_node(CallKey key, std::uint32_t parent,
                                     CallKey before) const noexcept {
  const std::uint8_t around = nodes_[parent].cls;
  const std::uint64_t team = team_around(parent);
  if (is_excluded(key, team)) return around;
  if (is_excluded(before, team)) before = {};
  while (is_filtered(parent)) parent = nodes_[parent].parent;
  return static_cast<std::uint8_t>(
      class_of_region(key, {nodes_[parent].what, nodes_[parent].payload},
                      static_cast<base::TimeClass>(around), before));
}

}  // namespace refrain::recorder
