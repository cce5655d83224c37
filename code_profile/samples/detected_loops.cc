#include "code_profile/samples/detected_loops.h"

#include <algorithm>
#include <map>
#include <set>

#include "code_profile/samples/place_key.h"

namespace refrain::code_profile {
namespace {

std::map<PlaceKey, std::uint32_t> numbers_of(const std::vector<Node>& nodes) {
  std::map<PlaceKey, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) numbers.emplace(key_of(nodes[i]), i);
  return numbers;
}

// The node of the profile of each place of a process; kNone: it has no samples.
std::vector<std::uint32_t> nodes_of(const PlacedSamples& process,
                                    const std::map<PlaceKey, std::uint32_t>& numbers) {
  std::vector<std::uint32_t> nodes;
  for (const SamplePlace& place : process.places) {
    const auto found = numbers.find(key_of(place));
    nodes.push_back(found == numbers.end() ? kNone : found->second);
  }
  return nodes;
}

// Adds what `process` has in the loop whose nodes `within` marks; returns its samples.
std::uint64_t add_parts(const PlacedSamples& process,
                        const std::vector<std::uint32_t>& node_of,
                        const std::vector<bool>& within,
                        std::map<std::uint32_t, std::uint64_t>& parts) {
  std::uint64_t all = 0;
  const std::size_t count = process.nodes.size();
  // The loop's outermost visit on the way to each node of the stacks.
  std::vector<std::uint32_t> visit(count, kNone);
  for (std::uint32_t i = 0; i < count; ++i) {
    const SampleNode& node = process.nodes[i];
    if (node.parent == SampleNode::kThread) continue;
    const std::uint32_t at = node_of[node.place];
    visit[i] = visit[node.parent];
    if (visit[i] == kNone && at != kNone && within[at]) visit[i] = i;
    if (visit[i] == kNone || node.samples == 0) continue;
    all += node.samples;
    std::set<std::uint32_t> on_stack;  // recursion counts once
    for (std::uint32_t up = i;; up = process.nodes[up].parent) {
      on_stack.insert(node_of[process.nodes[up].place]);
      if (up == visit[i]) break;
    }
    for (const std::uint32_t part : on_stack)
      if (part != kNone) parts[part] += node.samples;
  }
  return all;
}

}  // namespace

std::vector<DetectedLoop> joined_loops(const LoopProfile& profile,
                                       const std::vector<PlacedSamples>& processes,
                                       std::vector<DetectedLoop> found) {
  const std::map<PlaceKey, std::uint32_t> numbers = numbers_of(profile.nodes);
  for (DetectedLoop& loop : found) {
    std::vector<bool> within;
    for (const Node& node : profile.nodes) within.push_back(is_one(node, loop));
    std::map<std::uint32_t, std::uint64_t> parts;
    if (std::ranges::find(within, true) != within.end())
      for (const PlacedSamples& process : processes)
        loop.samples += add_parts(process, nodes_of(process, numbers), within, parts);
    for (const auto& [node, samples] : parts) loop.parts.push_back({node, samples});
    std::ranges::stable_sort(
        loop.parts, [](const auto& a, const auto& b) { return a.samples > b.samples; });
  }
  std::erase_if(found, [](const DetectedLoop& loop) { return loop.parts.empty(); });
  std::ranges::stable_sort(found, [](const DetectedLoop& a, const DetectedLoop& b) {
    return a.elapsed_ns > b.elapsed_ns;
  });
  return found;
}

}  // namespace refrain::code_profile
