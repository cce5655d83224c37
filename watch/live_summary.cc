#include "watch/live_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "regions/call_keys.h"
#include "regions/region_table.h"

namespace refrain::watch {
namespace {

using regions::RegionClass;
using regions::RegionKey;
using spool::CallTree;
using summary::RunSummary;

// When the team that a location is in, or was in last, has ended at the latest: workers learn of the end when the
// next one begins. `primary` opens the teams.
std::uint64_t team_end(const CallTree& primary, std::uint64_t now) {
  std::uint64_t latest = 0;
  for (const CallTree::Node& node : primary.nodes) {
    if (node.key.kind() != spool::kParallelBegin) continue;
    if (node.open) return now;
    latest = std::max(latest, node.enter_ticks);
  }
  return latest == 0 ? now : latest;
}

class Summarizer {
 public:
  explicit Summarizer(const spool::Journal& journal) : journal_(journal) {}

  void add(const CallTree& tree, const spool::SpoolFacts& facts) {
    RunSummary::Location location;
    location.reference = facts.location;
    location.number = facts.location;
    location.primary = facts.role == spool::kRolePrimary;
    location.helper = facts.role == spool::kRoleHelper;
    location.outside.time_elsewhere = tree.nodes[0].time_elsewhere;
    location.outside.regions_elsewhere = tree.nodes[0].regions_elsewhere;
    std::vector<Place> places(tree.nodes.size());
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges;
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      places[i] = place(tree.nodes[i], places[tree.nodes[i].parent].below());
      if (places[i].none) continue;
      location.sums.resize(result_.nodes.size());
      regions::add_sums(tree.nodes[i], location.sums[places[i].node]);
      if (places[i].inner == RunSummary::kNone) continue;
      CallTree::Node same = tree.nodes[i];
      same.bytes_sent = same.bytes_received = 0;
      same.messages_sent = same.messages_received = 0;
      same.time_elsewhere = same.regions_elsewhere = 0;
      regions::add_sums(same, location.sums[places[i].inner]);
      edges[{places[i].node, places[i].inner}] += same.visits;
    }
    for (const CallTree::Edge& edge : tree.edges) {
      const bool first = (edge.from & spool::kFirstChild) != 0;
      const Place& from = places[edge.from & ~spool::kFirstChild];
      if (places[edge.to].none) continue;
      edges[{first ? from.below() : from.node, places[edge.to].node}] += edge.count;
    }
    for (const auto& [ends, count] : edges)
      location.edges.push_back({ends.first, ends.second, count});
    result_.locations.push_back(std::move(location));
  }

  RunSummary take() {
    for (RunSummary::Location& location : result_.locations)
      location.sums.resize(result_.nodes.size());
    return std::move(result_);
  }

 private:
  struct Place {
    std::uint32_t node = RunSummary::kNone;
    std::uint32_t inner = RunSummary::kNone;  // of a `single`: the block inside
    bool none = false;                        // no region: `node` is that of its parent
    std::uint32_t below() const { return inner != RunSummary::kNone ? inner : node; }
  };

  Place place(const CallTree::Node& node, std::uint32_t parent) {
    if (node.key.what == spool::kOtherRegions)
      return {.node = add_node({parent, RunSummary::kNone, RunSummary::Kind::kOther,
                                RunSummary::kNone})};
    const regions::RegionKeys keys = regions::keys_of_node(node.key);
    const bool block = node.key.kind() == spool::kMutexAcquired;
    const RegionKey key = keys[block ? 1 : 0];
    if (key.cls == RegionClass::kNone) return {.node = parent, .none = true};
    const bool fork = node.key.kind() == spool::kParallelBegin;
    Place out;
    out.node = add_node({parent, region(key),
                         fork ? RunSummary::Kind::kFork : RunSummary::Kind::kRegion,
                         RunSummary::kNone});
    if (node.key.kind() == spool::kWorkBegin && keys[1].cls != RegionClass::kNone)
      out.inner = add_node(
          {out.node, region(keys[1]), RunSummary::Kind::kRegion, RunSummary::kNone});
    return out;
  }

  std::uint32_t add_node(const RunSummary::Node& node) {
    const auto next = static_cast<std::uint32_t>(result_.nodes.size());
    const auto [at, is_new] = nodes_.try_emplace(
        std::tuple{node.parent, node.region, static_cast<std::uint32_t>(node.kind)}, next);
    if (is_new) result_.nodes.push_back(node);
    return at->second;
  }

  std::uint32_t region(RegionKey key) {
    const auto next = static_cast<std::uint32_t>(result_.regions.size());
    const auto [at, is_new] = regions_.try_emplace(key.packed(), next);
    if (!is_new) return at->second;
    regions::RegionDef def;
    def.cls = key.cls;
    const char* const name = regions::class_name(key.cls);
    def.name = name == nullptr ? "region" : name;
    if (key.cls == RegionClass::kMpi) {
      const auto found =
          journal_.mpi.procedures.find(static_cast<std::uint16_t>(key.address));
      def.name = found == journal_.mpi.procedures.end() ? "MPI" : found->second;
    }
    result_.regions.push_back(
        {.reference = RunSummary::kNone,
         .name = def.name,
         .file = fmt::format("{:x}", key.address),
         .line = 0,
         .role = static_cast<std::uint32_t>(regions::role_of(def)),
         .paradigm = static_cast<std::uint32_t>(regions::paradigm_of(key.cls)),
         .canonical = {}});
    return next;
  }

  const spool::Journal& journal_;
  RunSummary result_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
  std::map<std::uint64_t, std::uint32_t> regions_;
};

}  // namespace

summary::RunSummary live_summary(std::uint32_t process, const spool::Journal& journal,
                                 const spool::SpoolFacts& facts, double ticks_per_second,
                                 const std::vector<spool::SpoolFile>& locations,
                                 std::uint64_t now) {
  std::vector<CallTree> trees;
  trees.reserve(locations.size());
  std::uint64_t ended = now;
  for (const spool::SpoolFile& file : locations) {
    trees.push_back(file.call_tree());
    for (const CallTree::Node& node : trees.back().nodes)
      now = std::max(now, node.enter_ticks);
    if (file.facts().role == spool::kRolePrimary) ended = team_end(trees.back(), now);
  }
  Summarizer all(journal);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (trees[i].nodes.empty()) continue;
    const bool primary = locations[i].facts().role == spool::kRolePrimary;
    trees[i].end_open(primary ? now : ended, now);
    all.add(trees[i], locations[i].facts());
  }
  summary::RunSummary summary = all.take();
  summary.process = process;
  if (journal.mpi.known) summary.rank = journal.mpi.rank;
  summary.host = journal.text(spool::kTextHost);
  summary.program = journal.text(spool::kTextProgram);
  summary.complete = facts.ended;
  summary.ticks_per_second = ticks_per_second;
  summary.begin = facts.start_ticks;
  summary.end = std::max(now, facts.start_ticks);
  return summary;
}

}  // namespace refrain::watch
