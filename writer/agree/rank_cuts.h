// One cut for all ranks: iterations, and intervals between collectives over all processes,
// that some rank did not write are left out on all.
//
// Place in the flow: ARCHITECTURE.md, stage 5, after each process' own gaps are planned
// (gap_plan.h) and before anything is written. Each process reports what it skipped
// (SkippedIntervals), these are merged pairwise over all processes in any order, and each
// process then determines from the result what else it has to leave out.
//
// Two indices:
//   - iterations of a loop. A visit of an outermost loop is the same on all ranks if it has
//     the same number of complete iterations, with a collective over all processes in most of them or in
//     few, and as many visits like that came before it. Then iteration k is the same iteration everywhere, however many events it
//     has. The same rule, and the loop's place, distinguish the visits of inner loops within one iteration, so a
//     path of visits and iterations leads to every iteration of the nest.
//     Where some ranks' iterations begin after an anchor and others' elsewhere in the body, the
//     cuts of both are moved to anchors, or they would lie between the two ends of messages.
//   - where ranks do not agree on a visit: *anchors*, the number of completed collectives over
//     all processes. Intervals without any are not comparable: there each rank keeps its own.
// If a rank wrote an interval because its pattern broke there, and no other rank has any
// part of it, it is kept (contract 4 before 7); its messages have no partners and are
// counted. A slow iteration that only one rank wrote is not kept. Intervals of which all
// ranks have a part are cut to the common part.
//
// Thread-safety: pure. Units: iterations; anchors.
// Cost: linear in intervals; a merge in those of both sides. A rank's summary has one entry
// for each visit of an outermost loop, and one for each visit of an inner loop that is
// skipped in part while the iteration around it is written: few, because of the limit.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "exchange/bytes.h"
#include "spool/iteration_stream.h"
#include "writer/messages/message_plan.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

// Identifies a visit on all ranks, within the iteration around it.
struct VisitStep {
  // Iteration of the visit around it; of outermost ones RankIndex::kind_of().
  std::uint64_t within = 0;
  std::uint64_t iterations = 0;  // complete ones
  std::uint32_t occurrence =
      0;  // visits there with the same number of iterations, and of the same loop, before it
  std::uint64_t place = 0;  // of an inner loop: RankIndex::place_of()
  auto operator<=>(const VisitStep&) const = default;
};
// From the outermost visit inwards.
using VisitPath = std::vector<VisitStep>;

struct SkippedIntervals {
  struct Visit {
    std::uint64_t ranks = 0;
    NumberRanges iterations;  // skipped, wholly or in part, by any
    NumberRanges anchors;     // the same, by the other index
    bool operator==(const Visit&) const = default;
  };
  std::uint64_t ranks = 0;
  // Outermost ones that all ranks have, and inner ones that are skipped in part by any.
  std::map<VisitPath, Visit> visits;
  NumberRanges anchors;  // skipped elsewhere
  // Of these, what was skipped in outermost visits that not all ranks have.
  NumberRanges visit_anchors;
  // Where the iterations of the ranks' main loops begin (RankIntervals), the two smallest:
  // more than one means that cuts between iterations do not match.
  NumberRanges begins;

  bool operator==(const SkippedIntervals&) const = default;
};

// Associative and commutative. An outermost visit that only one side has is then counted by
// its anchors, because ranks have no common iterations of it: so a merged summary is no
// larger than each of its parts, except for inner visits.
SkippedIntervals merge(SkippedIntervals a, const SkippedIntervals& b);
void put(exchange::ByteWriter& out, const SkippedIntervals& skipped);
void take(exchange::ByteReader& in, SkippedIntervals& skipped);

// Of RankVisit::begin: directly after an anchor.
inline constexpr std::uint64_t kAtAnchor = 1;
// With a call of MPI: neighbours differ in which one comes first.
inline constexpr std::uint64_t kAtCall = 2;

// What one rank skipped, by its own numbers.
struct RankVisit {
  VisitPath path;
  NumberRanges skipped;     // iterations, wholly or in part
  NumberRanges partly;      // of these, those that are there in part
  NumberRanges changed;     // written since pattern broken
  NumberRanges anchors;     // of those skipped
  std::uint64_t begin = 0;  // what its iterations begin with; kAtAnchor; 0: not known
};

struct RankIntervals {
  // All outermost ones in order; of inner ones those that are skipped in part, here or on
  // another rank.
  std::vector<RankVisit> visits;
  NumberRanges anchors;          // skipped outside of these
  std::uint64_t end_anchor = 0;  // at its end
};

SkippedIntervals skipped_intervals(const RankIntervals& rank);

