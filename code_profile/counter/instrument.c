// What is put into each superblock that valgrind translates.
//
// At the start of each block in it: is the block in the loop that the thread is in (else a call), it ran, its
// instructions, loads, stores and floating-point operations; at the head of a loop one iteration more. At
// the end, where it is a call, a return, a jump to a place that is only known then, or to another function:
// a call to frames.c. So what runs in a loop, without calls, is counted without leaving translated code.
#include <stddef.h>

#include "loop_tool.h"

Bool in_generated_code;

// A shadow register that valgrind's core does not touch: of the x87 unit's first.
Int thread_register(void) { return offsetof(VexGuestAMD64State, guest_FPREG); }

typedef struct {
  IRSB* out;
  IRTemp thread;
} Writer;

static IRTemp assign(Writer* writer, IRType type, IRExpr* value) {
  const IRTemp temp = newIRTemp(writer->out->tyenv, type);
  addStmtToIRSB(writer->out, IRStmt_WrTmp(temp, value));
  return temp;
}

static IRExpr* word(const void* address) {
  return IRExpr_Const(IRConst_U64((Addr)address));
}

static IRExpr* in_thread(Writer* writer, UInt offset) {
  return IRExpr_RdTmp(assign(writer, Ity_I64,
                             IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(writer->thread),
                                          IRExpr_Const(IRConst_U64(offset)))));
}

static IRTemp load(Writer* writer, IRExpr* address) {
  return assign(writer, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, address));
}

static void add_at(Writer* writer, IRExpr* address, UInt what) {
  const IRTemp sum = assign(writer, Ity_I64,
                            IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(load(writer, address)),
                                         IRExpr_Const(IRConst_U64(what))));
  addStmtToIRSB(writer->out, IRStmt_Store(Iend_LE, address, IRExpr_RdTmp(sum)));
}

static void call_helper(Writer* writer, const HChar* name, void* function,
                        IRExpr** arguments, IRExpr* guard) {
  IRDirty* dirty = unsafeIRDirty_0_N(0, name, VG_(fnptr_to_fnentry)(function), arguments);
  if (guard != NULL) dirty->guard = guard;
  addStmtToIRSB(writer->out, IRStmt_Dirty(dirty));
}

static IRTemp differ(Writer* writer, IRExpr* left, IRExpr* right) {
  return assign(writer, Ity_I1, IRExpr_Binop(Iop_CmpNE64, left, right));
}

static void begin_block(Writer* writer, const Block* block) {
  const IRTemp check = load(writer, word(&block->check));
  const IRTemp loop = load(writer, in_thread(writer, offsetof(Thread, loop)));
  const IRTemp other = differ(writer, IRExpr_RdTmp(check), IRExpr_RdTmp(loop));
  IRExpr** arguments = mkIRExprVec_2(IRExpr_RdTmp(writer->thread), word(block));
  if (block->counts_itself)
    call_helper(writer, "move_to_head", move_to_head, arguments, IRExpr_RdTmp(other));
  else
    call_helper(writer, "move_to", move_to, arguments, IRExpr_RdTmp(other));
  addStmtToIRSB(writer->out, IRStmt_Store(Iend_LE, in_thread(writer, offsetof(Thread, at)),
                                          word(block)));
  add_at(writer, word(&block->runs), 1);
  for (UInt i = 0; i < kCounters; ++i)
    if (block->counts[i] != 0)
      add_at(writer, in_thread(writer, offsetof(Thread, counters) + i * 8),
             block->counts[i]);
  if (!block->counts_itself) return;
  const IRTemp stay = load(writer, in_thread(writer, offsetof(Thread, stay)));
  const IRTemp heads =
      assign(writer, Ity_I64,
             IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(stay),
                          IRExpr_Const(IRConst_U64(offsetof(Stay, heads)))));
  add_at(writer, IRExpr_RdTmp(heads), 1);
}

// ---- What a statement does -------------------------------------------------------------------------------

