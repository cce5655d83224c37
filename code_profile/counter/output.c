// Writes what was counted, one text file a process and program; README.md describes it.
//
// Bump kFormat when a line changes: code_profile reads it.
#include "loop_tool.h"

enum { kFormat = 1 };

const HChar* output_prefix = "refrain-loops";

typedef struct {
  Addr start, end;
  ULong offset;
  HChar* path;
} Module;
static Module* modules;
static UInt module_count;
static HChar* written;  // path

UInt module_of(Addr address) {
  for (UInt i = module_count; i-- > 0;)
    if (address >= modules[i].start && address < modules[i].end) return i;
  Module module = {address & ~(Addr)0xfff, (address | 0xfff) + 1, 0, NULL};
  const NSegment* segment = VG_(am_find_nsegment)(address);
  if (segment != NULL) {
    module.start = segment->start;
    module.end = segment->end + 1;
    const HChar* path = segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;
    if (path != NULL) {
      module.offset = (ULong)segment->offset;
      module.path = VG_(strdup)("loops.path", path);
      for (HChar* c = module.path; *c != 0; ++c)
        if (*c < ' ') *c = '?';
    }
  }
  modules = VG_(realloc)("loops.modules", modules, (module_count + 1) * sizeof(Module));
  modules[module_count] = module;
  return module_count++;
}

static VgFile* open_output(void) {
  if (written != NULL) return VG_(fopen)(written, VKI_O_WRONLY | VKI_O_TRUNC, 0);
  HChar* path = VG_(malloc)("loops.path", VG_(strlen)(output_prefix) + 40);
  for (UInt i = 0; i < 10000; ++i) {
    VG_(sprintf)(path, "%s.%d.%u", output_prefix, VG_(getpid)(), i);
    VgFile* file = VG_(fopen)(path, VKI_O_CREAT | VKI_O_EXCL | VKI_O_WRONLY, 0644);
    if (file == NULL) continue;
    written = path;
    return file;
  }
  VG_(free)(path);
  return NULL;
}

// In a fork's child: a file of its own.
void output_forked(void) { written = NULL; }

static void write_counts(VgFile* file, const ULong* counts) {
  VG_(fprintf)(file, " %llu %llu %llu %llu\n", counts[0], counts[1], counts[2], counts[3]);
}

static void write_head(VgFile* file) {
  VG_(fprintf)(file, "refrain-loops %d\n", kFormat);
  VG_(fprintf)(file, "process %d %d\n", VG_(getpid)(), VG_(getppid)());
  VG_(fprintf)(file, "command %s", VG_(args_the_exename));
  for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_client)); ++i) {
    VG_(fprintf)(file, " ");
    const HChar* text = *(HChar**)VG_(indexXA)(VG_(args_for_client), i);
    for (; *text != 0; ++text) VG_(fprintf)(file, "%c", *text < ' ' ? ' ' : *text);
  }
  VG_(fprintf)(file, "\n");
  for (UInt i = 0; i < module_count; ++i) VG_(fprintf)
  (file, "module %u %lx %lx %llx %s\n", i, modules[i].start, modules[i].end,
   modules[i].offset, modules[i].path == NULL ? "-" : modules[i].path);
}

static void write_functions(VgFile* file) {
  for (UInt i = 0; i < all_functions.count; ++i) {
    const Function* function = all_functions.items[i];
    VG_(fprintf)
    (file, "function %u %lx %u %d\n", i, function->address, module_of(function->address),
     function->recursive);
    for (UInt slot = 0; slot < function->slots; ++slot) {
      if (function->counts[slot].calls == 0) continue;
      VG_(fprintf)(file, "called %u %u %llu", i, slot, function->counts[slot].calls);
      write_counts(file, function->counts[slot].total);
    }
  }
}

static Bool is_current(const Loop* loop) {
  return loop->head->is_head && loop->head->headed == loop;
}

static void write_blocks(VgFile* file) {
  for (UInt i = 0; i < all_blocks.count; ++i) {
    const Block* block = all_blocks.items[i];
    VG_(fprintf)
    (file, "block %u %lx %u %u %d %d %llu %u %u %u %u\n", i, block->address, block->bytes,
     block->module, block->function == NULL ? -1 : (Int)block->function->number,
     block->loop == NULL ? -1 : (Int)block->loop->number, block->runs, block->counts[0],
     block->counts[1], block->counts[2], block->counts[3]);
    for (const CallEdge* edge = block->edges; edge != NULL; edge = edge->next)
      for (UInt slot = 0; slot < edge->slots; ++slot) {
        if (edge->counts[slot].calls == 0) continue;
        VG_(fprintf)
        (file, "call %u %u %d %u %llu", i, edge->callee->number, edge->tail, slot,
         edge->counts[slot].calls);
        write_counts(file, edge->counts[slot].total);
      }
    if (block->loop == NULL) continue;
    for (UInt next = 0; next < block->successors.count; ++next) VG_(fprintf)
    (file, "jump %u %u\n", i, ((Block*)block->successors.items[next])->number);
  }
}

static void write_trips(VgFile* file, UInt loop, UInt slot, const Trips* trips) {
  const Int exit = trips->exit == NULL ? -1 : (Int)trips->exit->number;
  for (UInt i = 0; i < kSmallTrips; ++i)
    if (trips->small[i] != 0)
      VG_(fprintf)(file, "trips %u %u %d %u %llu\n", loop, slot, exit, i, trips->small[i]);
  for (UInt i = 0; i < trips->large_count; ++i)
    if (trips->large[i].count != 0) VG_(fprintf)
  (file, "trips %u %u %d %llu %llu\n", loop, slot, exit, trips->large[i].value,
   trips->large[i].count);
}

static void write_loop(VgFile* file, UInt number) {
  const Loop* loop = all_loops.items[number];
  const Block* head = loop->head;
  Bool leaves = False;
  for (UInt i = 0; i < head->successors.count; ++i)
    if (!in_loop(((Block*)head->successors.items[i])->loop, loop)) leaves = True;
  // One way out of two has never been taken: it has no block.
  if (head->successors.count == 1 && head->ways == 2) leaves = True;
  VG_(fprintf)
  (file, "loop %u %u %d %d %d\n", number, head->number,
   loop->parent == NULL ? -1 : (Int)loop->parent->number, loop->irreducible, leaves);
  for (UInt slot = 0; slot < loop->slots; ++slot) {
    const LoopCounts* counts = &loop->counts[slot];
    VG_(fprintf)(file, "total %u %u %llu", number, slot, counts->inherited);
    write_counts(file, counts->total);
    for (const Trips* trips = counts->trips; trips != NULL; trips = trips->next)
      write_trips(file, number, slot, trips);
  }
}

void write_output(void) {
  VgFile* file = open_output();
  if (file == NULL) {
    VG_(umsg)
    ("refrain: no file %s.%d.N can be written: the loops of this process are lost\n",
     output_prefix, VG_(getpid)());
    return;
  }
  write_head(file);
  write_functions(file);
  write_blocks(file);
  for (UInt i = 0; i < all_loops.count; ++i)
    if (is_current(all_loops.items[i])) write_loop(file, i);
  VG_(fprintf)(file, "end\n");
  VG_(fclose)(file);
}
