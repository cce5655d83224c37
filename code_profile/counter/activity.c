// Entering and leaving loops, and the counts of trips.
//
// A trip is kept as what was seen: how often control came back to the head, and which block ran last in
// the loop. Whether the last, unfinished pass counts as an iteration (it does where the loop was left in
// its body or at its end, not where its test at the head failed) is decided by who reads the file, who
// knows source lines.
#include "loop_tool.h"

LoopCounts* loop_counts(Loop* loop, UInt slot) {
  if (slot < loop->slots) return &loop->counts[slot];
  loop->counts =
      VG_(realloc)("loops.counts", loop->counts, (slot + 1) * sizeof(LoopCounts));
  VG_(memset)(loop->counts + loop->slots, 0, (slot + 1 - loop->slots) * sizeof(LoopCounts));
  loop->slots = slot + 1;
  return &loop->counts[slot];
}

static Trips* trips_at(LoopCounts* counts, const Block* exit) {
  Trips** recent = &counts->recent[exit == NULL ? 0 : exit->number % kRecentTrips];
  if (*recent != NULL && (*recent)->exit == exit) return *recent;
  Trips* first = counts->trips;
  for (Trips* trips = first; trips != NULL; trips = trips->next)
    if (trips->exit == exit) return *recent = trips;
  Trips* trips = VG_(calloc)("loops.trips", 1, sizeof(Trips));
  trips->exit = exit;
  trips->next = first;
  counts->trips = trips;
  *recent = trips;
  return trips;
}

static void add_large(Trips* trips, ULong value, Long times) {
  // Beyond what is kept exactly: the largest power of two below.
  if (trips->large_count >= kMaxTrips) {
    ULong power = 1;
    while (power <= value / 2) power *= 2;
    value = power;
  }
  UInt low = 0, high = trips->large_count;
  while (low < high) {
    const UInt middle = (low + high) / 2;
    if (trips->large[middle].value < value)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < trips->large_count && trips->large[low].value == value) {
    trips->large[low].count += times;
    return;
  }
  if (trips->large_count == trips->large_room) {
    trips->large_room = trips->large_room == 0 ? 4 : 2 * trips->large_room;
    trips->large =
        VG_(realloc)("loops.large", trips->large, trips->large_room * sizeof(TripCount));
  }
  for (UInt i = trips->large_count; i > low; --i) trips->large[i] = trips->large[i - 1];
  trips->large[low].value = value;
  trips->large[low].count = times;
  ++trips->large_count;
}

void add_trip(LoopCounts* counts, const Block* exit, ULong backs, Long times) {
  Trips* trips = trips_at(counts, exit);
  if (backs < kSmallTrips)
    trips->small[backs] += times;
  else
    add_large(trips, backs, times);
}

static ULong frame_serial(const Thread* thread) {
  const Stack* stack = &thread->stack;
  return stack->frame_count == 0 ? 0 : stack->frames[stack->frame_count - 1].serial;
}

static void leave(Thread* thread, Stay* stay, const Block* at) {
  LoopCounts* counts = loop_counts(stay->loop, thread->slot);
  const Bool outermost = --counts->active == 0;
  for (UInt i = 0; i < kCounters; ++i) {
    counts->left_from[i] = stay->from[i];
    counts->left_total[i] = outermost ? thread->counters[i] - stay->from[i] : 0;
    counts->total[i] += counts->left_total[i];
  }
  counts->left_frame = 0;
  if (stay->inherited) {
    counts->inherited += stay->heads;
    return;
  }
  const ULong backs = stay->heads > 0 ? stay->heads - 1 : 0;
  add_trip(counts, at, backs, 1);
  counts->left_frame = frame_serial(thread);
  counts->left_heads = stay->heads;
  counts->left_at = at;
}

static UInt stays_below(const Stack* stack) {
  return stack->frame_count == 0 ? 0 : stack->frames[stack->frame_count - 1].stays;
}

// What translated code needs.
void refresh(Thread* thread) {
  Stack* stack = &thread->stack;
  thread->stay = stack->stay_count > stays_below(stack)
                     ? &stack->stays[stack->stay_count - 1]
                     : &thread->outside;
  thread->loop = thread->stay->loop;
}

void leave_stays(Thread* thread, UInt down_to, const Block* at) {
  Stack* stack = &thread->stack;
  while (stack->stay_count > down_to) leave(thread, &stack->stays[--stack->stay_count], at);
}