static UInt flops_of(IROp op) {
  switch (op) {
    case Iop_AddF64:
    case Iop_SubF64:
    case Iop_MulF64:
    case Iop_DivF64:
    case Iop_SqrtF64:
    case Iop_AddF32:
    case Iop_SubF32:
    case Iop_MulF32:
    case Iop_DivF32:
    case Iop_SqrtF32:
    case Iop_Add64F0x2:
    case Iop_Sub64F0x2:
    case Iop_Mul64F0x2:
    case Iop_Div64F0x2:
    case Iop_Sqrt64F0x2:
    case Iop_Max64F0x2:
    case Iop_Min64F0x2:
    case Iop_Add32F0x4:
    case Iop_Sub32F0x4:
    case Iop_Mul32F0x4:
    case Iop_Div32F0x4:
    case Iop_Sqrt32F0x4:
    case Iop_Max32F0x4:
    case Iop_Min32F0x4:
    case Iop_RSqrtEst32F0x4:
    case Iop_RecipEst32F0x4:
    case Iop_AtanF64:
    case Iop_Yl2xF64:
    case Iop_Yl2xp1F64:
    case Iop_PRemF64:
    case Iop_PRem1F64:
    case Iop_SinF64:
    case Iop_CosF64:
    case Iop_TanF64:
    case Iop_2xm1F64:
    case Iop_ScaleF64:
      return 1;
    case Iop_MAddF64:
    case Iop_MSubF64:
    case Iop_MAddF32:
    case Iop_MSubF32:
    case Iop_Add64Fx2:
    case Iop_Sub64Fx2:
    case Iop_Mul64Fx2:
    case Iop_Div64Fx2:
    case Iop_Sqrt64Fx2:
    case Iop_Max64Fx2:
    case Iop_Min64Fx2:
      return 2;
    case Iop_Add32Fx4:
    case Iop_Sub32Fx4:
    case Iop_Mul32Fx4:
    case Iop_Div32Fx4:
    case Iop_Sqrt32Fx4:
    case Iop_Max32Fx4:
    case Iop_Min32Fx4:
    case Iop_RSqrtEst32Fx4:
    case Iop_RecipEst32Fx4:
    case Iop_Add64Fx4:
    case Iop_Sub64Fx4:
    case Iop_Mul64Fx4:
    case Iop_Div64Fx4:
    case Iop_Sqrt64Fx4:
    case Iop_Max64Fx4:
    case Iop_Min64Fx4:
      return 4;
    case Iop_Add32Fx8:
    case Iop_Sub32Fx8:
    case Iop_Mul32Fx8:
    case Iop_Div32Fx8:
    case Iop_Sqrt32Fx8:
    case Iop_Max32Fx8:
    case Iop_Min32Fx8:
    case Iop_RSqrtEst32Fx8:
    case Iop_RecipEst32Fx8:
      return 8;
    default:
      return 0;
  }
}

static void count_expression(const IRExpr* value, UInt* counts) {
  switch (value->tag) {
    case Iex_Load:
      ++counts[kLoads];
      break;
    case Iex_Unop:
      counts[kFlops] += flops_of(value->Iex.Unop.op);
      break;
    case Iex_Binop:
      counts[kFlops] += flops_of(value->Iex.Binop.op);
      break;
    case Iex_Triop:
      counts[kFlops] += flops_of(value->Iex.Triop.details->op);
      break;
    case Iex_Qop:
      counts[kFlops] += flops_of(value->Iex.Qop.details->op);
      break;
    default:
      break;
  }
}

static void count_statement(const IRStmt* statement, UInt* counts) {
  switch (statement->tag) {
    case Ist_WrTmp:
      count_expression(statement->Ist.WrTmp.data, counts);
      break;
    case Ist_Store:
    case Ist_StoreG:
      ++counts[kStores];
      break;
    case Ist_LoadG:
      ++counts[kLoads];
      break;
    case Ist_CAS:
      ++counts[kLoads];
      ++counts[kStores];
      break;
    case Ist_LLSC:
      ++counts[statement->Ist.LLSC.storedata == NULL ? kLoads : kStores];
      break;
    case Ist_Dirty: {
      const IREffect effect = statement->Ist.Dirty.details->mFx;
      if (effect == Ifx_Read || effect == Ifx_Modify) ++counts[kLoads];
      if (effect == Ifx_Write || effect == Ifx_Modify) ++counts[kStores];
      break;
    }
    default:
      break;
  }
}

