// The processes of a job choose the ranks whose events are written (rank_choice.h).
//
// Place in the flow: ARCHITECTURE.md, stage 5, before anything is left out of any process. Graphs
// go up the tree of processes, merged on the way, the ranks that are chosen go down. Then
//   1. processes that are not wanted take part in the budget with their frame alone, and in the cut
//      of all ranks as ever, so that those that are wanted write what they would write without;
//   2. after that, leave_out() makes a gap of the whole run of each that is not wanted: messages
//      and collectives with them have no other end, and are left out as those at other gaps are.
// Thread-safety: one thread calls. Errors: as exchange/tree.h has them.
// Cost: names the nodes of the graphs of the processes here; messages as flow_exchange.h.
#pragma once

#include <memory>
#include <vector>

#include "exchange/exchange.h"
#include "regions/region_table.h"
#include "writer/agree/write_options.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// All processes of the exchange call it; says which of the models are wanted. With
// `options.representatives` 0, or with one rank, it does nothing. The result is complete in process
// 0, and empty where all ranks are written as usual.
RanksResult choose_representatives(exchange::Exchange& exchange,
                                   const WriteOptions& options,
                                   const std::vector<std::unique_ptr<ProcessModel>>& models,
                                   const regions::RegionTable& regions);

}  // namespace refrain::writer
