// Disjoint blocks, and the control flow graph that the run has shown so far.
//
// A block begins where a jump went to. What valgrind translates begins there too, but may go on across the
// start of others; where a jump goes into the middle of a block, the block is split (section 3.1 of the
// paper). Edges are jumps, falling through, and calls to the instruction after them; not calls and jumps to
// other functions.
#include "loop_tool.h"

Pointers all_blocks, all_loops, all_functions;
Bool edges_are_new;

// Who jumps to an address where nothing has run yet.
typedef struct Waiting {
  struct Waiting* next;  // these two as VgHashNode
  UWord address;
  Pointers from;
} Waiting;

static VgHashTable* blocks_by_address;
static VgHashTable* waiting;
static VgHashTable* functions;
static OSet* intervals;  // of blocks, to find those that have an address in them

void pointers_add(Pointers* list, void* item) {
  if (list->count == list->room) {
    list->room = list->room == 0 ? 4 : 2 * list->room;
    list->items = VG_(realloc)("loops.list", list->items, list->room * sizeof(void*));
  }
  list->items[list->count++] = item;
}

typedef struct {
  Addr address;
  Block* block;
} Interval;

// By an address in it.
static Word compare_interval(const void* address, const void* element) {
  const Addr wanted = *(const Addr*)address;
  const Block* block = ((const Interval*)element)->block;
  if (wanted < block->address) return -1;
  return wanted < block->address + block->bytes ? 0 : 1;
}

void blocks_init(void) {
  blocks_by_address = VG_(HT_construct)("loops.blocks");
  waiting = VG_(HT_construct)("loops.waiting");
  functions = VG_(HT_construct)("loops.functions");
  intervals =
      VG_(OSetGen_Create)(0, compare_interval, VG_(malloc), "loops.intervals", VG_(free));
}

Block* find_block(Addr address) { return VG_(HT_lookup)(blocks_by_address, address); }

static void join(Component* into, Component* from) {
  for (UInt i = 0; i < from->blocks.count; ++i) {
    Block* block = from->blocks.items[i];
    block->component = into;
    pointers_add(&into->blocks, block);
  }
  VG_(free)(from->blocks.items);
  VG_(free)(from);
}

static Bool has(const Pointers* list, const void* item) {
  for (UInt i = 0; i < list->count; ++i)
    if (list->items[i] == item) return True;
  return False;
}

static Bool connect(Block* from, Block* to, Bool waited) {
  if (has(&from->successors, to)) return False;
  pointers_add(&from->successors, to);
  edges_are_new = True;
  if (!waited) ++from->ways;
  pointers_add(&to->predecessors, from);
  if (from->component != to->component) {
    if (from->component->blocks.count < to->component->blocks.count)
      join(to->component, from->component);
    else
      join(from->component, to->component);
  }
  return True;
}

Bool add_jump(Block* from, Addr target) {
  Block* to = find_block(target);
  if (to != NULL) return connect(from, to, False);
  Waiting* place = VG_(HT_lookup)(waiting, target);
  if (place == NULL) {
    place = VG_(calloc)("loops.waiting", 1, sizeof(Waiting));
    place->address = target;
    VG_(HT_add_node)(waiting, place);
  }
  if (!has(&place->from, from)) {
    pointers_add(&place->from, from);
    ++from->ways;
  }
  return False;
}

Bool is_jump(const Block* from, Addr target) {
  const Block* to = find_block(target);
  return to != NULL && has(&from->successors, to);
}

// Where an instruction of the block begins, its number, else 0.
static UInt instruction_at(const Block* block, Addr address) {
  Addr at = block->address;
  for (UInt i = 0; i < block->instructions; ++i) {
    if (at == address) return i;
    at += block->lengths[i];
  }
  return 0;
}

static void remember_interval(Block* block) {
  if (block->bytes == 0 || block->in_set) return;
  // Code that overlaps without having instructions in common is not searched for.
  const Addr last = block->address + block->bytes - 1;
  if (VG_(OSetGen_LookupWithCmp)(intervals, &block->address, compare_interval) != NULL ||
      VG_(OSetGen_LookupWithCmp)(intervals, &last, compare_interval) != NULL)
    return;
  Interval* node = VG_(OSetGen_AllocNode)(intervals, sizeof(Interval));
  node->address = block->address;
  node->block = block;
  VG_(OSetGen_Insert)(intervals, node);
  block->in_set = True;
}

