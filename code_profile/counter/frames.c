// Calls, returns, jumps that leave frames, other stacks, signals, threads and forks.
//
// A frame is alive while the stack pointer is not above the place of its return address. Returns pop the
// frame; whatever sets the stack pointer otherwise (longjmp, exceptions, coroutines) does it in a block that
// ends with a return or an indirect jump, so only these look at it. A stack pointer that is not in the range of the
// current stack belongs to another one: coroutines keep their frames while they do not run.
#include "loop_tool.h"

Thread** threads;
UInt thread_slots;

// Space below a stack pointer that belongs to its stack, too.
enum { kNear = 4096 };
// Tail calls in a row that get frames of their own.
enum { kMaxTails = 64 };

CallCounts* call_counts(CallCounts** counts, UInt* slots, UInt slot) {
  if (slot < *slots) return &(*counts)[slot];
  *counts = VG_(realloc)("loops.calls", *counts, (slot + 1) * sizeof(CallCounts));
  VG_(memset)(*counts + *slots, 0, (slot + 1 - *slots) * sizeof(CallCounts));
  *slots = slot + 1;
  return &(*counts)[slot];
}

static CallEdge* find_edge(Block* block, Addr target, Bool tail) {
  CallEdge** place = &block->edges;
  for (CallEdge* edge; (edge = *place) != NULL; place = &edge->next)
    if (edge->callee->address == target) {
      // The latest one first.
      *place = edge->next;
      edge->next = block->edges;
      return block->edges = edge;
    }
  CallEdge* edge = VG_(calloc)("loops.edge", 1, sizeof(CallEdge));
  edge->callee = function_at(target);
  edge->tail = tail;
  edge->next = block->edges;
  Block* callee = find_block(target);
  if (callee != NULL) callee->called = True;
  return block->edges = edge;
}

static Frame* new_frame(Thread* thread, FrameKind kind, Addr sp) {
  Stack* stack = &thread->stack;
  if (stack->frame_count == stack->frame_room) {
    stack->frame_room = stack->frame_room == 0 ? 256 : 2 * stack->frame_room;
    stack->frames =
        VG_(realloc)("loops.frames", stack->frames, stack->frame_room * sizeof(Frame));
  }
  Frame* frame = &stack->frames[stack->frame_count++];
  frame->sp = sp;
  frame->serial = ++thread->serial;
  frame->kind = kind;
  frame->stays = stack->stay_count;
  frame->at = thread->at;
  for (UInt i = 0; i < kCounters; ++i) frame->from[i] = thread->counters[i];
  thread->at = NULL;
  thread->loop = NULL;
  thread->stay = &thread->outside;
  return frame;
}

static void push_call(Thread* thread, Block* block, Addr target, Addr sp, Bool tail) {
  CallEdge* edge = block->edges;
  if (edge == NULL || edge->callee->address != target)
    edge = find_edge(block, target, tail);
  Frame* frame = new_frame(thread, tail ? kTail : kCall, sp);
  frame->edge = edge;
  Function* function = frame->function = edge->callee;
  CallCounts* counts = call_counts(&edge->counts, &edge->slots, thread->slot);
  ++counts->calls;
  ++counts->active;
  counts = call_counts(&function->counts, &function->slots, thread->slot);
  ++counts->calls;
  if (counts->active++ > 0) function->recursive = True;
}

static void close_counts(const Thread* thread, const Frame* frame, CallCounts* counts) {
  if (--counts->active > 0) return;
  for (UInt i = 0; i < kCounters; ++i)
    counts->total[i] += thread->counters[i] - frame->from[i];
}

static void pop_frame(Thread* thread) {
  Stack* stack = &thread->stack;
  const Frame* frame = &stack->frames[stack->frame_count - 1];
  if (stack->stay_count > frame->stays) leave_stays(thread, frame->stays, thread->at);
  if (frame->edge != NULL)
    close_counts(thread, frame,
                 call_counts(&frame->edge->counts, &frame->edge->slots, thread->slot));
  if (frame->function != NULL)
    close_counts(
        thread, frame,
        call_counts(&frame->function->counts, &frame->function->slots, thread->slot));
  thread->at = frame->at;
  --stack->frame_count;
  refresh(thread);
}

static Frame* top(Thread* thread) {
  return &thread->stack.frames[thread->stack.frame_count - 1];
}

void enter_call(Thread* thread, Block* block, Addr target, Addr sp) {
  push_call(thread, block, target, sp, False);
}

void enter_tail(Thread* thread, Block* block, Addr target, Addr sp) {
  Stack* stack = &thread->stack;
  // Functions that go on calling each other in this way never return.
  UInt row = 0;
  while (row < stack->frame_count && row < kMaxTails &&
         stack->frames[stack->frame_count - 1 - row].kind == kTail)
    ++row;
  if (row == kMaxTails) pop_frame(thread);
  push_call(thread, block, target, sp, True);
}

// ---- Other stacks ----------------------------------------------------------------------------------------

