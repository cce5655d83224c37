#include "code_profile/samples/sampled_profile.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "code_profile/candidates.h"
#include "code_profile/samples/sample_file.h"

namespace refrain::code_profile {
namespace {

using Kind = SamplePlace::Kind;

class Builder {
 public:
  base::Result<> add(const PlacedSamples& process) {
    if (period_ == 0) period_ = process.period_ns;
    if (process.period_ns != period_)
      return base::Failure{"process " + std::to_string(process.process) +
                           " was sampled at another rate than the others"};
    profile_.commands.push_back(process.command);
    Sampling& sampling = profile_.sampling;
    sampling.taken += process.taken;
    sampling.shortened += process.shortened;
    sampling.lost += process.lost;
    sampling.missed += process.missed;
    sampling.not_followed += process.not_followed;
    sampling.threads += process.threads;
    sampling.threads_without += process.threads_without;
    complaints_.insert(process.notes.begin(), process.notes.end());
    add_places(process);
    add_nodes(process);
    return {};
  }

  LoopProfile finish() {
    profile_.unit = Unit::kSamples;
    profile_.sampling.period_ns = period_;
    profile_.complaints.assign(complaints_.begin(), complaints_.end());
    std::vector<std::uint32_t> order(profile_.nodes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
      return profile_.nodes[a].total[0] > profile_.nodes[b].total[0];
    });
    LoopProfile out = profile_;
    out.nodes.clear();
    std::vector<std::uint32_t> now(order.size(), kNone);
    for (const std::uint32_t at : order) {
      if (profile_.nodes[at].total[0] == 0) continue;
      now[at] = static_cast<std::uint32_t>(out.nodes.size());
      out.nodes.push_back(profile_.nodes[at]);
    }
    // A loop of which there are samples has at least as many in the loop around it.
    for (Node& node : out.nodes)
      if (node.parent != kNone) node.parent = now[node.parent];
    for (const auto& [ends, total] : edges_)
      if (total != 0 && now[ends.first] != kNone && now[ends.second] != kNone)
        out.edges.push_back({now[ends.first], now[ends.second], 0, Counts{total}});
    return out;
  }

 private:
  void add_places(const PlacedSamples& process) {
    nodes_of_.clear();
    for (const SamplePlace& place : process.places) {
      const bool unknown = place.kind == Kind::kUnknown;
      const auto [entry, is_new] = known_.try_emplace(
          key_of(place), static_cast<std::uint32_t>(profile_.nodes.size()));
      nodes_of_.push_back(entry->second);
      if (!is_new) continue;
      Node& node = profile_.nodes.emplace_back();
      node.is_loop = place.kind == Kind::kLoop;
      node.unknown = unknown;
      node.function = place.function;
      node.file = place.file;
      node.line = place.line;
      node.module = place.module;
      node.address = place.address;
      node.irreducible = place.irreducible;
      // Of a synthetic file, a loop may be in one that another process has in it.
      if (place.parent != SamplePlace::kNone && nodes_of_[place.parent] < entry->second)
        node.parent = nodes_of_[place.parent];
      if (node.is_loop)
        node.depth = node.parent == kNone ? 1 : profile_.nodes[node.parent].depth + 1;
    }
  }

  // What a node of the stacks has on its way from the thread to it.
  struct OnStack {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> edges;
    std::uint32_t parallel = 0;
  };

  void add_nodes(const PlacedSamples& process) {
    const std::size_t count = process.nodes.size();
    std::vector<std::uint64_t> totals(count), parallel(count);
    std::vector<std::vector<std::uint32_t>> children(count);
    std::vector<std::uint32_t> threads;
    for (std::size_t i = count; i-- > 0;) {
      const SampleNode& node = process.nodes[i];
      totals[i] += node.samples;
      if (node.parent == SampleNode::kThread) {
        threads.push_back(static_cast<std::uint32_t>(i));
        continue;
      }
      totals[node.parent] += totals[i];
      // Of the samples of the parent, those with a parallel region below it.
      parallel[node.parent] += begins_parallel(process, node) ? totals[i] : parallel[i];
      children[node.parent].push_back(static_cast<std::uint32_t>(i));
    }
    std::ranges::reverse(threads);
    times_.resize(profile_.nodes.size());
    by_place_.resize(profile_.nodes.size());
    for (const std::uint32_t thread : threads) {
      profile_.total[0] += totals[thread];
      walk(process, thread, totals, parallel, children);
    }
  }

