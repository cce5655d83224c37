// One cut for all ranks: which iterations, and which stretches between collectives over all
// processes, some rank did not write, so that the others leave them out, too.
//
// Place in the flow: ARCHITECTURE.md, step 7, after each process' own gaps are planned
// (gap_plan.h) and before anything is written. Each process tells what it held
// (HeldStretches), these are merged pairwise over all processes in any order, and each
// process then works out from the result what more it has to leave out.
//
// Two rulers:
//   - iterations of a loop. A visit of an outermost loop is the same on all ranks if it has
//     the same number of complete iterations and as many visits with that number came
//     before it. Then iteration k is the same iteration everywhere, however many events it
//     has. The same rule tells the visits of inner loops within one iteration apart, so a
//     path of visits and iterations leads to every iteration of the nest.
//     Where some ranks' iterations begin behind an anchor and others' elsewhere in the body, the
//     cuts of both are moved to anchors, or they would lie between the two ends of messages.
//   - where ranks do not agree on a visit: *anchors*, how many collectives over all
//     processes had been completed. Stretches without any are not comparable: there each
//     rank keeps its own.
// What a rank wrote alone because its pattern broke there, and no other rank has any part
// of, is kept (contract 4 before 7); its messages find no partners and are counted. A slow
// iteration that one rank wrote alone is not. Whatever all ranks have a part of is cut to
// the common part.
//
// Thread-safety: pure. Units: iterations; anchors.
// Cost: linear in stretches; a merge in those of both sides. What a rank tells has one
// entry for each visit of an outermost loop, and one for each visit of an inner loop that
// is held in part while what is around it is written: by the limit, few.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "writer/exchange/bytes.h"
#include "writer/job/number_ranges.h"

namespace refrain::writer {

// What makes a visit the same on two ranks, within what is around it.
struct VisitStep {
  std::uint64_t within = 0;      // iteration of the visit around it; 0 for outermost ones
  std::uint64_t iterations = 0;  // complete ones
  std::uint32_t occurrence = 0;  // visits with as many before it, there
  auto operator<=>(const VisitStep&) const = default;
};
// From the outermost visit inwards.
using VisitPath = std::vector<VisitStep>;

struct HeldStretches {
  struct Visit {
    std::uint64_t ranks = 0;
    NumberRanges iterations;  // held, wholly or in part, by any
    NumberRanges anchors;     // the same, by the other ruler
    bool operator==(const Visit&) const = default;
  };
  std::uint64_t ranks = 0;
  // Outermost ones that all ranks have, and inner ones that are held in part by any.
  std::map<VisitPath, Visit> visits;
  NumberRanges anchors;  // held elsewhere
  // Of these, what outermost visits held that not all ranks have.
  NumberRanges visit_anchors;
  // Where the iterations of the ranks' main loops begin (RankStretches), the two smallest: more
  // than one means that cuts between iterations do not fit together.
  NumberRanges begins;

  bool operator==(const HeldStretches&) const = default;
};

// Associative and commutative. An outermost visit that only one side has is told by its
// anchors from then on, for no ruler of iterations fits it any more: so what many ranks
// tell is no more than what each of them does, but for inner visits.
HeldStretches merge(HeldStretches a, const HeldStretches& b);
void put(ByteWriter& out, const HeldStretches& held);
void take(ByteReader& in, HeldStretches& held);

// Of RankVisit::begin: directly behind an anchor.
inline constexpr std::uint64_t kAtAnchor = 1;
// With a call of MPI: neighbours differ in which one comes first.
inline constexpr std::uint64_t kAtCall = 2;

// What one rank held, in its own terms.
struct RankVisit {
  VisitPath path;
  NumberRanges held;        // iterations, wholly or in part
  NumberRanges partly;      // of these, those that are there in part
  NumberRanges changed;     // written since the pattern broke
  NumberRanges anchors;     // of those held
  std::uint64_t begin = 0;  // what its iterations begin with; kAtAnchor; 0: not known
};

struct RankStretches {
  // All outermost ones in order; of inner ones those that are held in part or that another
  // rank holds in part.
  std::vector<RankVisit> visits;
  NumberRanges anchors;          // held outside of these
  std::uint64_t end_anchor = 0;  // at its end
};

HeldStretches held_stretches(const RankStretches& rank);

// What a rank has to leave out beside what it did not write.
struct RankTrim {
  struct Visit {
    NumberRanges more;   // iterations
    NumberRanges alone;  // iterations that this rank alone has, and keeps
  };
  std::vector<Visit> visits;  // as RankStretches::visits
  NumberRanges anchors;       // stretches to be left out: [begin, end) by anchors
  bool any() const noexcept;
};

// `rank` has the visits that `all` knows and that are among its own, too.
RankTrim trim_rank(const RankStretches& rank, const HeldStretches& all);

}  // namespace refrain::writer
