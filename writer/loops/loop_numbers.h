// The loops of all processes of a job, under one number and one name each.
//
// Place in the flow: ARCHITECTURE.md, stage 5, between the models of the processes and their
// regions: each process has its tree of loops, the trees merge in order of rank, and each
// process finds its own loops in the result.
// Two ranks' loops are the same if they lie in the same loop (or in none) and at the same
// place: the same loop of the machine code, or, where that is not known, the same function
// and lines. Numbers are given from the outermost loops inwards, in the order of their
// first begin on the first rank that has them: they do not depend on the order of
// detection, and are the same on every rank.
// Thread-safety: pure, but for looking up names. Ownership: plain values.
// Cost: linear in the loops; ranks of one program send no more than one of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exchange/bytes.h"
#include "regions/region_table.h"
#include "writer/loops/loop_places.h"

namespace refrain::writer {

struct JobLoop {
  static constexpr std::uint32_t kNoParent = ~std::uint32_t{0};
  std::string key;  // the same on all ranks; unique among the loops of one parent
  std::uint32_t parent = kNoParent;  // index, before this one
  bool named = false;                // a phase named by the program: `function` is its name
  std::string function;
  std::string file;
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;
};

struct JobLoops {
  std::vector<JobLoop> loops;
};

JobLoops merge(JobLoops a, const JobLoops& b);
void put(exchange::ByteWriter& out, const JobLoops& all);
void take(exchange::ByteReader& in, JobLoops& all);

// Of one process; in the order of the tree.
JobLoops job_loops(const spool::Journal& journal, const std::vector<LoopNode>& tree,
                   addresses::Resolver& resolver);

// Number and name of a loop.
struct LoopLabel {
  std::uint32_t number = 0;  // from 1
  std::int64_t parent = -1;  // number of the loop around it
  std::uint16_t level = 0;
  JobLoop loop;

  // "loop 3 @ solve tea_solve.f90:120-168", or the name that the program gave.
  std::string region_name() const;
  regions::RegionDef region() const;
};
using LoopLabels = std::map<std::uint32_t, LoopLabel>;  // by the journal's numbers

// `own` of a process with this tree, merged into `all`.
LoopLabels loop_labels(const std::vector<LoopNode>& tree, const JobLoops& own,
                       const JobLoops& all);

}  // namespace refrain::writer