static Block* new_block(Addr address) {
  Block* block = VG_(calloc)("loops.block", 1, sizeof(Block));
  block->address = address;
  block->number = all_blocks.count;
  block->module = module_of(address);
  block->component = VG_(calloc)("loops.component", 1, sizeof(Component));
  pointers_add(&block->component->blocks, block);
  block->called = begins_function(address);
  pointers_add(&all_blocks, block);
  VG_(HT_add_node)(blocks_by_address, block);
  return block;
}

static void connect_waiting(Block* block) {
  Waiting* place = VG_(HT_remove)(waiting, block->address);
  if (place == NULL) return;
  for (UInt i = 0; i < place->from.count; ++i) connect(place->from.items[i], block, True);
  VG_(free)(place->from.items);
  VG_(free)(place);
}

static void replace(Pointers* list, const void* old, void* with) {
  for (UInt i = 0; i < list->count; ++i)
    if (list->items[i] == old) list->items[i] = with;
}

// The end of `block` from its instruction `first` on becomes a block of its own, with all that happens at
// the end: jumps and calls. What ran in the one, ran in the other.
static Block* split(Block* block, UInt first) {
  Addr address = block->address;
  for (UInt i = 0; i < first; ++i) address += block->lengths[i];
  Block* tail = new_block(address);
  tail->bytes = block->bytes - (UInt)(address - block->address);
  tail->instructions = block->instructions - first;
  tail->lengths = VG_(malloc)("loops.lengths", tail->instructions);
  VG_(memcpy)(tail->lengths, block->lengths + first, tail->instructions);
  tail->runs = block->runs;
  tail->loop = block->loop;
  tail->check = block->loop;
  tail->function = block->function;
  tail->edges = block->edges;
  tail->successors = block->successors;
  for (UInt i = 0; i < tail->successors.count; ++i) {
    Block* next = tail->successors.items[i];
    replace(&next->predecessors, block, tail);
  }
  tail->split_from = block;
  block->bytes -= tail->bytes;
  block->instructions = first;
  block->last_target = 0;
  tail->known_targets = block->known_targets;
  block->known_targets = NULL;
  block->edges = NULL;
  VG_(memset)(&block->successors, 0, sizeof block->successors);
  // Those who wait for what the block jumps to.
  VG_(HT_ResetIter)(waiting);
  for (Waiting* place; (place = VG_(HT_Next)(waiting)) != NULL;)
    replace(&place->from, block, tail);
  tail->ways = block->ways;
  block->ways = 0;
  connect(block, tail, False);
  remember_interval(tail);
  split_position(block, tail);
  // What is translated does not count the tail.
  VG_(discard_translations)(tail->address, 1, "loops: a block is split");
  return tail;
}

Block* block_at(Addr address) {
  Block* block = find_block(address);
  if (block != NULL) return block;
  const Interval* around =
      VG_(OSetGen_LookupWithCmp)(intervals, &address, compare_interval);
  if (around != NULL) {
    Block* first = around->block;
    const UInt instruction = instruction_at(first, address);
    if (instruction != 0) {
      block = split(first, instruction);
      connect_waiting(block);
      return block;
    }
  }
  block = new_block(address);
  connect_waiting(block);
  return block;
}

void set_segment(Block* block, const Segment* segment) {
  if (block->lengths == NULL) {
    block->bytes = segment->bytes;
    block->instructions = (UShort)segment->instructions;
    block->lengths = VG_(malloc)("loops.lengths", segment->instructions);
    VG_(memcpy)(block->lengths, segment->lengths, segment->instructions);
    remember_interval(block);
  }
  VG_(memcpy)(block->counts, segment->counts, sizeof block->counts);
  if (block->split_from == NULL) return;
  // What the block in front has counted for both.
  for (UInt i = 0; i < kCounters; ++i)
    block->split_from->counts[i] -= VG_MIN(block->split_from->counts[i], block->counts[i]);
  block->split_from = NULL;
}

Function* function_at(Addr address) {
  Function* function = VG_(HT_lookup)(functions, address);
  if (function != NULL) return function;
  function = VG_(calloc)("loops.function", 1, sizeof(Function));
  function->address = address;
  function->number = all_functions.count;
  pointers_add(&all_functions, function);
  VG_(HT_add_node)(functions, function);
  return function;
}

Bool begins_function(Addr address) {
  if (VG_(HT_lookup)(functions, address) != NULL) return True;
  const HChar* name;
  if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), address, &name)) return False;
  // Rarely used parts of a function, to which it jumps.
  return VG_(strstr)(name, ".cold") == NULL;
}
