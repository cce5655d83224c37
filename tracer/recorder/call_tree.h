// CallTree: exact counts and times of all regions of one location, by call path, and who came
// before whom, whether events are written or not.
//
// Place in the flow: ARCHITECTURE.md, stage 3; part of ThreadRecorder. Layout: spool/summary_format.h,
// which also has the source (Furlinger/Moore, section 2).
//
// What follows what is predicted: an edge remembers the edges that were taken after it. As an edge
// knows its predecessor, too, patterns of two are predicted as well as those of one.
//
// Its regions are those of the archive (writer/interpret/record_interpreter.h): explicit tasks run
// nested, a critical region lies in the call that waits for it, events without duration are
// regions of no time. In addition there is a node for the call that opens a team, around the
// implicit task.
//
// The area has keys, counts and times. What leads from one to the other, and which regions are open, is in memory of
// this process alone (summary_index.h).
//
// Thread-safety: one owner; others may read the area at any time and find numbers that are at most
// one event apart. Ownership: of its index, not of the area. Units: ticks.
// Memory: that of SummaryMemory, a page, and one for each 256 regions that are open. What finds no place goes to a node of the same parent for all such regions, and
// where that has none either, into time_elsewhere of the parent; both are counted.
// The filter is applied to what was kept, when the archive is written; only time by class has to be
// right at once: that of a region that the filter leaves out is of the class around it.
// Errors: without an area (open() was not called, or failed) nothing is kept.
// Cost: an enter and a leave together 5 ns where what comes next is what came last time, about 15
// where it has to be looked up. No lock, no system call, but for more memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "spool/summary_format.h"
#include "tracer/recorder/summary_index.h"
#include "tracer/recorder/summary_memory.h"

namespace refrain::recorder {

class CallTree {
 public:
  CallTree() = default;
  CallTree(const CallTree&) = delete;
  CallTree& operator=(const CallTree&) = delete;
  ~CallTree() { close(); }

  // `area`: zeros, aligned to a page; of its bytes so many are used as `memory` has, which lives
  // longer. False: too little. `times`: the sums of time by class, which are kept as
  // summary_format.h says; null: nobody wants them.
  bool open(void* area, std::uint64_t bytes, SummaryMemory& memory,
            std::uint64_t* times = nullptr) noexcept;
  // Lets go of the area; what still comes is not kept.
  void close() noexcept;

  __attribute__((always_inline)) void enter(spool::CallKey key,
                                            std::uint64_t ticks) noexcept {
    std::uint32_t index = *prediction_;
    Link* link = links_ + index;
    spool::CallNode* node = link->node;
    if (node->payload != key.payload || node->what != key.what) [[unlikely]] {
      if (!find(key, index)) return keep_elsewhere(ticks);
      link = links_ + index;
      node = link->node;
    }
    Open* const open = top_ + 1;
    // Another process has changed what the nodes are.
    if (open == stack_end_) [[unlikely]]
      return keep_elsewhere(ticks);
    ++edges_[index].count;
    node->enter_ticks = ticks;
    node->time -= 2 * ticks - 1;
    change_class(node->around, node->cls, ticks);
    prediction_ = &link->first;
    open->node = node;
    open->by = link;
    top_ = open;
  }

  // The end of the innermost region.
  __attribute__((always_inline)) void leave(std::uint64_t ticks) noexcept {
    if (elsewhere_ != 0) [[unlikely]]
      return leave_elsewhere(ticks);
    const Open* const open = top_;
    if (open == stack_) [[unlikely]]
      return;  // none is, whatever the root says
    spool::CallNode* const node = open->node;
    const std::uint64_t begin = node->enter_ticks;
    const std::uint64_t end = ticks < begin ? begin : ticks;
    took(*node, end);
    change_class(node->cls, node->around, end);
    left_ticks_ = end;
    prediction_ = &open->by->next;
    top_ = top_ - 1;
  }

  // The end of the innermost region that records of this kind open, and of those inside. An end
  // that belongs to nothing is ignored.
  __attribute__((always_inline)) void end(std::uint8_t begin_kind,
                                          std::uint64_t ticks) noexcept {
    if (kind_of(*top_) == begin_kind && elsewhere_ == 0) [[likely]]
      return leave(ticks);
    end_outer(begin_kind, ticks);
  }

