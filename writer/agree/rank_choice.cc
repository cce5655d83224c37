#include "writer/agree/rank_choice.h"

#include <algorithm>
#include <cstddef>

namespace refrain::writer {
namespace {

using summary::MergedFlow;
using summary::RankSet;

// The ranks below `ranks` that no cluster has.
RankSet without_graph(const MergedFlow& flow, std::uint64_t ranks) {
  std::vector<bool> known(ranks);
  for (const MergedFlow::Cluster& cluster : flow.clusters)
    for (const std::uint32_t rank : cluster.ranks.lowest(ranks))
      if (rank < ranks) known[rank] = true;
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    if (!known[rank]) missing.push_back(rank);
  return RankSet::of(std::move(missing));
}

}  // namespace

RankChoice all_ranks(std::uint64_t ranks, const std::string& why) {
  RankChoice choice;
  choice.ranks = ranks;
  choice.why_all = why;
  return choice;
}

RankChoice choose_ranks(const MergedFlow& flow, std::uint64_t ranks, std::uint64_t each) {
  if (flow.clusters.empty())
    return all_ranks(ranks, "there are no event flow graphs to compare");
  const RankSet missing = without_graph(flow, ranks);
  if (!missing.empty())
    return all_ranks(ranks, (missing.size() == 1 ? "rank " : "ranks ") + missing.text() +
                                (missing.size() == 1 ? " has" : " have") +
                                " no event flow graph to compare");
  RankChoice choice;
  choice.ranks = ranks;
  std::vector<std::uint32_t> written;
  for (const MergedFlow::Cluster& cluster : flow.clusters) {
    std::vector<std::uint32_t> some = cluster.ranks.lowest(each);
    written.insert(written.end(), some.begin(), some.end());
    choice.clusters.push_back({cluster.ranks, RankSet::of(std::move(some))});
  }
  if (written.size() < ranks)
    choice.written = RankSet::of(std::move(written));
  else if (each == 1)
    choice.why_all = "no two of them have equal event flow graphs";
  else
    choice.why_all =
        "no more than " + std::to_string(each) + " of them have equal event flow graphs";
  return choice;
}

std::string words(const RankChoice& choice) {
  constexpr std::size_t kNamed = 8;
  const std::string ranks = std::to_string(choice.ranks) + " ranks: ";
  if (choice.written.empty()) return "events of all " + ranks + choice.why_all;
  std::string text = "events of " + std::to_string(choice.written.size()) + " of " + ranks;
  const char* reason = ": equal event flow graphs";
  for (std::size_t i = 0; i < std::min(kNamed, choice.clusters.size()); ++i) {
    const RankChoice::Cluster& cluster = choice.clusters[i];
    text += (i == 0 ? "" : ", ") + cluster.written.text();
    if (cluster.written == cluster.ranks) continue;
    text += " (as " + cluster.ranks.text() + reason + ")";
    reason = "";
  }
  if (choice.clusters.size() > kNamed)
    text += " and of " + std::to_string(choice.clusters.size() - kNamed) + " more clusters";
  return text;
}

std::string cluster_lines(const RankChoice& choice) {
  constexpr std::size_t kLines = 1000;
  constexpr std::size_t kParts = 64;
  std::string text;
  for (std::size_t i = 0; i < std::min(kLines, choice.clusters.size()); ++i)
    text += (i == 0 ? "" : "\n") + choice.clusters[i].written.text(kParts) + ": " +
            choice.clusters[i].ranks.text(kParts);
  return text;
}

}  // namespace refrain::writer