static void suspend(Thread* thread, Addr low) {
  Stack* copy = VG_(malloc)("loops.stack", sizeof(Stack));
  thread->stack.at = thread->at;
  thread->stack.low = low;
  VG_(memcpy)(thread->stack.left, thread->counters, sizeof thread->counters);
  *copy = thread->stack;
  copy->next = thread->others;
  thread->others = copy;
  VG_(memset)(&thread->stack, 0, sizeof thread->stack);
}

static void resume(Thread* thread, Stack** place) {
  Stack* stack = *place;
  *place = stack->next;
  thread->stack = *stack;
  VG_(free)(stack);
  stack = &thread->stack;
  // What ran meanwhile did not run in its frames and loops.
  for (UInt i = 0; i < kCounters; ++i) {
    const ULong elsewhere = thread->counters[i] - stack->left[i];
    for (UInt f = 0; f < stack->frame_count; ++f) stack->frames[f].from[i] += elsewhere;
    for (UInt s = 0; s < stack->stay_count; ++s) stack->stays[s].from[i] += elsewhere;
  }
  thread->at = stack->at;
  refresh(thread);
}

static void begin_stack(Thread* thread, Addr base, Addr target) {
  thread->stack.base = base;
  thread->at = NULL;
  Frame* frame = new_frame(thread, kRoot, ~(Addr)0);
  frame->edge = NULL;
  frame->function = target == 0 ? NULL : function_at(target);
  if (frame->function == NULL) return;
  CallCounts* counts =
      call_counts(&frame->function->counts, &frame->function->slots, thread->slot);
  ++counts->calls;
  ++counts->active;
}

static Stack** stack_that_waits_for(Thread* thread, Addr sp) {
  for (Stack** place = &thread->others; *place != NULL; place = &(*place)->next) {
    const Stack* stack = *place;
    if (stack->frame_count > 0 && stack->frames[stack->frame_count - 1].sp + 8 == sp)
      return place;
  }
  return NULL;
}

static Stack** stack_around(Thread* thread, Addr sp) {
  for (Stack** place = &thread->others; *place != NULL; place = &(*place)->next)
    if (sp >= (*place)->low && sp <= (*place)->base) return place;
  return NULL;
}

// The stack pointer is no longer what a return to the caller, or a jump in the function, makes of it.
static void move_stack(Thread* thread, Addr target, Addr sp, Addr sp_before) {
  Stack** place = stack_that_waits_for(thread, sp);
  const Bool same = sp + kNear >= sp_before && sp <= thread->stack.base;
  if (place == NULL && !same) place = stack_around(thread, sp);
  if (place != NULL) {
    const Stack* wanted = *place;
    suspend(thread, sp_before);
    for (place = &thread->others; *place != wanted;) place = &(*place)->next;
    resume(thread, place);
  } else if (!same) {
    suspend(thread, sp_before);
    begin_stack(thread, sp + 256, target);
    return;
  }
  while (thread->stack.frame_count > 1 && top(thread)->sp < sp) pop_frame(thread);
}

static void add_dynamic_jump(Block* from, Addr target) {
  if (from == NULL) return;
  in_generated_code = True;
  if (add_jump(from, target)) find_loops(from->component);
  in_generated_code = False;
}

void return_to(Thread* thread, Block* block, Addr target, Addr sp, Addr sp_before) {
  if (top(thread)->sp + 8 == sp) {
    pop_frame(thread);
    // Functions that ended with a jump to the one that returns.
    while (top(thread)->sp < sp) pop_frame(thread);
    return;
  }
  const UInt frames = thread->stack.frame_count;
  move_stack(thread, target, sp, sp_before);
  (void)block;
  // `ret n`, or one frame more: back at a call. Otherwise a jump.
  if (thread->stack.frame_count + 1 == frames) return;
  add_dynamic_jump(thread->at, target);
}

static Bool same_function(Thread* thread, const Block* block, Addr target) {
  const HChar* name;
  HChar own[256];
  const DiEpoch now = VG_(current_DiEpoch)();
  if (VG_(get_fnname)(now, block->address, &name)) {
    VG_(strncpy)(own, name, sizeof own - 1);
    own[sizeof own - 1] = 0;
    return VG_(get_fnname)(now, target, &name) &&
           VG_(strncmp)(own, name, sizeof own - 1) == 0;
  }
  return top(thread)->function != NULL && top(thread)->function->address == target;
}

Bool leaves_function(Thread* thread, const Block* block, Addr target) {
  return begins_function(target) && !same_function(thread, block, target);
}

