// FlowGraph: which call of MPI came after which, of one location, with counts, times and bytes,
// whether events are written or not.
//
// Place in the flow: ARCHITECTURE.md, stage 3; part of ThreadRecorder. Layout: spool/summary_format.h.
// Source: Fürlinger/Skinner, section 3. Nodes are signatures: procedure, place, callers, partner
// relative to the own rank, size. Sizes are exact while a signature has few of them, then by power
// of two (their Fig. 2).
//
// An event is put together between begin() and end(): what it moved, and with whom, is known at its
// end. Then the edge that was taken the last time after the one before it is compared. As an edge
// knows its predecessor, too, patterns of two are predicted as well as those of one.
//
// Outermost parallel regions are events as well, around the calls that are made in them: an event's
// predecessor is the one that began last before it, and the time between them counts from the
// latest start of a region or end of an event.
//
// Events that the run's filter leaves out (excluded_regions.h) do not happen here: what comes next
// follows what was before, and the time between has theirs in it.
//
// The area has signatures and sums. What leads from one to the other is in memory of this process alone (summary_index.h).
//
// Thread-safety: one owner; others may read the area at any time and find sums that are at most
// one event apart. Ownership: of its index, not of the area. Units: ticks, bytes.
// Memory: that of SummaryMemory. Events that find no place go to spool::kOtherEvents, so that all sums are exact.
// Errors: without an area (open() was not called, or failed) nothing is kept. A call that does not
// return is not counted.
// Cost: a call whose signature follows as it did the last time, about 5 ns; one that is looked up
// about 18; a region that follows as it did the last time, about 3. No lock, no system call, but for more memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spool/summary_format.h"
#include "tracer/recorder/summary_index.h"
#include "tracer/recorder/summary_memory.h"

namespace refrain::recorder {

class FlowGraph {
 public:
  FlowGraph() = default;
  FlowGraph(const FlowGraph&) = delete;
  FlowGraph& operator=(const FlowGraph&) = delete;
  ~FlowGraph() { close(); }

  // `area`: zeros, aligned to a page; of its bytes so many are used as `memory` has, which lives
  // longer. `components`: spool::FlowComponent. False: too little.
  bool open(void* area, std::uint64_t bytes, std::uint32_t components,
            SummaryMemory& memory) noexcept;
  void close() noexcept;
  bool is_open() const noexcept { return header_ != nullptr; }
  bool wants_callers() const noexcept { return (components_ & spool::kFlowCallers) != 0; }

  // A call begins. `payload`: as kMpiEnter's. `path`: of path_of(), or kNoPath.
  __attribute__((always_inline)) void begin(std::uint64_t payload, std::uint32_t path,
                                            std::uint64_t ticks) noexcept {
    event_.payload = payload & payload_mask_;
    event_.path = path;
    event_.to = event_.from = 0;
    event_.sent = event_.received = 0;
    begin_ticks_ = ticks;
  }
  // What it does, as packed FlowPartner.
  void to(std::uint64_t partner) noexcept { set(event_.to, partner & partner_mask_); }
  void from(std::uint64_t partner) noexcept { set(event_.from, partner & partner_mask_); }
  void moved(std::uint64_t sent, std::uint64_t received) noexcept {
    event_.sent += sent;
    event_.received += received;
  }
  // It has ended.
  __attribute__((always_inline)) void end(std::uint64_t ticks) noexcept {
    const std::uint64_t size =
        (event_.sent > event_.received ? event_.sent : event_.received) & size_mask_;
    std::uint32_t index = *prediction_;
    if (!matches(nodes_[links_[index].to], spool::FlowKind::kCall, size)) [[unlikely]] {
      if (!find(spool::FlowKind::kCall, size, index)) return;
    }
    spool::FlowEdge* const edge = edges_ + index;
    come(index, begin_ticks_);
    edge->bytes_sent += event_.sent;
    edge->bytes_received += event_.received;
    last_ticks_ = ticks < begin_ticks_ ? begin_ticks_ : ticks;
    took(*edge, last_ticks_ - begin_ticks_);
  }

  // An outermost parallel region, or a league, which is asked where it has to be looked up. They do
  // not lie in each other.
  template <typename IsLeague>
  __attribute__((always_inline)) void begin_region(std::uint64_t address,
                                                   std::uint64_t ticks,
                                                   IsLeague is_league) noexcept {
    if (!is_open()) return;  // of programs without MPI, always
    std::uint32_t index = *prediction_;
    const spool::FlowNode& node = nodes_[links_[index].to];
    if (node.payload != address || node.kind != spool::FlowKind::kRegion) [[unlikely]] {
      if (!find_region(address, is_league(), index)) return;
    }
    come(index, ticks);
    region_edge_ = index;
    region_begin_ = last_ticks_ = ticks;
  }
  __attribute__((always_inline)) void end_region(std::uint64_t ticks) noexcept {
    if (region_edge_ == spool::kNoFlowEdge) return;
    took(edges_[region_edge_], ticks < region_begin_ ? 0 : ticks - region_begin_);
    if (ticks > last_ticks_) last_ticks_ = ticks;
    region_edge_ = spool::kNoFlowEdge;
  }