// What a rank has to leave out besides what it did not write.
struct RankTrim {
  struct Visit {
    NumberRanges more;   // iterations
    NumberRanges alone;  // iterations that only this rank has, and keeps
  };
  std::vector<Visit> visits;  // as RankIntervals::visits
  NumberRanges anchors;       // intervals to be left out: [begin, end) by anchors
  bool any() const noexcept;
};

// `rank` has those of its own visits that `all` has, too.
RankTrim trim_rank(const RankIntervals& rank, const SkippedIntervals& all);

// --- What a process skipped, by the indices that all ranks share, and the others' intervals in
// its own epochs.
//
// Place in the flow: ARCHITECTURE.md, stage 5: process_model.h -> RankIndex -> rank_cuts.h,
// and back.
// Thread-safety: const after construction; one a process.
// Ownership: refers to the ProcessModel, which must live longer.
// Units: ticks and epochs of the process.
// Cost: up to three passes over the iterations in the journal and one over the primary
// location's records. Memory: 16 bytes for each iteration before which the number of
// anchors had grown and for each collective over all processes in the log.

class RankIndex {
 public:
  explicit RankIndex(const ProcessModel& process);

  const RankIntervals& intervals() const noexcept { return intervals_; }
  // Takes the merged intervals of all ranks: adds the visits of inner loops that others
  // skipped in part.
  void add_inner_visits(const SkippedIntervals& all);
  // The gaps that a trim makes. Edges lie at cuts; an edge at one of the process' own gaps
  // is that of the gap, so that the two become one.
  std::vector<Gap> gaps_of(const RankTrim& trim) const;

 private:
  struct Sample {
    std::uint64_t ticks;
    std::uint64_t anchors;  // completed by then
  };
  // A visit that is open during the pass over the iterations.
  struct OpenVisit {
    std::size_t visit = 0;  // of the journal
    std::size_t index = 0;  // of intervals_.visits
    bool ignored =
        false;  // the iteration around it is skipped, or it has no complete iteration
    bool skipped = false;  // its latest iteration
    std::uint64_t number = 0;
    std::uint64_t at_anchor = 0;  // written iterations that begin after one
    std::uint64_t elsewhere = 0;
    std::uint64_t begins_at = 0;  // the first of the others, in ticks
    // Visits, by their iterations and place.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> inner;
  };

  void take_anchors();
  void take_visits(const SkippedIntervals* all);
  void open_visit(std::size_t visit);
  // Of an outermost visit: 1 if there is a collective over all processes in most of its iterations, else 0. One more
  // or less at an edge, where ranks' loops begin elsewhere in the body, makes no difference.
  std::uint64_t kind_of(std::size_t visit) const noexcept;
  // What distinguishes loops of the code and is the same on ranks that load the program at other addresses: some ranks have loops that
  // others do not have (who gathers). 0: not known.
  std::uint64_t place_of(std::uint32_t loop) const;
  void take_iteration(const spool::IterationEvent& event);
  void close_visit(const SkippedIntervals* all);
  void take_inner_visits();
  // Returns true if a gap crosses an edge of this iteration of a loop at `level`, or covers it.
  bool is_skipped(std::uint64_t begin, std::uint64_t end, std::size_t level);
  // Returns true if a gap that crosses one edge of it lacks nothing of it but loops inside, at its begin or end.
  bool lacks_only_loops(const Gap& gap, std::uint64_t begin, std::uint64_t end,
                        std::size_t level) const;
  // Returns true if what is written there was resumed because pattern broken; if `since` is not 0, after that.
  bool is_changed(std::uint64_t begin, std::uint64_t end, std::uint64_t since) const;
  void take_other_gaps();
  std::uint64_t anchors_at(std::uint64_t ticks) const noexcept;
  // Returns true if the process made no MPI call between an anchor and this moment.
  bool is_after_anchor(std::uint64_t ticks) const noexcept;
  // The first event of an iteration, as RankVisit::begin: the same on ranks that load the
  // program at other addresses.
  std::uint64_t begin_of(const OpenVisit& open) const;
  // The first moment with this many anchors; kNever if it never came.
  std::uint64_t when(std::uint64_t anchors) const noexcept;
  const ProcessModel& process_;
  struct Span {
    std::uint64_t begin;
    std::uint64_t end;
  };
  CutEdges edges_;
  std::vector<Sample> samples_;                  // both ascend
  std::vector<Span> after_anchors_;              // from an anchor to the next call; ascend
  std::vector<std::vector<Span>> inner_visits_;  // by level - 1; ascend
  std::vector<bool> in_iterations_;              // gaps that iterations account for
  std::vector<std::size_t> visit_of_;            // of RankIntervals::visits in the journal
  std::vector<OpenVisit> open_;                  // from the outermost inwards
  // Outermost visits, by their kind and iterations.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> outermost_;
  RankIntervals intervals_;
};

}  // namespace refrain::writer