  // The two innermost regions are of these kinds, so that they may end together.
  __attribute__((always_inline)) bool may_end_both(std::uint8_t inner,
                                                   std::uint8_t outer) const noexcept {
    return elsewhere_ == 0 && top_ >= stack_ + 2 && kind_of(top_[0]) == inner &&
           kind_of(top_[-1]) == outer;
  }
  // They end at one moment. `learned`: it was at `ticks` at the latest, and settle_ends() will say when, before the next of these.
  __attribute__((always_inline)) void end_both(std::uint64_t ticks, bool learned) noexcept {
    const Open* const open = top_;
    spool::CallNode* const first = open[0].node;
    spool::CallNode* const second = open[-1].node;
    const std::uint64_t end = ticks < first->enter_ticks ? first->enter_ticks : ticks;
    if (learned) {
      late_ends_ = {first, second, first->enter_ticks, second->enter_ticks, end};
    } else {
      extremes(*first, end - first->enter_ticks);
      extremes(*second, end - second->enter_ticks);
    }
    first->time += 2 * end - 1;
    second->time += 2 * end - 1;
    // Most often the one class that ends is that which begins before.
    if (first->around == second->cls) [[likely]] {
      change_class(first->cls, second->around, end);
    } else {
      change_class(first->cls, first->around, end);
      change_class(second->cls, second->around, end);
    }
    left_ticks_ = end;
    prediction_ = &open[-1].by->next;
    top_ -= 2;
  }
  // What end_both() has counted from when it was to when it was learned.
  struct LateEnds {
    spool::CallNode* first = nullptr;
    spool::CallNode* second = nullptr;
    std::uint64_t first_begin = 0;
    std::uint64_t second_begin = 0;
    std::uint64_t ticks = 0;
    std::uint64_t late = 0;  // ticks, of settle_ends()
  };
  const LateEnds& late_ends() const noexcept { return late_ends_; }
  // False: there is nothing to settle, for the area was closed meanwhile.
  __attribute__((always_inline)) bool settle_ends(std::uint64_t ticks) noexcept {
    LateEnds& ends = late_ends_;
    if (ends.first == nullptr) [[unlikely]]
      return false;
    const std::uint64_t end = ticks < ends.first_begin ? ends.first_begin : ticks;
    ends.late = ends.ticks - end;
    extremes(*ends.first, end - ends.first_begin);
    extremes(*ends.second, end - ends.second_begin);
    ends.first->time -= 2 * ends.late;
    ends.second->time -= 2 * ends.late;
    times_[ends.first->cls] -= ends.late;
    times_[ends.second->around] += ends.late;
    return true;
  }

  // A region without duration.
  void point(spool::CallKey key, std::uint64_t ticks) noexcept {
    enter(key, ticks);
    leave(ticks);
  }

  // As the records of these names.
  void task_schedule(const spool::RecordWords& record) noexcept;
  void mutex_acquire(const spool::RecordWords& record) noexcept;
  void mutex_acquired(const spool::RecordWords& record) noexcept;
  void mutex_released(const spool::RecordWords& record) noexcept;
  void nest_lock(const spool::RecordWords& record) noexcept;

  // What the innermost region has moved.
  void sent(std::uint64_t bytes, std::uint64_t messages) noexcept {
    if (!is_open()) return;
    current()->messages_sent += messages;
    current()->bytes_sent += bytes;
  }
  void received(std::uint64_t bytes, std::uint64_t messages) noexcept {
    if (!is_open()) return;
    current()->messages_received += messages;
    current()->bytes_received += bytes;
  }

  bool is_open() const noexcept { return header_ != nullptr; }

  // The class of the thread's time now, and since when.
  std::uint8_t current_class() const noexcept {
    return elsewhere_ != 0 ? static_cast<std::uint8_t>(summary::TimeClass::kUnknown)
                           : class_in(current()->cls);
  }
  std::uint64_t class_since() const noexcept {
    if (elsewhere_ != 0) return elsewhere_since_;
    const std::uint64_t entered = current()->enter_ticks;
    return entered < left_ticks_ ? left_ticks_ : entered;
  }
  // The class before that, and since when, where the latest change was that regions began; else the same.
  struct ClassBefore {
    std::uint64_t since;
    std::uint8_t cls;
  };
  ClassBefore class_before() const noexcept {
    const std::uint64_t since = class_since();
    if (elsewhere_ != 0 || current()->enter_ticks < left_ticks_ || top_ == stack_)
      return {since, current_class()};
    const Open* open = top_;
    while (open - 1 != stack_ && open[-1].node->enter_ticks == since) --open;
    return {std::max(left_ticks_, open[-1].node->enter_ticks),
            class_in(open->node->around)};
  }
  // The thread has begun its part of a team at `begin`, which was opened at `fork`: the time
  // between is management.
  void began_late(std::uint64_t fork, std::uint64_t begin) noexcept {
    if (!is_open() || fork >= begin || is_in_filtered()) return;
    times_[spool::kOutsideClass] -= begin - fork;
    times_[static_cast<std::size_t>(summary::TimeClass::kThreadManagement)] += begin - fork;
  }

 private:
  // Of an edge: where it leads, and the edges that were taken after it, the last time: to the first child of `node`,
  // and to the sibling after it.
  struct Link {
    spool::CallNode* node;
    std::uint32_t first;
    std::uint32_t next;
  };
  // A region that is open, and the edge of the visit. The first is the root.
  struct Open {
    spool::CallNode* node;
    Link* by;
  };
  struct OpenTask {
    std::uint32_t depth = 0;  // in the stack
    std::uint64_t id = 0;
    spool::CallKey key;
  };
  static constexpr std::uint32_t kMaxTasks = 256;
  // So many a node's class may be, if another process has written to the area: there is room for their sums.
  static constexpr std::size_t kClassPlaces = 256;
  static_assert(offsetof(spool::IterationRowsHeader, times) +
                    kClassPlaces * sizeof(std::uint64_t) <=
                spool::kIterationRowsHeaderBytes);