  // The number of the path with this hash, kNoPath if it has none yet, or there is no place.
  std::uint32_t find_path(std::uint64_t hash) const noexcept;
  // Adds it; `frames` from the inside.
  std::uint32_t add_path(std::uint64_t hash, const std::uint64_t* frames,
                         std::size_t count) noexcept;

 private:
  static constexpr unsigned kExactSizes = 8;  // of a signature

  // Of an edge: where it leads, and the edge that was taken after it, the last time. Of the node of the same number:
  // the next one that differs in size alone; 0: none.
  struct Link {
    std::uint32_t to;
    std::uint32_t next;
    std::uint32_t next_size;
    std::uint32_t reserved;
  };
  struct Event {
    std::uint64_t payload = 0;
    std::uint64_t to = 0;
    std::uint64_t from = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint32_t path = spool::kNoPath;
  };

  static void set(std::uint64_t& partner, std::uint64_t value) noexcept {
    constexpr auto kSeveral = spool::FlowPartner::pack(spool::FlowPartner::kSeveral);
    partner = partner == 0 || partner == value ? value : kSeveral;
  }
  bool same_group(const spool::FlowNode& node, spool::FlowKind kind) const noexcept {
    return node.payload == event_.payload && node.path == event_.path &&
           node.to == event_.to && node.from == event_.from && node.kind == kind;
  }
  // A range is looked up: a size in it may be one of the exact ones.
  bool matches(const spool::FlowNode& node, spool::FlowKind kind,
               std::uint64_t size) const noexcept {
    return same_group(node, kind) && size == node.size_least && size == node.size_greatest;
  }
  // The event of this edge begins.
  __attribute__((always_inline)) void come(std::uint32_t index,
                                           std::uint64_t ticks) noexcept {
    spool::FlowEdge& edge = edges_[index];
    Link& link = links_[index];
    const std::uint64_t gap =
        last_ticks_ == 0 || ticks < last_ticks_ ? 0 : ticks - last_ticks_;
    ++edge.count;
    edge.gap += gap;
    if (gap < edge.gap_least) edge.gap_least = gap;
    if (gap > edge.gap_greatest) edge.gap_greatest = gap;
    prediction_ = &link.next;
    current_ = link.to;
  }
  static void took(spool::FlowEdge& edge, std::uint64_t duration) noexcept {
    edge.time += duration;
    if (duration < edge.least) edge.least = duration;
    if (duration > edge.greatest) edge.greatest = duration;
  }

  bool find(spool::FlowKind kind, std::uint64_t size, std::uint32_t& index) noexcept;
  bool find_region(std::uint64_t address, bool league, std::uint32_t& index) noexcept;
  bool take_edge(std::uint32_t node, std::uint32_t& index) noexcept;
  std::uint32_t find_node(spool::FlowKind kind, std::uint64_t size,
                          spool::CallKey key) noexcept;
  std::uint32_t add_node(const spool::FlowNode& node, bool indexed) noexcept;
  std::uint32_t find_edge(std::uint32_t to) noexcept;
  std::uint32_t add_edge(std::uint32_t from, std::uint32_t to, MemoryFor what) noexcept;
  void set_edge(std::uint32_t index, std::uint32_t from, std::uint32_t to) noexcept;

  // Where there is no area: nothing matches, and find() says no.
  static constinit spool::FlowNode s_no_node;
  static constinit spool::FlowEdge s_no_edge;
  static constinit Link s_no_link;

  // Hot.
  std::uint32_t* prediction_ = &s_no_link.next;
  Link* links_ = &s_no_link;  // by edge
  spool::FlowNode* nodes_ = &s_no_node;
  spool::FlowEdge* edges_ = &s_no_edge;
  std::uint64_t begin_ticks_ = 0;
  std::uint64_t last_ticks_ = 0;  // 0: nothing has happened yet
  std::uint64_t payload_mask_ = ~std::uint64_t{0};
  std::uint64_t partner_mask_ = ~std::uint64_t{0};
  std::uint64_t size_mask_ = ~std::uint64_t{0};
  std::uint64_t region_begin_ = 0;
  std::uint32_t region_edge_ = spool::kNoFlowEdge;  // of the open region
  Event event_;
  std::uint32_t current_ = spool::kStartNode;
  std::uint32_t components_ = 0;

  // Rare.
  spool::FlowHeader* header_ = nullptr;
  spool::FlowPath* paths_ = nullptr;
  std::uint32_t node_count_ = 0;
  std::uint32_t edge_count_ = 0;
  std::uint32_t path_count_ = 0;
  OwnMemory own_memory_;
  OwnEntries<Link> own_links_;
  SummaryMemory* memory_ = nullptr;
  SummaryIndex node_index_;  // by all but the size
  SummaryIndex edge_index_;  // by both ends
  SummaryIndex path_index_;  // by hash
  EntryPages<spool::FlowNode> node_pages_;
  EntryPages<spool::FlowEdge> edge_pages_;
  EntryPages<spool::FlowPath> path_pages_;
};

}  // namespace refrain::recorder
