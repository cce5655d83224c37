// The loops of a component: its nested strongly connected regions.
//
// A region with more than one block, or a jump to itself, is a loop; its head is the block through which it
// is entered. Without the head, what is left of the region has the loops inside it. Natural loops with one
// head are one loop; a region that is entered in several places is irreducible, and the first of them that
// ran is its head.
// Cost: blocks and jumps of the component, times the depth of the nest; only when a new block or jump was
// seen.
#include "loop_tool.h"

static Pointers heads_to_discard;
static UInt last_region;

Bool in_loop(const Loop* inner, const Loop* outer) {
  if (outer == NULL) return True;
  while (inner != NULL && inner->depth > outer->depth) inner = inner->parent;
  return inner == outer;
}

typedef struct {
  Block* block;
  UInt next;
} Step;
typedef struct {
  Pointers blocks;
  UInt region;
  Loop* parent;
} Region;

typedef struct {
  Pointers stack;  // Tarjan's
  Step* steps;
  UInt step_room;
  UInt index;
  Region* regions;  // to be searched
  UInt region_count, region_room;
} Search;

static void add_region(Search* search, Pointers blocks, UInt region, Loop* parent) {
  if (search->region_count == search->region_room) {
    search->region_room = search->region_room == 0 ? 8 : 2 * search->region_room;
    search->regions = VG_(realloc)("loops.regions", search->regions,
                                   search->region_room * sizeof(Region));
  }
  Region* added = &search->regions[search->region_count++];
  added->blocks = blocks;
  added->region = region;
  added->parent = parent;
}

static Bool jumps_to_itself(const Block* block) {
  for (UInt i = 0; i < block->successors.count; ++i)
    if (block->successors.items[i] == block) return True;
  return False;
}

// The blocks have a number of their own in `scc`.
static Block* head_of(const Pointers* blocks, UInt* entries) {
  Block* head = NULL;
  Block* first = blocks->items[0];
  *entries = 0;
  for (UInt i = 0; i < blocks->count; ++i) {
    Block* block = blocks->items[i];
    if (block->number < first->number) first = block;
    Bool entered = block->called;
    for (UInt p = 0; !entered && p < block->predecessors.count; ++p)
      entered = ((Block*)block->predecessors.items[p])->scc != block->scc;
    if (!entered) continue;
    ++*entries;
    // One that was a head stays it.
    if (head == NULL || (block->headed != NULL && head->headed == NULL) ||
        ((block->headed != NULL) == (head->headed != NULL) && block->number < head->number))
      head = block;
  }
  return head != NULL ? head : first;
}

static void make_loop(Search* search, Pointers blocks, Loop* parent) {
  const UInt scc = ++last_region;
  for (UInt i = 0; i < blocks.count; ++i) ((Block*)blocks.items[i])->scc = scc;
  UInt entries;
  Block* head = head_of(&blocks, &entries);
  Loop* loop = head->headed;
  if (loop == NULL) {
    loop = VG_(calloc)("loops.loop", 1, sizeof(Loop));
    loop->head = head;
    loop->number = all_loops.count;
    head->headed = loop;
    pointers_add(&all_loops, loop);
  }
  loop->parent = parent;
  loop->depth = parent == NULL ? 1 : parent->depth + 1;
  loop->irreducible = entries > 1;
  Pointers rest = {0};
  const UInt region = scc;
  for (UInt i = 0; i < blocks.count; ++i) {
    Block* block = blocks.items[i];
    block->region = region;
    block->low = 0;
    block->loop = loop;  // unless one inside has it
    if (block != head) pointers_add(&rest, block);
  }
  head->region = 0;
  head->is_head = True;
  VG_(free)(blocks.items);
  if (rest.count == 0)
    VG_(free)(rest.items);
  else
    add_region(search, rest, region, loop);
}

