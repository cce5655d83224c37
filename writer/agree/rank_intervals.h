// What a process skipped, by the indices that all ranks share, and the others' intervals in
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
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "spool/iteration_stream.h"
#include "writer/agree/rank_cuts.h"
#include "writer/model/cut_edges.h"
#include "writer/model/process_model.h"

namespace refrain::writer {

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
    std::uint64_t begins_at = 0;                   // the first of the others, in ticks
    std::map<std::uint64_t, std::uint32_t> inner;  // visits, by their iterations
  };

  void take_anchors();
  void take_visits(const SkippedIntervals* all);
  void open_visit(std::size_t visit);
  void take_iteration(const spool::IterationEvent& event);
  void close_visit(const SkippedIntervals* all);
  // Whether a gap crosses an edge of this iteration, or covers it.
  bool is_skipped(std::uint64_t begin, std::uint64_t end);
  // Whether what is written there was resumed because the pattern broke.
  bool is_changed(std::uint64_t begin, std::uint64_t end) const;
  void take_other_gaps();
  std::uint64_t anchors_at(std::uint64_t ticks) const noexcept;
  // Whether the process made no MPI call between an anchor and this moment.
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
  std::vector<Sample> samples_;        // both ascend
  std::vector<Span> after_anchors_;    // from an anchor to the next call; ascend
  std::vector<bool> in_iterations_;    // gaps that iterations account for
  std::vector<std::size_t> visit_of_;  // of RankIntervals::visits in the journal
  std::vector<OpenVisit> open_;        // from the outermost inwards
  std::map<std::uint64_t, std::uint32_t> outermost_;  // visits, by their iterations
  RankIntervals intervals_;
};

}  // namespace refrain::writer
