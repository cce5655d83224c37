#include "tracer/recorder/call_tree.h"

#include <algorithm>

#include "spool/ompt_values.h"
#include "tracer/recorder/excluded_regions.h"
#include "tracer/recorder/record_time_class.h"

namespace refrain::recorder {

namespace ompt = spool::ompt;
using spool::CallEdge;
using spool::CallKey;
using spool::CallNode;
using spool::CallTreeHeader;
using spool::RecordWords;

namespace {

// The call that waits goes on until the release.
bool spans_block(std::uint8_t mutex) noexcept {
  return mutex == ompt::kMutexCritical || mutex == ompt::kMutexAtomic ||
         mutex == ompt::kMutexOrdered;
}
// What lies between the two is a region of its own.
bool has_block(std::uint8_t mutex) noexcept {
  return mutex == ompt::kMutexCritical || mutex == ompt::kMutexOrdered;
}

std::uint8_t sub_of(const RecordWords& record) noexcept {
  return static_cast<std::uint8_t>(record.meta >> RecordWords::kSubShift);
}

std::uint64_t a48_of(const RecordWords& record) noexcept {
  return (record.meta >> RecordWords::kHighShift & 0xffff) << 32 |
         (record.meta >> RecordWords::kLowShift & 0xffffffff);
}

std::uint64_t hash_of(std::uint32_t place, CallKey key) noexcept {
  std::uint64_t hash = key.payload ^ std::uint64_t{key.what} << 44;
  hash = (hash ^ std::uint64_t{place} << 17) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 32) * 0xBF58476D1CE4E5B9u;
  return hash >> 32;
}

constexpr CallKey kOther{spool::kOtherRegions, 0};

}  // namespace

constinit CallNode CallTree::s_no_node{};
constinit CallEdge CallTree::s_no_edge{};
constinit CallTree::Link CallTree::s_no_link{&s_no_node, 0, 0};
constinit CallTree::Open CallTree::s_no_region{&s_no_node, &s_no_link};

bool CallTree::open(void* area, std::uint64_t bytes, SummaryMemory& memory,
                    std::uint64_t* times) noexcept {
  close();
  const std::uint32_t nodes = spool::call_tree_nodes(bytes);
  if (nodes < 2) return false;
  const std::uint32_t edges = spool::kEdgesPerNode * nodes;
  auto* const begin = static_cast<std::byte*>(area);
  auto* const first_node = reinterpret_cast<CallNode*>(begin + spool::kCallTreeHeaderBytes);
  auto* const first_edge =
      reinterpret_cast<CallEdge*>(begin + spool::call_edge_offset(nodes, 0));
  node_pages_.open(first_node, nodes);
  edge_pages_.open(first_edge, edges);
  const std::uint64_t link_bytes = OwnEntries<Link>::bytes(edges);
  const std::uint64_t stack_bytes = OwnEntries<Open>::bytes(nodes);
  if (!own_memory_.open(link_bytes + stack_bytes)) return false;
  Link* const links = own_links_.open(own_memory_.begin(), edges);
  auto* const stack = reinterpret_cast<Open*>(own_memory_.begin() + link_bytes);
  if (!memory.use(begin, first_node, MemoryFor::kAnything) ||
      !node_pages_.reach(spool::kRootNode, memory) ||
      !edge_pages_.reach(spool::kStrayEdge, memory) ||
      !own_links_.reach(spool::kStrayEdge, memory)) {
    own_memory_.close();
    return false;
  }
  memory_ = &memory;
  header_ = reinterpret_cast<CallTreeHeader*>(begin);
  nodes_ = first_node;
  edges_ = first_edge;
  header_->node_capacity = nodes;
  header_->edge_capacity = edges;
  links_ = links;
  stack_ = top_ = stack;
  stack_end_ = stack + nodes;
  *stack_ = {nodes_, links_ + spool::kNoEdge};
  node_count_ = edge_count_ = 0;
  times_ = times != nullptr ? times : own_times_;
  left_ticks_ = 0;
  tasks_ = 0;
  tests_lock_ = false;
  left_task_ = {};
  // The root, which is never entered, and the two edges that lead nowhere.
  add_node({}, MemoryFor::kAnything, {});
  const bool has_edges = edge_index_.make_room(
      memory, MemoryFor::kAnything, [](std::uint32_t) { return std::uint64_t{0}; });
  if (node_count_ == 0 || !has_edges) {
    header_->nodes.store(0, std::memory_order_relaxed);
    close();
    return false;
  }
  for (const std::uint32_t edge : {spool::kNoEdge, spool::kStrayEdge}) {
    edges_[edge].from = spool::kUnknownPlace;
    links_[edge].node = nodes_;
  }
  edge_count_ = spool::kFirstEdge;
  header_->edges.store(edge_count_, std::memory_order_release);
  prediction_ = &links_[spool::kNoEdge].first;
  elsewhere_ = 0;
  return true;
}

