// Exact loop profiling as a tool of valgrind: what its parts know of each other.
//
// Place in the flow: instrument.c puts counters and calls into each superblock that valgrind translates;
// blocks.c keeps the disjoint blocks and the control flow graph that the program's run has shown so far;
// forest.c finds the loops in it; frames.c follows calls, returns, stack switches and signals; activity.c
// enters and leaves loops and counts trips; output.c writes one file a process (its format: README.md).
//
// Threads: valgrind runs one thread of the program at a time, with a lock; no code here is ever run twice
// at once. Each thread of the program has a Thread, which translated code finds in a shadow register.
// Memory: valgrind's own heap; blocks, functions and loops live to the end of the process.
//
// Source: Moseley, Connors, Grunwald and Peri, "Identifying Potential Parallelism via Loop-centric
// Profiling", section 3. Here the path of blocks is a control flow graph that grows with the run: loops are
// its nested strongly connected regions, so that a block costs a comparison, not a search of a path. What
// the paper does by looking at the path (a loop is seen at its second iteration; whose block is it) is done
// when a new block is translated: frames that are in a loop which was not known get it then.
#ifndef REFRAIN_LOOP_TOOL_H
#define REFRAIN_LOOP_TOOL_H

// Before the others.
#include "pub_tool_basics.h"
// Some headers need these two.
#include "libvex_guest_amd64.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_oset.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_xarray.h"

enum { kInstructions, kLoads, kStores, kFlops, kCounters };

typedef struct Block Block;
typedef struct Loop Loop;
typedef struct Function Function;
typedef struct CallEdge CallEdge;

// Growing arrays of pointers; `items` moves.
typedef struct {
  void** items;
  UInt count, room;
} Pointers;
void pointers_add(Pointers* list, void* item);

// Blocks that are connected by jumps: the loops of one are found without looking at others.
typedef struct {
  Pointers blocks;
} Component;

// How many trips ended at a block: kSmall counts and a table for longer ones.
enum { kSmallTrips = 16, kMaxTrips = 4096, kRecentTrips = 32 };
typedef struct {
  ULong value, count;
} TripCount;
typedef struct Trips {
  struct Trips* next;
  const Block* exit;  // last block that ran in the loop; NULL: not known
  ULong small[kSmallTrips];
  TripCount* large;  // sorted
  UInt large_count, large_room;
} Trips;

// One thread's counts of a loop, function or call; threads with the same number one after the other share.
typedef struct {
  UInt active;  // on the stacks of the thread
  ULong total[kCounters];
  Trips* trips;
  Trips* recent[kRecentTrips];  // by number of the exit
  // The latest time that the loop was left: undone if it turns out that it was not.
  ULong left_frame;  // serial of the frame, 0: none
  ULong left_heads;
  const Block* left_at;
  ULong left_from[kCounters];
  ULong left_total[kCounters];
  ULong inherited;  // iterations of trips that a fork's parent had begun
} LoopCounts;
typedef struct {
  UInt active;
  ULong calls;
  ULong total[kCounters];
} CallCounts;

// Entries of before a loop was known, and where they seem to have left it.
enum { kMaxSettled = 4 };
typedef struct {
  const Block *outside, *from;
  ULong times;
} Settled;

struct Loop {
  Block* head;
  Loop* parent;
  UInt number;
  UInt depth;  // 1: outermost
  Bool irreducible;
  Bool known;       // not only just found
  ULong unsettled;  // entries of before, which may not have ended
  Settled settled[kMaxSettled];
  UInt settled_count;
  UInt unsettled_slot;
  UInt slots;
  LoopCounts* counts;
};

struct Function {
  struct Function* next;  // these two as VgHashNode
  UWord address;
  UInt number;
  Bool recursive;
  UInt slots;
  CallCounts* counts;
};

struct CallEdge {
  CallEdge* next;
  Function* callee;
  Bool tail;
  UInt slots;
  CallCounts* counts;
};

// Of an interpreter's dispatch.
enum { kKnownTargets = 256 };

// Straight code, disjoint from all other blocks, entered only at its start.
struct Block {
  struct Block* next;  // these two as VgHashNode
  UWord address;
  // Used by translated code.
  ULong runs;
  Loop* check;       // what must be the thread's loop, or kAsk
  Addr last_target;  // of an indirect jump that needs no call
  // The rest is not.
  UInt bytes;
  UInt counts[kCounters];  // of one run
  UInt number;
  UShort instructions;
  UShort ways;                  // out of it that are known
  UChar* lengths;               // of instructions
  Loop* loop;                   // innermost
  Loop* headed;                 // loop whose head it is, or once was
  Bool is_head, counts_itself;  // translated code counts iterations
  Bool called;                  // begins a function
  Bool in_set;
  UInt module;
  Function* function;
  Component* component;
  Pointers successors, predecessors;
  CallEdge* edges;
  Block* split_from;
  Addr* known_targets;  // of an indirect jump: kKnownTargets, by their hash
  // While loops are searched.
  UInt region, index, low, scc;
};