void jump_to(Thread* thread, Block* block, Addr target, Addr sp, Addr sp_before) {
  const Bool moved =
      sp > top(thread)->sp || sp + kNear < sp_before || sp > sp_before + kNear;
  if (moved) {
    move_stack(thread, target, sp, sp_before);
    add_dynamic_jump(thread->at, target);
    return;
  }
  Addr* known = block->known_targets;
  const UInt place = (UInt)((target ^ (target >> 8)) % kKnownTargets);
  if (known != NULL && known[place] == target) return;
  CallEdge* edge = block->edges;
  if ((edge != NULL && edge->callee->address == target) ||
      (!is_jump(block, target) &&
       (block->module != module_of(target) || leaves_function(thread, block, target)))) {
    enter_tail(thread, block, target, sp);
    return;
  }
  // The first one is compared with in translated code, more of them here.
  if (block->last_target == 0) {
    block->last_target = target;
  } else {
    if (known == NULL)
      known = block->known_targets =
          VG_(calloc)("loops.known", kKnownTargets, sizeof(Addr));
    known[place] = target;
  }
  add_dynamic_jump(block, target);
}

// ---- Threads, signals, forks -----------------------------------------------------------------------------

void thread_begins(ThreadId tid) {
  Thread* thread = threads[tid];
  if (thread == NULL) {
    thread = threads[tid] = VG_(calloc)("loops.thread", 1, sizeof(Thread));
    thread->slot = tid - 1;
    if (tid + 1 > thread_slots) thread_slots = tid + 1;
  }
  begin_stack(thread, VG_(get_SP)(tid) + kNear, VG_(get_IP)(tid));
  refresh(thread);
  VG_(set_shadow_regs_area)
  (tid, 1, thread_register(), sizeof thread, (const UChar*)&thread);
}

static void close_stack(Thread* thread) {
  while (thread->stack.frame_count > 0) pop_frame(thread);
  VG_(free)(thread->stack.frames);
  VG_(free)(thread->stack.stays);
  VG_(memset)(&thread->stack, 0, sizeof thread->stack);
}

void thread_ends(ThreadId tid) {
  Thread* thread = threads[tid];
  if (thread == NULL || thread->stack.frame_count == 0) return;
  close_stack(thread);
  while (thread->others != NULL) {
    resume(thread, &thread->others);
    close_stack(thread);
  }
}

void close_all(void) {
  for (UInt tid = 0; tid < thread_slots; ++tid) thread_ends(tid);
}

void signal_begins(ThreadId tid, Int number, Bool other_stack) {
  (void)number;
  Thread* thread = threads[tid];
  if (other_stack) {
    suspend(thread, VG_(get_SP)(tid));
    begin_stack(thread, ~(Addr)0, 0);
    thread->stack.of_signal = True;
    return;
  }
  Frame* frame = new_frame(thread, kSignal, VG_(get_SP)(tid) - 1);
  frame->edge = NULL;
  frame->function = NULL;
}

void signal_ends(ThreadId tid, Int number) {
  (void)number;
  Thread* thread = threads[tid];
  if (thread->stack.of_signal) {
    close_stack(thread);
    resume(thread, &thread->others);
    return;
  }
  UInt frame = thread->stack.frame_count;
  while (frame > 0 && thread->stack.frames[frame - 1].kind != kSignal) --frame;
  while (frame > 0 && thread->stack.frame_count >= frame) pop_frame(thread);
}

static void forget_stack(Thread* thread, Stack* stack) {
  for (UInt i = 0; i < stack->frame_count; ++i)
    VG_(memcpy)(stack->frames[i].from, thread->counters, sizeof thread->counters);
  VG_(memcpy)(stack->left, thread->counters, sizeof thread->counters);
  for (UInt i = 0; i < stack->stay_count; ++i) {
    stack->stays[i].inherited = True;
    stack->stays[i].heads = 0;
    VG_(memcpy)(stack->stays[i].from, thread->counters, sizeof thread->counters);
  }
}

static void forget_calls(CallCounts* counts, UInt slots) {
  for (UInt i = 0; i < slots; ++i) {
    counts[i].calls = 0;
    VG_(memset)(counts[i].total, 0, sizeof counts[i].total);
  }
}

// What ran before the fork is the parent's.
void forget_counts(void) {
  for (UInt i = 0; i < all_blocks.count; ++i) {
    Block* block = all_blocks.items[i];
    block->runs = 0;
    for (CallEdge* edge = block->edges; edge != NULL; edge = edge->next)
      forget_calls(edge->counts, edge->slots);
  }
  for (UInt i = 0; i < all_functions.count; ++i) {
    Function* function = all_functions.items[i];
    forget_calls(function->counts, function->slots);
  }
  for (UInt i = 0; i < all_loops.count; ++i) {
    Loop* loop = all_loops.items[i];
    for (UInt slot = 0; slot < loop->slots; ++slot) {
      const UInt active = loop->counts[slot].active;
      VG_(memset)(&loop->counts[slot], 0, sizeof(LoopCounts));
      loop->counts[slot].active = active;
    }
  }
  for (UInt tid = 0; tid < thread_slots; ++tid) {
    Thread* thread = threads[tid];
    if (thread == NULL) continue;
    forget_stack(thread, &thread->stack);
    for (Stack* stack = thread->others; stack != NULL; stack = stack->next)
      forget_stack(thread, stack);
  }
}