void CallTree::close() noexcept {
  node_index_.close();
  edge_index_.close();
  header_ = nullptr;
  prediction_ = &s_no_link.first;
  nodes_ = &s_no_node;
  edges_ = &s_no_edge;
  links_ = &s_no_link;
  stack_ = top_ = &s_no_region;
  stack_end_ = nullptr;
  own_memory_.close();
  times_ = own_times_;
  late_ends_ = {};
  elsewhere_ = 1;
}

// The edge to take now, where it is not the predicted one. False: there is no node for it.
__attribute__((noinline)) bool CallTree::find(CallKey key, std::uint32_t& index) noexcept {
  if (tests_lock_) settle_test();
  if (elsewhere_ != 0 || current()->what == spool::kOtherRegions) return false;
  // A prediction is part of the link of the edge that was taken last: whether a child of the current node comes
  // next, or its next sibling.
  const auto word =
      static_cast<std::size_t>(prediction_ - reinterpret_cast<std::uint32_t*>(links_));
  constexpr std::size_t kWords = sizeof(Link) / sizeof(std::uint32_t);
  const auto last = static_cast<std::uint32_t>(word / kWords);
  const bool sibling = prediction_ == &links_[last].next;
  std::uint32_t from = spool::kFirstChild | number_of(current());
  if (sibling)
    from = last == spool::kStrayEdge ? spool::kUnknownPlace : number_of(links_[last].node);
  index = find_edge(from, key);
  if (index == spool::kNoEdge) {
    std::uint32_t node = find_child(key);
    if (node == spool::kRootNode) {
      const bool after = sibling && from != spool::kUnknownPlace;
      const CallKey before =
          after ? CallKey{nodes_[from].what, nodes_[from].payload} : CallKey{};
      node = add_node(key, MemoryFor::kAnything, before);
      if (node == spool::kRootNode) {
        header_->regions_elsewhere.store(header_->regions_elsewhere + 1,
                                         std::memory_order_relaxed);
        node = find_child(kOther);
        if (node == spool::kRootNode) node = add_node(kOther, MemoryFor::kTheRest, before);
        if (node == spool::kRootNode) return false;
        index = find_edge(from, kOther);
      }
    }
    if (index == spool::kNoEdge) index = add_edge(from, node);
    if (index == spool::kStrayEdge) {
      edges_[index].to = node;
      links_[index].node = nodes_ + node;
      ++nodes_[node].visits_elsewhere;
      header_->visits_elsewhere.store(header_->visits_elsewhere + 1,
                                      std::memory_order_relaxed);
    }
  }
  if (last != spool::kStrayEdge && index != spool::kStrayEdge) *prediction_ = index;
  return true;
}

std::uint64_t CallTree::hash_of_node(std::uint32_t node) const noexcept {
  return hash_of(nodes_[node].parent, {nodes_[node].what, nodes_[node].payload});
}

std::uint64_t CallTree::hash_of_edge(std::uint32_t edge) const noexcept {
  const CallNode& to = *links_[edge].node;
  return hash_of(edges_[edge].from, {to.what, to.payload});
}

std::uint32_t CallTree::find_edge(std::uint32_t from, CallKey key) noexcept {
  static_assert(spool::kNoEdge == 0);
  if (from == spool::kUnknownPlace) return spool::kNoEdge;
  return edge_index_.find(hash_of(from, key), [&](std::uint32_t index) {
    const CallNode& node = *links_[index].node;
    return edges_[index].from == from && node.payload == key.payload &&
           node.what == key.what;
  });
}

// Of the current node; the root if there is none.
std::uint32_t CallTree::find_child(CallKey key) noexcept {
  static_assert(spool::kRootNode == 0);
  const std::uint32_t parent = number_of(current());
  return node_index_.find(hash_of(parent, key), [&](std::uint32_t index) {
    const CallNode& node = nodes_[index];
    return node.parent == parent && node.payload == key.payload && node.what == key.what;
  });
}

// Under the current node, if there is memory for it; the root if not.
std::uint32_t CallTree::add_node(CallKey key, MemoryFor what, CallKey before) noexcept {
  const std::uint32_t index = node_count_;
  if (!node_pages_.reach(index, *memory_, what) ||
      !node_index_.make_room(*memory_, what,
                             [this](std::uint32_t node) { return hash_of_node(node); }))
    return spool::kRootNode;
  const std::uint32_t parent = number_of(current());
  CallNode& node = nodes_[index];
  node.payload = key.payload;
  node.what = key.what;
  node.parent = parent;
  node.around = nodes_[parent].cls;
  node.cls = index == spool::kRootNode ? std::uint8_t{spool::kOutsideClass}
                                       : class_of_node(key, before);
  node.least = ~std::uint64_t{0};
  // Release: complete before it counts, for who reads it meanwhile or after a kill.
  header_->nodes.store(++node_count_, std::memory_order_release);
  if (index != spool::kRootNode) node_index_.put(hash_of(parent, key), index);
  return index;
}

