// The event flow graph of a job as bytes, for the tree of processes: its merge() is that of
// base/merged_flow.h.
//
// Place in the flow: ARCHITECTURE.md, step 7, last; part of JobFacts (process_facts.h).
// Thread-safety: pure. Errors: as writer/exchange/tree.h has them. Cost: bytes grow with nodes and with
// the number of different graphs, not of ranks; figures are in docs/summary.md.
#pragma once

#include "base/merged_flow.h"
#include "base/rank_set.h"
#include "writer/exchange/bytes.h"

namespace refrain::writer {

void put(ByteWriter& out, const base::MergedFlow& flow);
void take(ByteReader& in, base::MergedFlow& flow);
// Of a set that is not empty.
void put(ByteWriter& out, const base::RankSet& ranks);
void take(ByteReader& in, base::RankSet& ranks);

}  // namespace refrain::writer
