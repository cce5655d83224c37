// Which ranks of a job have their events in the archive: all of them, or of each cluster of ranks
// with equal event flow graphs some that stand for the others.
//
// Place in the flow: ARCHITECTURE.md, stage 5; process 0 chooses from the graphs of all ranks, see
// rank_choice.h. docs/reference/ranks.md says what is in the archive then.
// Source: Fürlinger/Skinner, section 6: "an automated clustering of ranks into a small number of
// processes that qualitatively exhibit the same behavior".
// The lowest ranks of a cluster stand for it, so the same run gives the same choice, and rank 0 is
// always written.
// Thread-safety: pure. Cost: linear in the ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exchange/exchange.h"
#include "regions/region_table.h"
#include "summary/merged_flow.h"
#include "summary/rank_set.h"
#include "writer/agree/write_options.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

struct RankChoice {
  struct Cluster {
    summary::RankSet ranks;
    summary::RankSet written;  // of these
  };
  std::uint64_t ranks = 0;
  summary::RankSet written;       // those that have events; empty: all ranks
  std::vector<Cluster> clusters;  // of all ranks; none if there are ranks without a graph
  std::string why_all;            // why all ranks are written, if they are
};

// `ranks` of the job, of which `flow` has those with a graph; `each`: how many of a cluster, at
// least 1.
RankChoice choose_ranks(const summary::MergedFlow& flow, std::uint64_t ranks,
                        std::uint64_t each);

// Of all ranks, for another reason.
RankChoice all_ranks(std::uint64_t ranks, const std::string& why);

// "events of 2 of 4 ranks: 0 (as 0-2: equal event flow graphs), 3"; the first clusters.
std::string words(const RankChoice& choice);
// Of each cluster, a line: "0: 0-2"; the first thousand.
std::string cluster_lines(const RankChoice& choice);

// --- The processes of a job choose the ranks whose events are written (rank_choice.h).
//
// Place in the flow: ARCHITECTURE.md, stage 5, before anything is left out of any process. Graphs
// go up the tree of processes, merged on the way, the ranks that are chosen go down. Then
//   1. processes that are not wanted take part in the budget with their frame alone, and in the cut
//      of all ranks as ever, so that those that are wanted write what they would write without;
//   2. after that, leave_out() makes a gap of the whole run of each that is not wanted: messages
//      and collectives with them have no other end, and are left out as those at other gaps are.
// Thread-safety: one thread calls. Errors: as exchange/tree.h has them.
// Cost: names the nodes of the graphs of the processes here; messages as merged_flow.h.

// All processes of the exchange call it; says which of the models are wanted. With
// `options.representatives` 0, or with one rank, it does nothing. The result is complete in process
// 0, and empty where all ranks are written as usual.
RanksResult choose_representatives(exchange::Exchange& exchange,
                                   const WriteOptions& options,
                                   const std::vector<std::unique_ptr<ProcessModel>>& models,
                                   const regions::RegionTable& regions);

}  // namespace refrain::writer
