// Runs made by hand, for tests of control flow: regions are entered and left, by name, and the
// summary is what follows from that. Header only.
#pragma once

#include <otf2/otf2.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/flow/control_flow.h"
#include "analysis/profile/run_profile.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

class SyntheticProcess {
 public:
  SyntheticProcess(std::uint32_t number, std::size_t threads) : threads_(threads) {
    summary_.process = summary_.rank = number;
    summary_.program = "made-up";
    summary_.locations.resize(threads);
    for (std::uint32_t i = 0; i < threads; ++i) {
      summary_.locations[i].reference = summary_.locations[i].number = i;
      summary_.locations[i].primary = i == 0;
    }
  }

  // Words: a name enters a region, "." leaves the innermost; "fork:NAME" enters a fork. What each
  // word does takes `ticks`. "(3 ... )" is done three times; brackets do not lie in each other.
  void run(std::size_t thread, const std::string& text, std::uint64_t ticks = 1) {
    std::istringstream words(text);
    std::vector<std::string> round;
    int times = 0;
    for (std::string word; words >> word;) {
      if (word.front() == '(') {
        times = std::stoi(word.substr(1));
        round.clear();
      } else if (word == ")") {
        for (; times > 0; --times)
          for (const std::string& each : round) step(thread, each, ticks);
      } else if (times > 0) {
        round.push_back(word);
      } else {
        step(thread, word, ticks);
      }
    }
  }

  // As a table that is full: transitions to this region that are counted nowhere.
  void forget(std::size_t thread, const std::string& region, std::uint64_t count) {
    for (auto& [ends, number] : threads_[thread].edges)
      if (name_of(ends.second) == region) number -= std::min(number, count);
  }

  summary::RunSummary summary() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      summary::RunSummary::Location& location = summary_.locations[i];
      location.sums = threads_[i].sums;
      location.sums.resize(summary_.nodes.size());
      location.edges.clear();
      for (const auto& [ends, count] : threads_[i].edges)
        location.edges.push_back({ends.first, ends.second, count});
      summary_.end = std::max(summary_.end, threads_[i].now);
    }
    return summary_;
  }

 private:
  static constexpr std::uint32_t kNone = summary::RunSummary::kNone;
  struct Frame {
    std::uint32_t node = kNone;
    std::uint64_t begin = 0;
    std::uint32_t latest = kNone;
  };
  struct Thread {
    std::vector<Frame> stack = {Frame{}};
    std::vector<summary::RunSummary::Sums> sums;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges;
    std::uint64_t now = 0;
  };

  const std::string& name_of(std::uint32_t node) const {
    return summary_.regions[summary_.nodes[node].region].name;
  }

  void step(std::size_t number, std::string word, std::uint64_t ticks) {
    Thread& thread = threads_[number];
    thread.now += ticks;
    if (word == ".") {
      const Frame frame = thread.stack.back();
      thread.stack.pop_back();
      thread.sums.resize(std::max(thread.sums.size(), summary_.nodes.size()));
      summary::RunSummary::Sums& sums = thread.sums[frame.node];
      ++sums.visits;
      sums.time += thread.now - frame.begin;
      sums.greatest = std::max(sums.greatest, thread.now - frame.begin);
      return;
    }
    const bool fork = word.starts_with("fork:");
    if (fork) word.erase(0, 5);
    Frame& outer = thread.stack.back();
    const std::uint32_t node = node_index(
        outer.node, word,
        fork ? summary::RunSummary::Kind::kFork : summary::RunSummary::Kind::kRegion);
    ++thread.edges[{outer.latest == kNone ? outer.node : outer.latest, node}];
    outer.latest = node;
    thread.stack.push_back({.node = node, .begin = thread.now});
  }

  std::uint32_t node_index(std::uint32_t parent, const std::string& name,
                           summary::RunSummary::Kind kind) {
    const auto [region, new_region] =
        regions_.try_emplace(name, static_cast<std::uint32_t>(summary_.regions.size()));
    if (new_region)
      summary_.regions.push_back({.reference = region->second,
                                  .name = name,
                                  .file = "/made/up.c",
                                  .line = region->second + 1,
                                  .role = OTF2_REGION_ROLE_FUNCTION,
                                  .paradigm = OTF2_PARADIGM_USER});
    const auto [node, new_node] =
        nodes_.try_emplace({parent, region->second, static_cast<int>(kind)},
                           static_cast<std::uint32_t>(summary_.nodes.size()));
    if (new_node) summary_.nodes.push_back({parent, region->second, kind, kNone});
    return node->second;
  }

  summary::RunSummary summary_;
  std::vector<Thread> threads_;
  std::map<std::string, std::uint32_t> regions_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, int>, std::uint32_t> nodes_;
};

// "A > B: 0,1x5 2x4" for each transition of the level in this region ("": the program), sorted;
// locations by index.
inline std::vector<std::string> transitions(const RunProfile& profile,
                                            const ControlFlow& flow,
                                            const std::string& region) {
  const auto name = [&](std::uint32_t path) {
    return profile.regions[profile.paths[path].region].name;
  };
  const auto place = [&](const ControlFlow::Place& at) -> std::string {
    switch (at.kind) {
      case ControlFlow::Kind::kStart:
        return "start";
      case ControlFlow::Kind::kEnd:
        return "end";
      case ControlFlow::Kind::kUnknown:
        return "?";
      default:
        return name(at.path);
    }
  };
  std::vector<std::string> out;
  for (const ControlFlow::Level& level : flow.levels) {
    if ((level.parent == ControlFlow::kNone ? "" : name(level.parent)) != region) continue;
    for (const ControlFlow::Edge& edge : level.edges) {
      std::string text = place(edge.from) + " > " + place(edge.to) + ":";
      for (const ControlFlow::Part& part : edge.parts) {
        for (std::size_t i = 0; i < part.locations.size(); ++i)
          text += (i == 0 ? " " : ",") + std::to_string(part.locations[i]);
        text += "x" + std::to_string(part.count);
      }
      out.push_back(text);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline std::vector<bool> all_of(const RunProfile& profile) {
  return std::vector<bool>(profile.locations.size(), true);
}

}  // namespace refrain::analysis