  bool begins_parallel(const PlacedSamples& process, const SampleNode& node) const {
    const SamplePlace& place = process.places[node.place];
    return place.kind == Kind::kFunction && is_parallel(place.function);
  }

  // In the order of the stacks, without recursion: a stack may be as deep as the file is long.
  void walk(const PlacedSamples& process, std::uint32_t thread,
            const std::vector<std::uint64_t>& totals,
            const std::vector<std::uint64_t>& parallel,
            const std::vector<std::vector<std::uint32_t>>& children) {
    OnStack on_stack;
    struct Step {
      std::uint32_t node;
      std::size_t next;  // child
    };
    std::vector<Step> way{{thread, 0}};
    while (!way.empty()) {
      Step& step = way.back();
      const SampleNode& node = process.nodes[step.node];
      const bool is_thread = node.parent == SampleNode::kThread;
      if (step.next == 0 && !is_thread)
        enter(process, node, totals[step.node], parallel[step.node], on_stack);
      if (step.next < children[step.node].size()) {
        // Children were collected from the last one on.
        const auto& own = children[step.node];
        way.push_back({own[own.size() - 1 - step.next++], 0});
        continue;
      }
      if (!is_thread) leave(process, node, on_stack);
      way.pop_back();
    }
    const std::uint32_t number = process.nodes[thread].place;
    for (const std::uint32_t at : in_thread_) {
      const std::uint64_t samples = std::exchange(by_place_[at], 0);
      if (samples != 0 && profile_.nodes[at].is_loop)
        profile_.nodes[at].threads.push_back({process.process, number, 0, 0, samples});
    }
    in_thread_.clear();
    if (process.nodes[thread].samples != 0)
      profile_.sampling.not_placed["[unknown]"] += process.nodes[thread].samples;
  }

  std::uint32_t parent_of(const PlacedSamples& process, const SampleNode& node) const {
    const SampleNode& parent = process.nodes[node.parent];
    return parent.parent == SampleNode::kThread ? kNone : nodes_of_[parent.place];
  }

  void enter(const PlacedSamples& process, const SampleNode& from, std::uint64_t total,
             std::uint64_t parallel, OnStack& on_stack) {
    const std::uint32_t at = nodes_of_[from.place];
    Node& node = profile_.nodes[at];
    node.self[0] += from.samples;
    if (node.unknown && from.samples != 0)
      profile_.sampling.not_placed[node.function] += from.samples;
    if (times_[at]++ == 0) {
      node.total[0] += total;
      if (std::exchange(by_place_[at], by_place_[at] + total) == 0)
        in_thread_.push_back(at);
      node.parallel_inside += parallel;
      if (on_stack.parallel != 0) node.parallel_around += total;
    }
    if (begins_parallel(process, from)) ++on_stack.parallel;
    const std::uint32_t parent = parent_of(process, from);
    if (parent != kNone && on_stack.edges[{parent, at}]++ == 0)
      edges_[{parent, at}] += total;
  }

  void leave(const PlacedSamples& process, const SampleNode& from, OnStack& on_stack) {
    const std::uint32_t at = nodes_of_[from.place];
    --times_[at];
    if (begins_parallel(process, from)) --on_stack.parallel;
    const std::uint32_t parent = parent_of(process, from);
    if (parent != kNone && --on_stack.edges[{parent, at}] == 0)
      on_stack.edges.erase({parent, at});
  }

  std::uint64_t period_ = 0;
  LoopProfile profile_;
  std::set<std::string> complaints_;
  std::map<PlaceKey, std::uint32_t> known_;
  std::vector<std::uint32_t> nodes_of_;   // of the process' places
  std::vector<std::uint32_t> times_;      // how often each node is on the stack
  std::vector<std::uint64_t> by_place_;   // totals in one thread, by node
  std::vector<std::uint32_t> in_thread_;  // nodes with one
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges_;
};

}  // namespace

base::Result<LoopProfile> sampled_profile(const std::vector<PlacedSamples>& processes) {
  Builder builder;
  for (const PlacedSamples& process : processes)
    if (const auto done = builder.add(process); !done) return done.failure();
  return builder.finish();
}

}  // namespace refrain::code_profile

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
    within.reserve(profile.nodes.size());
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
