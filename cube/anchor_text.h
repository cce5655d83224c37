// The text of anchor.xml: what an experiment is about, without the values.
//
// Place in the flow: cubex_file.h. Thread-safety: pure. Cost: linear, no recursion: call paths may be deep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cube/experiment.h"

namespace refrain::cube {

std::string anchor_text(const Experiment& experiment);

// Children by parent, and last those without one.
template <typename Items>
std::vector<std::vector<std::uint32_t>> children_of(const Items& items) {
  std::vector<std::vector<std::uint32_t>> children(items.size() + 1);
  for (std::uint32_t i = 0; i < items.size(); ++i)
    children[items[i].parent < i ? items[i].parent : items.size()].push_back(i);
  return children;
}

// Goes through trees from the top down, the first child and what is below it first: calls `begin`
// and `end` of each item, around those of its children.
template <typename Begin, typename End>
void walk(const std::vector<std::vector<std::uint32_t>>& children, Begin begin, End end) {
  struct Step {
    std::uint32_t item;
    std::size_t next;
  };
  const auto top = static_cast<std::uint32_t>(children.size() - 1);
  std::vector<Step> stack = {{top, 0}};
  while (!stack.empty()) {
    Step& step = stack.back();
    if (step.next < children[step.item].size()) {
      const std::uint32_t child = children[step.item][step.next++];
      begin(child);
      stack.push_back({child, 0});
      continue;
    }
    if (step.item != top) end(step.item);
    stack.pop_back();
  }
}

}  // namespace refrain::cube