static Stay* push(Stack* stack) {
  if (stack->stay_count == stack->stay_room) {
    stack->stay_room = stack->stay_room == 0 ? 64 : 2 * stack->stay_room;
    stack->stays =
        VG_(realloc)("loops.stays", stack->stays, stack->stay_room * sizeof(Stay));
  }
  return &stack->stays[stack->stay_count++];
}

static void enter(Thread* thread, Loop* loop, ULong heads) {
  Stay* stay = push(&thread->stack);
  stay->loop = loop;
  stay->heads = heads;
  stay->inherited = False;
  for (UInt i = 0; i < kCounters; ++i) stay->from[i] = thread->counters[i];
  ++loop_counts(loop, thread->slot)->active;
}

static void enter_down_to(Thread* thread, Loop* loop, const Loop* below, const Block* block,
                          ULong at_head) {
  if (loop == below) return;
  enter_down_to(thread, loop->parent, below, block, at_head);
  // A loop that is entered elsewhere than at its head: the rest of that pass is one.
  enter(thread, loop, loop->head == block ? at_head : 1);
}

// The block, which runs next, is in other loops than the thread.
static void change(Thread* thread, Block* block, ULong at_head) {
  Stack* stack = &thread->stack;
  const UInt bottom = stays_below(stack);
  Loop* target = block->loop;
  UInt keep = stack->stay_count;
  while (keep > bottom && !in_loop(target, stack->stays[keep - 1].loop)) --keep;
  leave_stays(thread, keep, thread->at);
  Loop* top = keep > bottom ? stack->stays[keep - 1].loop : NULL;
  if (top != target)
    enter_down_to(thread, target, top, block, at_head);
  else if (target != NULL && target->head == block)
    stack->stays[keep - 1].heads += at_head;
  refresh(thread);
}

void move_to(Thread* thread, Block* block) { change(thread, block, 1); }
void move_to_head(Thread* thread, Block* block) { change(thread, block, 0); }

// ---- Loops that are found while threads are in them ----------------------------------------------------

// The entry of a frame was counted when the loop was found, as one that had ended, but it had not.
static void still_inside(Loop* loop) {
  LoopCounts* counts = loop_counts(loop, loop->unsettled_slot);
  for (UInt i = 0; i < loop->settled_count; ++i) {
    Settled* settled = &loop->settled[i];
    // What seemed to lie behind the loop is in it.
    if (settled->times == 0 || !in_loop(settled->outside->loop, loop)) continue;
    --settled->times;
    add_trip(counts, settled->from, 0, -1);
    return;
  }
  if (loop->unsettled == 0) return;
  --loop->unsettled;
  add_trip(counts, NULL, 0, -1);
}

// Puts a stay in front of number `at`, in the stack of a frame that is in the loop already.
static void insert(Thread* thread, Stack* stack, UInt frame, UInt at, Loop* loop,
                   Bool fresh) {
  push(stack);
  for (UInt i = stack->stay_count - 1; i > at; --i) stack->stays[i] = stack->stays[i - 1];
  for (UInt f = frame + 1; f < stack->frame_count; ++f) ++stack->frames[f].stays;
  Stay* stay = &stack->stays[at];
  stay->loop = loop;
  stay->heads = 1;
  stay->inherited = False;
  LoopCounts* counts = loop_counts(loop, thread->slot);
  const Bool resumed =
      counts->left_frame != 0 && counts->left_frame == stack->frames[frame].serial;
  if (resumed) {
    // It was not left: the path led to its head, which was not known then.
    stay->heads = counts->left_heads;
    add_trip(counts, counts->left_at, counts->left_heads > 0 ? counts->left_heads - 1 : 0,
             -1);
    for (UInt i = 0; i < kCounters; ++i) {
      stay->from[i] = counts->left_from[i];
      counts->total[i] -= counts->left_total[i];
    }
    counts->left_frame = 0;
  } else {
    for (UInt i = 0; i < kCounters; ++i) stay->from[i] = thread->counters[i];
    if (!fresh) still_inside(loop);
  }
  ++loop_counts(loop, thread->slot)->active;
}

static UInt repair_frame(Thread* thread, Stack* stack, UInt frame, Loop* loop,
                         UInt* position, Loop* fresh) {
  // From outermost to innermost; returns how many stays in `fresh` were made.
  if (loop == NULL) return 0;
  UInt made = repair_frame(thread, stack, frame, loop->parent, position, fresh);
  const UInt end =
      frame + 1 < stack->frame_count ? stack->frames[frame + 1].stays : stack->stay_count;
  for (UInt i = *position; i < end; ++i)
    if (stack->stays[i].loop == loop) {
      *position = i + 1;
      return made;
    }
  if (fresh != NULL && loop != fresh) return made;
  insert(thread, stack, frame, *position, loop, loop == fresh);
  ++*position;
  return fresh == NULL ? made : made + 1;
}

