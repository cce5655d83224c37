// Which ranks of a job have their events in the archive: all of them, or of each cluster of ranks
// with equal event flow graphs some that stand for the others.
//
// Place in the flow: ARCHITECTURE.md, stage 5; process 0 chooses from the graphs of all ranks, see
// representatives.h. docs/ranks.md says what is in the archive then.
// Source: Fürlinger/Skinner, section 6: "an automated clustering of ranks into a small number of
// processes that qualitatively exhibit the same behavior".
// The lowest ranks of a cluster stand for it, so the same run gives the same choice, and rank 0 is
// always written.
// Thread-safety: pure. Cost: linear in the ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "summary/merged_flow.h"
#include "summary/rank_set.h"

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

}  // namespace refrain::writer
