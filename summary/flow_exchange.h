// The event flow graph of a job as bytes, for the tree of processes: its merge() is that of
// summary/merged_flow.h.
//
// Place in the flow: ARCHITECTURE.md, stage 5, last; part of JobFacts (process_facts.h).
// Thread-safety: pure. Errors: as exchange/tree.h has them. Cost: bytes grow with nodes and with
// the number of different graphs, not of ranks; figures are in docs/summary.md.
#pragma once

#include "exchange/bytes.h"
#include "summary/merged_flow.h"
#include "summary/rank_set.h"

namespace refrain::summary {

void put(exchange::ByteWriter& out, const MergedFlow& flow);
void take(exchange::ByteReader& in, MergedFlow& flow);
// Of a set that is not empty.
void put(exchange::ByteWriter& out, const RankSet& ranks);
void take(exchange::ByteReader& in, RankSet& ranks);

}  // namespace refrain::summary