static UInt repair_stack(Thread* thread, Stack* stack, const Component* component,
                         Loop* fresh) {
  UInt made = 0;
  for (UInt frame = 0; frame < stack->frame_count; ++frame) {
    const Block* at =
        frame + 1 < stack->frame_count ? stack->frames[frame + 1].at : stack->at;
    if (at == NULL || at->component != component || at->loop == NULL) continue;
    UInt position = stack->frames[frame].stays;
    made += repair_frame(thread, stack, frame, at->loop, &position, fresh);
  }
  return made;
}

static UInt repair_threads(const Component* component, Loop* fresh) {
  UInt made = 0;
  for (UInt tid = 0; tid < thread_slots; ++tid) {
    Thread* thread = threads[tid];
    if (thread == NULL) continue;
    thread->stack.at = thread->at;
    made += repair_stack(thread, &thread->stack, component, fresh);
    for (Stack* other = thread->others; other != NULL; other = other->next)
      made += repair_stack(thread, other, component, fresh);
    refresh(thread);
  }
  return made;
}

// Where a block that is not in the loop is reached from the loop only: the block in it that is left.
static const Block* left_for(const Block* outside, const Loop* loop) {
  const Block* from = NULL;
  for (UInt i = 0; i < outside->predecessors.count; ++i) {
    const Block* before = outside->predecessors.items[i];
    if (!in_loop(before->loop, loop)) return NULL;
    from = before;
  }
  return from;
}

static void settle(Loop* loop, const Block* outside, const Block* from, ULong times) {
  if (loop->settled_count == kMaxSettled) return;
  Settled* settled = &loop->settled[loop->settled_count++];
  settled->outside = outside;
  settled->from = from;
  settled->times = times;
}

// Earlier runs of the head, when it was not known as one: each was an entry that did not come back to it.
// How often what lies behind the loop ran tells where it was left.
static void count_earlier(Loop* loop, UInt inside, const Component* component) {
  const ThreadId tid = VG_(get_running_tid)();
  const Thread* thread = tid < thread_slots ? threads[tid] : NULL;
  LoopCounts* counts = loop_counts(loop, thread == NULL ? 0 : thread->slot);
  ULong earlier = loop->head->runs > inside ? loop->head->runs - inside : 0;
  for (UInt i = 0; i < component->blocks.count && earlier > 0; ++i) {
    const Block* outside = component->blocks.items[i];
    if (outside->runs == 0 || in_loop(outside->loop, loop)) continue;
    const Block* from = left_for(outside, loop);
    if (from == NULL) continue;
    const ULong times = VG_MIN(earlier, outside->runs);
    settle(loop, outside, from, times);
    add_trip(counts, from, 0, times);
    earlier -= times;
  }
  // By returns, or still to come back: frames that are in it without being known to be.
  if (earlier > 0) add_trip(counts, NULL, 0, earlier);
  loop->unsettled = earlier;
  loop->unsettled_slot = thread == NULL ? 0 : thread->slot;
}

void repair_frames(Component* component) {
  for (UInt i = 0; i < component->blocks.count; ++i) {
    const Block* block = component->blocks.items[i];
    Loop* loop = block->is_head ? block->headed : NULL;
    if (loop == NULL || loop->known) continue;
    loop->known = True;
    count_earlier(loop, repair_threads(component, loop), component);
  }
  // Loops that got blocks in which a frame is.
  repair_threads(component, NULL);
}

void split_position(Block* from, Block* to) {
  for (UInt tid = 0; tid < thread_slots; ++tid) {
    Thread* thread = threads[tid];
    if (thread == NULL) continue;
    if (thread->at == from) thread->at = to;
    Stack* stack = &thread->stack;
    for (Stack* next = thread->others;; next = next->next) {
      if (stack->at == from) stack->at = to;
      for (UInt i = 0; i < stack->frame_count; ++i)
        if (stack->frames[i].at == from) stack->frames[i].at = to;
      if (next == NULL) break;
      stack = next;
    }
  }
  // Trips that ended at the end of the block.
  for (Loop* loop = from->loop; loop != NULL; loop = loop->parent)
    for (UInt slot = 0; slot < loop->slots; ++slot) {
      if (loop->counts[slot].left_at == from) loop->counts[slot].left_at = to;
      for (Trips* trips = loop->counts[slot].trips; trips != NULL; trips = trips->next)
        if (trips->exit == from) trips->exit = to;
    }
}
