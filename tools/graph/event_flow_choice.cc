#include "tools/graph/event_flow_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/graph/drawing.h"

namespace refrain::tools {
namespace {

using summary::FlowGraph;
using summary::FlowLink;
using summary::MergedFlow;

constexpr std::size_t kFewNames = 8;

class Chooser {
 public:
  Chooser(const MergedFlow& flow, const std::vector<FlowLink>& links,
          const std::string& caller)
      : flow_(flow), links_(links), caller_(caller), used_(flow.nodes.size()) {
    out_.places.assign(flow.nodes.size(), EventFlowChoice::kNone);
    for (const FlowLink& link : links) used_[link.sums.from] = used_[link.sums.to] = true;
  }

  EventFlowChoice choose() {
    if (!caller_.empty()) match();
    if (!out_.error.empty()) return std::move(out_);
    std::vector<bool> next(flow_.nodes.size());
    for (const FlowLink& link : links_) {
      if (inside(link.sums.from)) next[link.sums.to] = true;
      if (inside(link.sums.to)) next[link.sums.from] = true;
    }
    for (std::uint32_t node = 0; node < flow_.nodes.size(); ++node)
      if (used_[node] && (inside(node) || next[node])) place(node);
    return std::move(out_);
  }

 private:
  // Which texts are the chosen caller.
  void match() {
    std::set<std::string> all;
    for (std::uint32_t node = 0; node < flow_.nodes.size(); ++node)
      if (used_[node])
        all.insert(flow_.nodes[node].callers.begin(), flow_.nodes[node].callers.end());
    for (const std::string& name : all) {
      if (name == caller_) {
        chosen_ = {name};
        return;
      }
      if (name.find(caller_) != std::string::npos) chosen_.insert(name);
    }
    if (!chosen_.empty()) return;
    if (all.empty()) {
      out_.error = "the graph has no callers: record with --mpi-frames 4 or more";
      return;
    }
    std::string names;
    std::size_t count = 0;
    for (const std::string& name : all) {
      if (count++ == kFewNames) {
        names += ", ...";
        break;
      }
      names += (names.empty() ? "" : ", ") + clean_text(name);
    }
    out_.error = fmt::format("no caller '{}'; callers are {}", caller_, names);
  }

  // How many callers lie between the chosen one and the call; kNone: it is not one of them.
  std::uint32_t depth(std::uint32_t node) const {
    const std::vector<std::string>& callers = flow_.nodes[node].callers;
    for (std::size_t i = callers.size(); i > 0; --i)
      if (chosen_.contains(callers[i - 1])) return static_cast<std::uint32_t>(i - 1);
    return EventFlowChoice::kNone;
  }

  bool inside(std::uint32_t node) const {
    return caller_.empty() || depth(node) != EventFlowChoice::kNone;
  }

  void place(std::uint32_t node) {
    const std::uint32_t below = caller_.empty() ? 0 : depth(node);
    std::string child;
    if (below != 0 && below != EventFlowChoice::kNone)
      child = flow_.nodes[node].callers[below - 1];
    std::uint32_t group = static_cast<std::uint32_t>(out_.groups.size());
    if (!child.empty()) group = children_.try_emplace(child, group).first->second;
    if (group == out_.groups.size())
      out_.groups.push_back(
          {.nodes = {}, .caller = child, .dotted = below == EventFlowChoice::kNone});
    out_.groups[group].nodes.push_back(node);
    out_.places[node] = group;
  }

  const MergedFlow& flow_;
  const std::vector<FlowLink>& links_;
  const std::string& caller_;
  std::vector<bool> used_;                         // by node
  std::set<std::string> chosen_;                   // names of callers
  std::map<std::string, std::uint32_t> children_;  // their groups
  EventFlowChoice out_;
};

}  // namespace

EventFlowChoice choose_events(const MergedFlow& flow, const std::vector<FlowLink>& links,
                              const std::string& caller) {
  return Chooser(flow, links, caller).choose();
}

}  // namespace refrain::tools