// The stray one if there is no memory for it, or its predecessor is not known.
std::uint32_t CallTree::add_edge(std::uint32_t from, std::uint32_t to) noexcept {
  const std::uint32_t index = edge_count_;
  const MemoryFor what =
      nodes_[to].what == spool::kOtherRegions ? MemoryFor::kTheRest : MemoryFor::kAnything;
  if (from == spool::kUnknownPlace || !edge_pages_.reach(index, *memory_, what) ||
      !own_links_.reach(index, *memory_, what) ||
      !edge_index_.make_room(*memory_, what,
                             [this](std::uint32_t edge) { return hash_of_edge(edge); }))
    return spool::kStrayEdge;
  edges_[index].to = to;
  edges_[index].from = from;
  links_[index].node = nodes_ + to;
  header_->edges.store(++edge_count_, std::memory_order_release);  // as above
  edge_index_.put(hash_of_edge(index), index);
  return index;
}

__attribute__((noinline)) void CallTree::keep_elsewhere(std::uint64_t ticks) noexcept {
  if (!is_open()) return;
  constexpr auto kUnknown = static_cast<std::uint8_t>(summary::TimeClass::kUnknown);
  if (elsewhere_++ == 0) {
    elsewhere_since_ = ticks;
    change_class(current()->cls, kUnknown, ticks);
  }
  ++current()->regions_elsewhere;
  // Nothing is predicted while it lasts.
  prediction_ = &links_[spool::kStrayEdge].first;
}

__attribute__((noinline)) void CallTree::leave_elsewhere(std::uint64_t ticks) noexcept {
  if (!is_open() || --elsewhere_ != 0) return;
  const std::uint64_t end = std::max(ticks, elsewhere_since_);
  current()->time_elsewhere += end - elsewhere_since_;
  change_class(static_cast<std::uint8_t>(summary::TimeClass::kUnknown), current()->cls,
               end);
  left_ticks_ = end;
  prediction_ = &links_[spool::kStrayEdge].next;
}

__attribute__((noinline)) void CallTree::end_outer(std::uint8_t begin_kind,
                                                   std::uint64_t ticks) noexcept {
  if (!is_open()) return;
  if (tests_lock_) settle_test();
  if (elsewhere_ != 0) return leave_elsewhere(ticks);
  const bool of_team =
      begin_kind == spool::kParallelBegin || begin_kind == spool::kImplicitTaskBegin;
  for (const Open* open = top_; open != stack_; --open) {
    const auto kind = static_cast<std::uint8_t>(open->node->what);
    // Which kinds the others were is not known: the innermost ends.
    if (kind == begin_kind || open->node->what == spool::kOtherRegions)
      return leave_to(open, ticks);
    if (kind == spool::kImplicitTaskBegin && !of_team) return;
  }
}

void CallTree::leave_to(const Open* last, std::uint64_t ticks) noexcept {
  while (top_ >= last && top_ != stack_) {
    if (tasks_ != 0 && open_tasks_[tasks_ - 1].depth == depth()) --tasks_;
    leave(ticks);
  }
}

// --- Explicit tasks: as RecordInterpreter::schedule_task() ---------------------------

std::uint32_t CallTree::first_task_of_team() const noexcept {
  std::uint32_t first = tasks_;
  for (const Open* open = top_; open != stack_; --open) {
    if (static_cast<std::uint8_t>(open->node->what) == spool::kImplicitTaskBegin)
      return first;
    if (first != 0 && open_tasks_[first - 1].depth == open - stack_) --first;
  }
  return first;
}

void CallTree::enter_task(const OpenTask& task, std::uint64_t ticks) noexcept {
  enter(task.key, ticks);
  if (elsewhere_ != 0) return leave_elsewhere(ticks);
  if (tasks_ == kMaxTasks) return leave(ticks);
  open_tasks_[tasks_] = task;
  open_tasks_[tasks_++].depth = depth();
}