// ---- The blocks of a superblock ----------------------------------------------------------------------------

static Bool constant(const IRExpr* value, Addr* address) {
  if (value->tag != Iex_Const) return False;
  *address = value->Iex.Const.con->Ico.U64;
  return True;
}

// An instruction that is repeated jumps to itself: no loop.
static Bool repeats(Addr instruction, Addr target) {
  const UChar* code = (const UChar*)instruction;
  if (target != instruction) return False;
  for (UInt i = 0; i < 4; ++i)
    if (code[i] == 0xf2 || code[i] == 0xf3) return True;
  return False;
}

enum { kMaxParts = 128 };
typedef struct {
  Block* blocks[kMaxParts];
  UInt first[kMaxParts];  // statements
  UInt count;
  Addr last;  // instruction
  Addr end;
} Parts;

static void find_parts(const IRSB* in, Parts* parts) {
  parts->count = 0;
  Segment segment;
  VG_(memset)(&segment, 0, sizeof segment);
  for (UInt i = 0; i < (UInt)in->stmts_used; ++i) {
    const IRStmt* statement = in->stmts[i];
    if (statement->tag != Ist_IMark) {
      if (parts->count > 0) count_statement(statement, segment.counts);
      continue;
    }
    const Addr address = statement->Ist.IMark.addr;
    Block* block = parts->count == 0 ? block_at(address) : find_block(address);
    if (block != NULL && parts->count < kMaxParts) {
      if (parts->count > 0) set_segment(parts->blocks[parts->count - 1], &segment);
      VG_(memset)(&segment, 0, sizeof segment);
      parts->blocks[parts->count] = block;
      parts->first[parts->count++] = i;
      segment.address = address;
    }
    parts->last = address;
    parts->end = address + statement->Ist.IMark.len;
    segment.bytes = (UInt)(parts->end - segment.address);
    segment.lengths[segment.instructions++] = (UChar)statement->Ist.IMark.len;
    segment.counts[kInstructions] = segment.instructions;
  }
  if (parts->count > 0) set_segment(parts->blocks[parts->count - 1], &segment);
}

static Bool goes_on(IRJumpKind kind) {
  return kind == Ijk_Boring || kind == Ijk_Yield || kind == Ijk_ClientReq ||
         kind == Ijk_NoRedir || kind == Ijk_InvalICache || kind == Ijk_FlushDCache ||
         (kind >= Ijk_Sys_syscall && kind <= Ijk_Sys_sysenter);
}

static Bool is_tail(Thread* thread, const Block* block, const Parts* parts, Addr target) {
  return target != parts->end && leaves_function(thread, block, target);
}

// Edges of the control flow graph.
static void add_jumps(const IRSB* in, const Parts* parts, Thread* thread) {
  UInt part = 0;
  Addr instruction = parts->blocks[0]->address;
  for (UInt i = parts->first[0]; i < (UInt)in->stmts_used; ++i) {
    const IRStmt* statement = in->stmts[i];
    if (part + 1 < parts->count && i == parts->first[part + 1]) {
      add_jump(parts->blocks[part], parts->blocks[part + 1]->address);
      ++part;
    }
    if (statement->tag == Ist_IMark) instruction = statement->Ist.IMark.addr;
    if (statement->tag != Ist_Exit || statement->Ist.Exit.jk != Ijk_Boring) continue;
    const Addr target = statement->Ist.Exit.dst->Ico.U64;
    if (repeats(instruction, target) || is_tail(thread, parts->blocks[part], parts, target))
      continue;
    add_jump(parts->blocks[part], target);
  }
  Block* last = parts->blocks[parts->count - 1];
  Addr target;
  if (in->jumpkind == Ijk_Call) {
    if (!begins_function(parts->end)) add_jump(last, parts->end);
  } else if (goes_on(in->jumpkind) && constant(in->next, &target) &&
             !repeats(parts->last, target) && !is_tail(thread, last, parts, target)) {
    add_jump(last, target);
  }
}

