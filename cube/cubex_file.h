// Writes an experiment as a file that Cube's tools read (.cubex).
//
// Place in the flow: ARCHITECTURE.md, stage 5. Thread-safety: any thread, not the same file.
//
// The file is a tar of anchor.xml, which has all but the values, and for each metric that has values:
//
//     N.index   "CUBEX.INDEX"  1: u32  0: u16  1: u8 (sparse)  rows: u32  row numbers: u32[rows]
//     N.data    "CUBEX.DATA"   values: 8 bytes for each location, row by row
//
// in the byte order of this machine, which readers learn by the 1. A row is a call path. Rows are not
// numbered as in anchor.xml, but in the order in which a reader adds or subtracts them:
//
//     exclusive metrics   a path, then for each child the child and what is below it
//     inclusive metrics   a path, then all its children, then for each child what is below it
//
// CubeLib takes it that behind a file of a multiple of 512 bytes there is one more block than other readers of
// tar think. No such file is written: then all readers agree.
// Source: what CubeLib 4.8 reads (Score-P 8.4, vendor/cubelib: dimensions/metric, service/cubelayout).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cube/experiment.h"

namespace refrain::cube {

// Makes the file or replaces it (base/new_file.h).
base::Result<> write_cubex(const Experiment& experiment, const std::string& file);

// For each row of an exclusive or inclusive metric its call path.
std::vector<std::uint32_t> rows_of(const Experiment& experiment, bool inclusive);

// The text of anchor.xml: what an experiment is about, without the values.
//
// Thread-safety: pure. Cost: linear, no recursion: call paths may be deep.

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