void CallTree::task_schedule(const RecordWords& record) noexcept {
  if (!is_open()) return;
  if (tests_lock_) settle_test();
  if (elsewhere_ != 0) return;
  const std::uint64_t ticks = record.ticks;
  const auto flags = static_cast<std::uint16_t>(record.payload >> 48);
  const std::uint8_t status = sub_of(record);
  const bool next_explicit = (flags & spool::kTaskNextExplicit) != 0;
  const bool ends = (status == ompt::kTaskComplete || status == ompt::kTaskCancel ||
                     status == ompt::kTaskDetach) &&
                    (flags & spool::kTaskPriorExplicit) != 0;
  const std::uint64_t id = a48_of(record);
  const std::uint32_t base = first_task_of_team();
  const bool runs = tasks_ > base;
  const OpenTask prior = runs ? open_tasks_[tasks_ - 1] : OpenTask{};
  if (runs && ends && next_explicit && prior.id == id) {
    // The runtime reported before that this one runs again; the one that it left then has ended.
    if (left_task_.key.what != 0) point(left_task_.key, ticks);
    left_task_ = {};
  } else if (runs && ends) {
    leave_to(stack_ + prior.depth, ticks);
  } else if (runs) {
    left_task_ = prior;
  }
  if (!next_explicit) {
    if (tasks_ > base) leave_to(stack_ + open_tasks_[base].depth, ticks);
    return;
  }
  for (std::uint32_t i = base; i < tasks_; ++i) {
    if (open_tasks_[i].id != id) continue;
    if (i + 1 < tasks_) leave_to(stack_ + open_tasks_[i + 1].depth, ticks);
    return;
  }
  enter_task({0, id, CallKey::of(record)}, ticks);
}

// --- Locks: as RecordInterpreter::acquire(), acquired(), released() ------------------

// The test failed: nothing tells when it returned.
void CallTree::settle_test() noexcept {
  tests_lock_ = false;
  leave(current()->enter_ticks);
}

void CallTree::mutex_acquire(const RecordWords& record) noexcept {
  enter(CallKey::of(record), record.ticks);
  const std::uint8_t mutex = sub_of(record);
  if (elsewhere_ != 0 ||
      (mutex != ompt::kMutexTestLock && mutex != ompt::kMutexTestNestLock))
    return;
  tests_lock_ = true;
  prediction_ = &links_[spool::kStrayEdge].first;  // whatever comes next settles it
}

void CallTree::mutex_acquired(const RecordWords& record) noexcept {
  if (!is_open()) return;
  tests_lock_ = false;
  const std::uint8_t mutex = sub_of(record);
  const bool waits = elsewhere_ != 0 || current()->what == spool::kOtherRegions ||
                     static_cast<std::uint8_t>(current()->what) == spool::kMutexAcquire;
  const CallKey key = CallKey::of(record);
  if (!waits) enter(CallKey::make(spool::kMutexAcquire, mutex, key.payload), record.ticks);
  if (!spans_block(mutex)) return leave(record.ticks);
  if (has_block(mutex)) enter(key, record.ticks);
}

// A lock that the task has already is taken again, in the call that waits for it; or it is given
// back in part.
void CallTree::nest_lock(const RecordWords& record) noexcept {
  if (!is_open()) return;
  const bool takes = sub_of(record) == ompt::kScopeBegin;
  if (takes && elsewhere_ == 0 &&
      static_cast<std::uint8_t>(current()->what) == spool::kMutexAcquire) {
    tests_lock_ = false;
    leave(record.ticks);
  } else if (takes && elsewhere_ != 0) {
    leave_elsewhere(record.ticks);
  }
  point(CallKey::of(record), record.ticks);
}

void CallTree::mutex_released(const RecordWords& record) noexcept {
  const std::uint8_t mutex = sub_of(record);
  if (!is_open() || !spans_block(mutex)) return;
  if (tests_lock_) settle_test();
  if (has_block(mutex) && elsewhere_ != 0) leave_elsewhere(record.ticks);
  end(spool::kMutexAcquire, record.ticks);
}

// Address of the innermost parallel region around what lies in this one, 0: none.
std::uint64_t CallTree::team_around(const Open* open) const noexcept {
  while (open != stack_ &&
         static_cast<std::uint8_t>(open->node->what) != spool::kImplicitTaskBegin)
    --open;
  return open->node->payload;
}

bool CallTree::is_filtered(const Open* open) const noexcept {
  return open != stack_ &&
         is_excluded({open->node->what, open->node->payload}, team_around(open - 1));
}

// Of a new node in the innermost open region. Time in what the filter leaves out is that of what lies around it; others
// do not see it.
std::uint8_t CallTree::class_of_node(CallKey key, CallKey before) const noexcept {
  const std::uint8_t around = current()->cls;
  const std::uint64_t team = team_around(top_);
  if (is_excluded(key, team)) return around;
  if (is_excluded(before, team)) before = {};
  const Open* parent = top_;
  while (is_filtered(parent)) --parent;
  return static_cast<std::uint8_t>(
      class_of_region(key, {parent->node->what, parent->node->payload},
                      static_cast<summary::TimeClass>(around), before));
}

}  // namespace refrain::recorder
