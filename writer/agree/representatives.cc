#include "writer/agree/representatives.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "exchange/tree.h"
#include "summary/flow_exchange.h"
#include "summary/merged_flow.h"
#include "writer/agree/rank_choice.h"
#include "writer/model/process_flow.h"

namespace refrain::writer {
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