#define kAsk ((Loop*)1)

// A stay in a loop.
typedef struct {
  Loop* loop;
  ULong heads;  // how often the head ran
  ULong from[kCounters];
  Bool inherited;
} Stay;

typedef enum { kCall, kTail, kSignal, kRoot } FrameKind;
typedef struct {
  Addr sp;  // alive while the stack pointer is not above
  ULong serial;
  FrameKind kind;
  CallEdge* edge;
  Function* function;
  UInt stays;  // number of those below
  // Where the caller is.
  Block* at;
  ULong from[kCounters];
} Frame;

// A stack with what is on it: one a thread, and one for each coroutine.
typedef struct Stack {
  struct Stack* next;
  Frame* frames;
  UInt frame_count, frame_room;
  Stay* stays;
  UInt stay_count, stay_room;
  Block* at;
  Addr base, low;  // the stack pointer's range; low: where it was left
  Bool of_signal;
  ULong left[kCounters];
} Stack;

typedef struct {
  // Used by translated code: offsets are known there.
  ULong counters[kCounters];
  Loop* loop;
  Stay* stay;
  Block* at;  // block that ran last in the current frame
  // The rest is not.
  UInt slot;
  ULong serial;
  Stack stack;
  Stack* others;
  Stay outside;  // where no loop is
} Thread;

extern Thread** threads;   // by ThreadId
extern UInt thread_slots;  // most that there were
extern Bool in_generated_code;
extern Pointers all_blocks, all_loops, all_functions;
extern Bool edges_are_new;  // since loops were searched for

// Of valgrind's core; its header for tools has only a variant that does not know that translating is as safe
// a moment as any: no translated code runs then.
extern void VG_(discard_translations)(Addr start, ULong range, const HChar* who);

// blocks.c
typedef struct {
  Addr address;
  UInt bytes, instructions;
  UInt counts[kCounters];
  UChar lengths[256];
} Segment;
void blocks_init(void);
Block* find_block(Addr address);
// The block that begins there; splits the one that has the address in it.
Block* block_at(Addr address);
void set_segment(Block* block, const Segment* segment);
Bool add_jump(Block* from, Addr target);  // True: an edge between known blocks
Function* function_at(Addr address);
Bool begins_function(Addr address);
Bool is_jump(const Block* from, Addr target);  // known already

// forest.c
void find_loops(Component* component);
Bool in_loop(const Loop* inner, const Loop* outer);
void discard_pending(void);

// activity.c
void move_to(Thread* thread, Block* block);  // dirty helper
void move_to_head(Thread* thread,
                  Block* block);  // dirty helper: translated code counts the head
void leave_stays(Thread* thread, UInt down_to, const Block* at);
void add_trip(LoopCounts* counts, const Block* exit, ULong backs, Long times);
LoopCounts* loop_counts(Loop* loop, UInt slot);
void repair_frames(Component* component);
void split_position(Block* from, Block* to);
void refresh(Thread* thread);

// frames.c
void thread_begins(ThreadId tid);
void thread_ends(ThreadId tid);
void signal_begins(ThreadId tid, Int number, Bool other_stack);
void signal_ends(ThreadId tid, Int number);
void enter_call(Thread* thread, Block* block, Addr target, Addr sp);  // dirty helpers
void enter_tail(Thread* thread, Block* block, Addr target, Addr sp);
void return_to(Thread* thread, Block* block, Addr target, Addr sp, Addr sp_before);
void jump_to(Thread* thread, Block* block, Addr target, Addr sp, Addr sp_before);
Bool leaves_function(Thread* thread, const Block* block, Addr target);
void close_all(void);
void forget_counts(void);  // in a fork's child
CallCounts* call_counts(CallCounts** counts, UInt* slots, UInt slot);

// instrument.c
IRSB* instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                 const VexGuestExtents* extents, const VexArchInfo* host, IRType guest_word,
                 IRType host_word);
Int thread_register(void);  // offset in the shadow registers

// output.c
extern const HChar* output_prefix;
UInt module_of(Addr address);
void write_output(void);
void output_forked(void);

#endif
