#include "writer/agree/rank_choice.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "exchange/tree.h"
#include "summary/merged_flow.h"
#include "writer/model/process_flow.h"

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

namespace {

using Models = std::vector<std::unique_ptr<ProcessModel>>;

// What goes down the tree.
struct WantedRanks {
  summary::RankSet ranks;  // empty: all
};
void put(exchange::ByteWriter& out, const WantedRanks& wanted) {
  out.number(wanted.ranks.empty() ? 0 : 1);
  if (!wanted.ranks.empty()) put(out, wanted.ranks);
}
void take(exchange::ByteReader& in, WantedRanks& wanted) {
  if (in.number_to(1) != 0) take(in, wanted.ranks);
}

// Of its locations together.
summary::MergedFlow flow_of(const ProcessModel& model,
                            const regions::RegionTable& regions) {
  summary::FlowGraph all;
  for (const spool::SpoolFile& file : model.spool().locations)
    if (!file.call_tree().nodes.empty())
      all = summary::sum(all, flow_graph_of(file.flow_graph(), model, regions));
  return summary::merged_flow(all, static_cast<std::uint32_t>(model.rank()),
                              model.ticks_per_second());
}

RanksResult result_of(const RankChoice& choice, std::uint64_t each) {
  constexpr std::size_t kParts = 4096;
  return {.policy = "representatives=" + std::to_string(each),
          .written = choice.written.empty() ? "all" : choice.written.text(kParts),
          .clusters = cluster_lines(choice),
          .why = words(choice)};
}

}  // namespace

RanksResult choose_representatives(exchange::Exchange& exchange,
                                   const WriteOptions& options, const Models& models,
                                   const regions::RegionTable& regions) {
  const std::uint64_t ranks = std::max<std::uint64_t>(exchange.size(), models.size());
  const std::uint64_t each = options.representatives;
  if (each == 0 || ranks < 2) return {};
  if (options.recovered)
    return result_of(
        all_ranks(ranks, "a recovered archive has what each rank recorded until the end"),
        each);
  std::vector<summary::MergedFlow> own;
  for (const auto& model : models)
    if (model->rank() != kNever) own.push_back(flow_of(*model, regions));
  std::optional<summary::MergedFlow> flow = exchange::merge_in_tree(std::move(own));
  exchange::gather_up(exchange, flow);
  std::optional<WantedRanks> wanted;
  RanksResult result;
  if (flow) {
    try {
      const RankChoice choice = choose_ranks(*flow, ranks, each);
      wanted = WantedRanks{choice.written};
      result = result_of(choice, each);
    } catch (const std::exception&) {
      wanted.reset();  // the others wait for it
    }
  }
  exchange::send_down(exchange, wanted);
  if (!wanted)
    throw exchange::RoundFailed("another process could not send its event flow graph");
  if (wanted->ranks.empty()) return result;
  for (const auto& model : models)
    model->want_events(model->blank() ||
                       wanted->ranks.contains(static_cast<std::uint32_t>(model->rank())));
  return result;
}

}  // namespace refrain::writer