  // A visit has ended, not before it began.
  __attribute__((always_inline)) static void took(spool::CallNode& node,
                                                  std::uint64_t end) noexcept {
    extremes(node, end - node.enter_ticks);
    node.time += 2 * end - 1;
  }
  __attribute__((always_inline)) static void extremes(spool::CallNode& node,
                                                      std::uint64_t duration) noexcept {
    if (duration < node.least) node.least = duration;
    if (duration > node.greatest) node.greatest = duration;
  }
  static std::uint8_t kind_of(const Open& open) noexcept {
    return static_cast<std::uint8_t>(open.node->what);
  }
  // One class ends before the other begins.
  __attribute__((always_inline)) void change_class(std::uint8_t from, std::uint8_t to,
                                                   std::uint64_t ticks) noexcept {
    std::uint64_t* const times = times_;
    times[from] += ticks;
    __asm__ volatile("" : "+m"(times[from]));
    times[to] -= ticks;
  }
  // What the area says, for who has less room.
  static constexpr std::uint8_t class_in(std::uint8_t cls) noexcept {
    return cls % spool::kRowClasses;
  }
  spool::CallNode* current() const noexcept { return top_->node; }
  std::uint32_t depth() const noexcept { return static_cast<std::uint32_t>(top_ - stack_); }
  // The outermost region that is open is one that the filter leaves out: its time is outside.
  bool is_in_filtered() const noexcept {
    return top_ != stack_ && stack_[1].node->cls == spool::kOutsideClass;
  }
  std::uint64_t team_around(const Open* open) const noexcept;
  bool is_filtered(const Open* open) const noexcept;
  std::uint8_t class_of_node(spool::CallKey key, spool::CallKey before) const noexcept;
  bool find(spool::CallKey key, std::uint32_t& index) noexcept;
  std::uint32_t find_child(spool::CallKey key) noexcept;
  std::uint32_t find_edge(std::uint32_t from, spool::CallKey key) noexcept;
  std::uint32_t add_node(spool::CallKey key, MemoryFor what,
                         spool::CallKey before) noexcept;
  std::uint32_t add_edge(std::uint32_t from, std::uint32_t to) noexcept;
  std::uint64_t hash_of_node(std::uint32_t node) const noexcept;
  std::uint64_t hash_of_edge(std::uint32_t edge) const noexcept;
  void keep_elsewhere(std::uint64_t ticks) noexcept;
  void leave_elsewhere(std::uint64_t ticks) noexcept;
  void end_outer(std::uint8_t begin_kind, std::uint64_t ticks) noexcept;
  void leave_to(const Open* last, std::uint64_t ticks) noexcept;
  void enter_task(const OpenTask& task, std::uint64_t ticks) noexcept;
  void settle_test() noexcept;
  std::uint32_t first_task_of_team() const noexcept;
  std::uint32_t number_of(const spool::CallNode* node) const noexcept {
    return static_cast<std::uint32_t>(node - nodes_);
  }

  // Where there is no area: nothing matches, and find() says no.
  static constinit spool::CallNode s_no_node;
  static constinit spool::CallEdge s_no_edge;
  static constinit Link s_no_link;
  static constinit Open s_no_region;

  // Hot.
  std::uint32_t* prediction_ = &s_no_link.first;
  Link* links_ = &s_no_link;  // by edge
  spool::CallEdge* edges_ = &s_no_edge;
  Open* top_ = &s_no_region;
  Open* stack_ = &s_no_region;
  Open* stack_end_ = nullptr;
  std::uint64_t* times_ = own_times_;  // by class
  std::uint64_t left_ticks_ = 0;       // the latest leave
  std::uint32_t elsewhere_ = 1;        // open regions that have no node
  LateEnds late_ends_;

  // Rare.
  bool tests_lock_ =
      false;  // the innermost region is a test of a lock, which may have failed
  std::uint32_t tasks_ = 0;  // open, of all teams
  std::uint32_t node_count_ = 0;
  std::uint32_t edge_count_ = 0;
  spool::CallNode* nodes_ = &s_no_node;
  OwnMemory own_memory_;
  OwnEntries<Link> own_links_;
  spool::CallTreeHeader* header_ = nullptr;
  SummaryMemory* memory_ = nullptr;
  SummaryIndex node_index_;  // by parent and key
  SummaryIndex edge_index_;  // by predecessor and key
  EntryPages<spool::CallNode> node_pages_;
  EntryPages<spool::CallEdge> edge_pages_;
  std::uint64_t elsewhere_since_ = 0;
  std::uint64_t own_times_[kClassPlaces] = {};  // where nobody wants them
  OpenTask left_task_;  // the latest explicit task that was left for another
  OpenTask open_tasks_[kMaxTasks];
};

}  // namespace refrain::recorder