// A new loop goes along a new edge, and through one of these blocks.
static void find_loops_of(const IRSB* in, const Parts* parts, Thread* thread) {
  add_jumps(in, parts, thread);
  if (!edges_are_new) return;
  edges_are_new = False;
  for (UInt i = 0; i < parts->count; ++i) {
    const Block* block = parts->blocks[i];
    if (block->predecessors.count == 0 || block->successors.count == 0) continue;
    find_loops(block->component);
    return;
  }
}

static IRExpr* stack_pointer(Writer* writer, const VexGuestLayout* layout) {
  return IRExpr_RdTmp(assign(writer, Ity_I64, IRExpr_Get(layout->offset_SP, Ity_I64)));
}

static void end_superblock(Writer* writer, const IRSB* in, const Parts* parts,
                           Thread* thread, const VexGuestLayout* layout,
                           IRExpr* sp_before) {
  const Block* block = parts->blocks[parts->count - 1];
  IRExpr* self = IRExpr_RdTmp(writer->thread);
  Addr target = 0;
  const Bool known = constant(in->next, &target);
  if (in->jumpkind == Ijk_Call) {
    call_helper(writer, "enter_call", enter_call,
                mkIRExprVec_4(self, word(block), in->next, stack_pointer(writer, layout)),
                NULL);
  } else if (in->jumpkind == Ijk_Ret) {
    call_helper(writer, "return_to", return_to,
                mkIRExprVec_5(self, word(block), in->next, stack_pointer(writer, layout),
                              sp_before),
                NULL);
  } else if (in->jumpkind == Ijk_Boring && !known) {
    const IRTemp last = load(writer, word(&block->last_target));
    const IRTemp other = differ(writer, IRExpr_RdTmp(last), in->next);
    call_helper(writer, "jump_to", jump_to,
                mkIRExprVec_5(self, word(block), in->next, stack_pointer(writer, layout),
                              sp_before),
                IRExpr_RdTmp(other));
  } else if (in->jumpkind == Ijk_Boring && is_tail(thread, block, parts, target)) {
    call_helper(writer, "enter_tail", enter_tail,
                mkIRExprVec_4(self, word(block), in->next, stack_pointer(writer, layout)),
                NULL);
  }
}

IRSB* instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                 const VexGuestExtents* extents, const VexArchInfo* host, IRType guest_word,
                 IRType host_word) {
  (void)extents, (void)host, (void)guest_word, (void)host_word;
  Thread* thread = threads[closure->tid];
  static Parts parts;
  discard_pending();
  find_parts(in, &parts);
  if (parts.count == 0 || thread == NULL) return in;
  for (UInt i = 0; i < parts.count; ++i)
    if (parts.blocks[i]->function == NULL && thread->stack.frame_count > 0)
      parts.blocks[i]->function =
          thread->stack.frames[thread->stack.frame_count - 1].function;
  find_loops_of(in, &parts, thread);

  Writer writer = {.out = deepCopyIRSBExceptStmts(in)};
  UInt i = 0;
  for (; i < parts.first[0]; ++i) addStmtToIRSB(writer.out, in->stmts[i]);
  writer.thread = assign(&writer, Ity_I64,
                         IRExpr_Get(layout->total_sizeB + thread_register(), Ity_I64));
  IRExpr* sp_before = stack_pointer(&writer, layout);
  for (UInt part = 0; i < (UInt)in->stmts_used; ++i) {
    IRStmt* statement = in->stmts[i];
    if (part < parts.count && i == parts.first[part]) {
      addStmtToIRSB(writer.out, statement);
      begin_block(&writer, parts.blocks[part++]);
      continue;
    }
    if (statement->tag == Ist_Exit && statement->Ist.Exit.jk == Ijk_Boring) {
      const Block* block = parts.blocks[part - 1];
      const Addr target = statement->Ist.Exit.dst->Ico.U64;
      if (is_tail(thread, block, &parts, target))
        call_helper(&writer, "enter_tail", enter_tail,
                    mkIRExprVec_4(IRExpr_RdTmp(writer.thread), word(block),
                                  IRExpr_Const(IRConst_U64(target)),
                                  stack_pointer(&writer, layout)),
                    statement->Ist.Exit.guard);
    }
    addStmtToIRSB(writer.out, statement);
  }
  end_superblock(&writer, in, &parts, thread, layout, sp_before);
  return writer.out;
}