static void finish(Search* search, Block* root, Loop* parent) {
  Pointers blocks = {0};
  Block* block;
  do {
    block = search->stack.items[--search->stack.count];
    block->low = 0xffffffff;  // not on the stack
    pointers_add(&blocks, block);
  } while (block != root);
  if (blocks.count > 1 || jumps_to_itself(root))
    make_loop(search, blocks, parent);
  else
    VG_(free)(blocks.items);
}

// Tarjan's algorithm without recursion.
static void search_from(Search* search, Block* root, const Region* region) {
  UInt depth = 0;
  Block* enter = root;
  for (;;) {
    if (enter != NULL) {
      enter->index = enter->low = ++search->index;
      pointers_add(&search->stack, enter);
      if (depth == search->step_room) {
        search->step_room = search->step_room == 0 ? 64 : 2 * search->step_room;
        search->steps =
            VG_(realloc)("loops.steps", search->steps, search->step_room * sizeof(Step));
      }
      search->steps[depth].block = enter;
      search->steps[depth++].next = 0;
      enter = NULL;
    }
    Step* step = &search->steps[depth - 1];
    Block* block = step->block;
    if (step->next < block->successors.count) {
      Block* next = block->successors.items[step->next++];
      if (next->region != region->region) continue;
      if (next->index == 0)
        enter = next;
      else if (next->low != 0xffffffff)
        block->low = VG_MIN(block->low, next->index);
      continue;
    }
    const UInt low = block->low;
    if (low == block->index) finish(search, block, region->parent);
    if (--depth == 0) return;
    Block* before = search->steps[depth - 1].block;
    // What was finished is no part of it.
    if (low != block->index) before->low = VG_MIN(before->low, low);
  }
}

static void search_region(Search* search, const Region* region) {
  for (UInt i = 0; i < region->blocks.count; ++i)
    ((Block*)region->blocks.items[i])->index = 0;
  search->index = 0;
  for (UInt i = 0; i < region->blocks.count; ++i) {
    Block* block = region->blocks.items[i];
    if (block->index == 0 && block->region == region->region)
      search_from(search, block, region);
  }
}

static void set_check(Block* block) {
  block->check = block->is_head && !block->counts_itself ? kAsk : block->loop;
}

void find_loops(Component* component) {
  Search search;
  VG_(memset)(&search, 0, sizeof search);
  const UInt region = ++last_region;
  Pointers all = {0};
  Loop** before = VG_(malloc)("loops.before", component->blocks.count * sizeof(Loop*));
  for (UInt i = 0; i < component->blocks.count; ++i) {
    Block* block = component->blocks.items[i];
    before[i] = block->loop;
    block->region = region;
    block->scc = 0;
    block->low = 0;
    block->is_head = False;
    block->loop = NULL;
    pointers_add(&all, block);
  }
  add_region(&search, all, region, NULL);
  while (search.region_count > 0) {
    const Region next = search.regions[--search.region_count];
    search_region(&search, &next);
    VG_(free)(next.blocks.items);
  }
  Bool changed = False;
  for (UInt i = 0; i < component->blocks.count; ++i) {
    Block* block = component->blocks.items[i];
    changed = changed || block->loop != before[i];
    // What is translated of it counts, or does not count, the head.
    if (block->is_head != block->counts_itself) {
      pointers_add(&heads_to_discard, block);
      if (!block->is_head) block->counts_itself = False;
    }
    set_check(block);
  }
  VG_(free)(before);
  VG_(free)(search.stack.items);
  VG_(free)(search.steps);
  VG_(free)(search.regions);
  if (changed) repair_frames(component);
  if (!in_generated_code) discard_pending();
}

// Not while translated code runs.
void discard_pending(void) {
  for (UInt i = 0; i < heads_to_discard.count; ++i) {
    Block* block = heads_to_discard.items[i];
    VG_(discard_translations)(block->address, 1, "loops: a head");
    block->counts_itself = block->is_head;
    set_check(block);
  }
  heads_to_discard.count = 0;
}
