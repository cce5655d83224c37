#include "code/disassembler.h"

#include <capstone/capstone.h>
#include <dlfcn.h>

#include <array>
#include <cstring>

#include "code/aarch64_code.h"
#include "code/common_code.h"

namespace refrain::code {
namespace {

// The functions of the library that are used; types and numbers are those of the header.
struct Library {
  decltype(&cs_open) open = nullptr;
  decltype(&cs_close) close = nullptr;
  decltype(&cs_option) option = nullptr;
  decltype(&cs_malloc) allocate = nullptr;
  decltype(&cs_free) free = nullptr;
  decltype(&cs_disasm_iter) next = nullptr;
  decltype(&cs_regs_access) registers = nullptr;
  bool whole = false;

  Library() {
    void* const library = dlopen("libcapstone.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [library](const char* name, auto& function) {
      void* const found = dlsym(library, name);
      std::memcpy(&function, &found, sizeof function);
      return found != nullptr;
    };
    whole = find("cs_open", open) && find("cs_close", close) && find("cs_option", option) &&
            find("cs_malloc", allocate) && find("cs_free", free) &&
            find("cs_disasm_iter", next) && find("cs_regs_access", registers);
  }
};

const Library& library() {
  static const Library kLibrary;
  return kLibrary;
}

bool in_group(const cs_insn& one, unsigned group) {
  for (unsigned i = 0; i < one.detail->groups_count; ++i)
    if (one.detail->groups[i] == group) return true;
  return false;
}

Instruction::Condition condition_of(unsigned id) {
  using Condition = Instruction::Condition;
  switch (id) {
    case X86_INS_JA:
      return Condition::kAbove;
    case X86_INS_JAE:
      return Condition::kAboveEqual;
    case X86_INS_JB:
      return Condition::kBelow;
    case X86_INS_JBE:
      return Condition::kBelowEqual;
    default:
      return Condition::kOther;
  }
}

bool does_nothing(unsigned id) {
  return id == X86_INS_NOP || id == X86_INS_INT3 || id == X86_INS_FNOP;
}

// rip + constant.
bool fixed_address(const cs_x86_op& operand) {
  return operand.type == X86_OP_MEM && operand.mem.base == X86_REG_RIP &&
         operand.mem.index == X86_REG_INVALID;
}

// The whole register that a part of one belongs to.
std::int8_t whole(unsigned part) {
  static const auto kNumbers = [] {
    std::array<std::int8_t, X86_REG_ENDING> numbers{};
    numbers.fill(Operation::kNone);
    constexpr std::array<std::array<unsigned, 5>, 16> kParts{{
        {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
        {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
        {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
        {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
        {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, 0},
        {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, 0},
        {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, 0},
        {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, 0},
        {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, 0},
        {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, 0},
        {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, 0},
        {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, 0},
        {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, 0},
        {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, 0},
        {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, 0},
        {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, 0},
    }};
    for (std::size_t number = 0; number < kParts.size(); ++number)
      for (const unsigned of : kParts[number])
        if (of != 0) numbers[of] = static_cast<std::int8_t>(number);
    return numbers;
  }();
  return part < kNumbers.size() ? kNumbers[part] : Operation::kNone;
}

// False if it has a segment.
bool set_address(const cs_x86_op& operand, Operation& out) {
  const x86_op_mem& memory = operand.mem;
  if (memory.segment == X86_REG_FS || memory.segment == X86_REG_GS) return false;
  out.from_next = memory.base == X86_REG_RIP;
  out.base = out.from_next ? Operation::kNone : whole(memory.base);
  out.index = whole(memory.index);
  out.scale = static_cast<std::uint8_t>(memory.scale);
  out.offset = memory.disp;
  return true;
}

void set_move(const cs_x86& x86, Operation& out) {
  using Kind = Operation::Kind;
  const cs_x86_op& to = x86.operands[0];
  const cs_x86_op& from = x86.operands[1];
  if (to.type == X86_OP_MEM && from.type == X86_OP_REG && from.size >= 4 &&
      whole(from.reg) != Operation::kNone && set_address(to, out)) {
    out.kind = Operation::Kind::kStore;
    out.from = whole(from.reg);
  }
  if (to.type != X86_OP_REG || to.size < 4) return;
  out.to = whole(to.reg);
  out.width = from.size;
  if (from.type == X86_OP_REG) {
    out.kind = Kind::kMove;
    out.from = whole(from.reg);
    if (out.from == Operation::kNone) out.kind = Kind::kOther;
  } else if (from.type == X86_OP_IMM) {
    out.kind = Kind::kMove;
    out.offset = from.imm;
  } else if (from.type == X86_OP_MEM && set_address(from, out)) {
    out.kind = Kind::kLoad;
  }
}

// add, and, shl, cmp and sub with their operands.
void set_arithmetic(unsigned id, const cs_x86& x86, Operation& out) {
  using Kind = Operation::Kind;
  const cs_x86_op& to = x86.operands[0];
  const cs_x86_op& from = x86.operands[1];
  const bool constant = from.type == X86_OP_IMM;
  if (constant) out.offset = from.imm;
  if (to.type == X86_OP_REG) out.to = whole(to.reg);
  if (id == X86_INS_CMP || id == X86_INS_SUB) {
    if (constant) out.kind = Kind::kCompare;
    const std::int64_t limit = out.offset;
    if (constant && to.type == X86_OP_MEM && !set_address(to, out)) out.kind = Kind::kOther;
    out.limit = limit;
    return;
  }
  if (to.type != X86_OP_REG || to.size < 4) return;
  if (id == X86_INS_ADD && from.type == X86_OP_REG) {
    out.kind = Kind::kAdd;
    out.from = whole(from.reg);
  } else if (constant) {
    out.kind = id == X86_INS_ADD   ? Kind::kAdd
               : id == X86_INS_AND ? Kind::kAnd
                                   : Kind::kScale;
  }
}

// Whose first operand is only read.
bool only_reads(unsigned id, unsigned operands) {
  switch (id) {
    case X86_INS_IMUL:
      return operands == 1;
    case X86_INS_CMP:
    case X86_INS_TEST:
    case X86_INS_BT:
    case X86_INS_PUSH:
    case X86_INS_CALL:
    case X86_INS_JMP:
    case X86_INS_NOP:
    case X86_INS_MUL:
    case X86_INS_DIV:
    case X86_INS_IDIV:
    case X86_INS_LDMXCSR:
    case X86_INS_VLDMXCSR:
    case X86_INS_COMISS:
    case X86_INS_COMISD:
    case X86_INS_UCOMISS:
    case X86_INS_UCOMISD:
      return true;
    default:
      return false;
  }
}

void set_kind(unsigned id, const cs_x86& x86, Effect& out) {
  using Kind = Effect::Kind;
  const cs_x86_op& to = x86.operands[0];
  const cs_x86_op& from = x86.operands[1];
  const bool to_register = x86.op_count != 0 && to.type == X86_OP_REG;
  const bool two = x86.op_count == 2;
  if (to_register) out.to = whole(to.reg);
  if (two && from.type == X86_OP_REG) out.from = whole(from.reg);
  switch (id) {
    case X86_INS_MOV:
    case X86_INS_MOVSXD:
      if (!two) break;
      if (from.type == X86_OP_MEM)
        out.kind = Kind::kLoad;
      else if (from.type == X86_OP_REG && out.from >= 0)
        out.kind = to_register ? Kind::kMove : Kind::kStore;
      break;
    case X86_INS_LEA:
      out.kind = Kind::kAddress;
      break;
    case X86_INS_ADD:
    case X86_INS_SUB:
      if (from.type == X86_OP_IMM) out.constant = id == X86_INS_ADD ? from.imm : -from.imm;
      out.kind = to_register ? Kind::kAdd : Kind::kAddMemory;
      break;
    case X86_INS_INC:
    case X86_INS_DEC:
      out.constant = id == X86_INS_INC ? 1 : -1;
      out.kind = to_register ? Kind::kAdd : Kind::kAddMemory;
      break;
    case X86_INS_PUSH:
      out.kind = Kind::kPush;
      break;
    case X86_INS_POP:
      out.kind = Kind::kPop;
      break;
    case X86_INS_LEAVE:
      out.kind = Kind::kLeave;
      break;
    default:
      break;
  }
}

}  // namespace

struct Disassembler::State {
  csh handle = 0;
  cs_insn* instruction = nullptr;

  const cs_insn* next(std::span<const std::uint8_t> code) const {
    if (instruction == nullptr) return nullptr;
    const std::uint8_t* at = code.data();
    std::size_t left = code.size();
    std::uint64_t address = 0;
    return library().next(handle, &at, &left, &address, instruction) ? instruction
                                                                     : nullptr;
  }
};

Disassembler::Disassembler(std::uint16_t machine) : is_aarch64_(machine == EM_AARCH64) {}

bool Disassembler::available() const noexcept { return is_aarch64_ || library().whole; }

Disassembler::State* Disassembler::state() const {
  if (asked_) return state_.get();
  asked_ = true;
  const Library& capstone = library();
  csh handle = 0;
  if (!capstone.whole || capstone.open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
    return nullptr;
  capstone.option(handle, CS_OPT_DETAIL, CS_OPT_ON);
  state_ = std::make_unique<State>(State{handle, capstone.allocate(handle)});
  return state_.get();
}

Disassembler::~Disassembler() {
  if (state_ == nullptr) return;
  if (state_->instruction != nullptr) library().free(state_->instruction, 1);
  library().close(&state_->handle);
}

Instruction Disassembler::decode(std::span<const std::uint8_t> code) const {
  if (is_aarch64_) return decode_aarch64(code);
  const Instruction common = decode_common(code);
  return common.bytes != 0 ? common : decode_any(code);
}

Instruction Disassembler::decode_any(std::span<const std::uint8_t> code) const {
  using Flow = Instruction::Flow;
  State* const state = this->state();
  const cs_insn* const one = state == nullptr ? nullptr : state->next(code);
  if (one == nullptr) return {};
  Instruction out;
  out.bytes = static_cast<std::uint8_t>(one->size);
  out.padding = does_nothing(one->id);
  const cs_x86& x86 = one->detail->x86;
  const auto aim = [&] {
    if (x86.op_count != 1) return;
    const cs_x86_op& operand = x86.operands[0];
    out.direct = operand.type == X86_OP_IMM;
    if (out.direct) out.target = operand.imm;
    out.through_slot = fixed_address(operand);
    if (out.through_slot) out.slot = operand.mem.disp + one->size;
  };
  const bool counted = one->id == X86_INS_LOOP || one->id == X86_INS_LOOPE ||
                       one->id == X86_INS_LOOPNE || one->id == X86_INS_XBEGIN;
  if (in_group(*one, CS_GRP_JUMP) || counted) {
    aim();
    out.flow = !out.direct              ? Flow::kUnknown
               : one->id == X86_INS_JMP ? Flow::kJump
                                        : Flow::kBranch;
    out.condition = condition_of(one->id);
  } else if (in_group(*one, CS_GRP_CALL)) {
    out.flow = Flow::kCall;
    aim();
  } else if (in_group(*one, CS_GRP_RET) || in_group(*one, CS_GRP_IRET)) {
    out.flow = Flow::kEnd;
    out.returns = true;
  } else if (one->id == X86_INS_HLT || one->id == X86_INS_UD2 || one->id == X86_INS_INT3) {
    out.flow = Flow::kEnd;
  }
  return out;
}

Operation Disassembler::operation(std::span<const std::uint8_t> code) const {
  using Kind = Operation::Kind;
  State* const state = this->state();
  const cs_insn* const one = state == nullptr ? nullptr : state->next(code);
  Operation out;
  if (one == nullptr) return out;
  const cs_x86& x86 = one->detail->x86;
  cs_regs read{};
  cs_regs written{};
  std::uint8_t reads = 0;
  std::uint8_t writes = 0;
  library().registers(state->handle, one, read, &reads, written, &writes);
  for (std::uint8_t i = 0; i < writes; ++i)
    if (const std::int8_t number = whole(written[i]); number >= 0)
      out.written |= std::uint32_t{1} << number;
  switch (one->id) {
    case X86_INS_MOV:
    case X86_INS_MOVABS:
    case X86_INS_MOVSXD:
    case X86_INS_MOVZX:
    case X86_INS_MOVSX:
      set_move(x86, out);
      break;
    case X86_INS_LEA:
      out.to = whole(x86.operands[0].reg);
      if (x86.operands[0].size >= 4 && set_address(x86.operands[1], out))
        out.kind = Kind::kAddress;
      break;
    case X86_INS_ADD:
    case X86_INS_AND:
    case X86_INS_SHL:
    case X86_INS_CMP:
    case X86_INS_SUB:
      set_arithmetic(one->id, x86, out);
      break;
    case X86_INS_CDQE:
      out.kind = Kind::kWiden;
      break;
    case X86_INS_JMP:
      if (x86.operands[0].type == X86_OP_REG) {
        out.kind = Kind::kJump;
        out.from = whole(x86.operands[0].reg);
      } else if (x86.operands[0].type == X86_OP_MEM && set_address(x86.operands[0], out)) {
        out.kind = Kind::kLoad;
      }
      break;
    default:
      break;
  }
  return out;
}

Effect Disassembler::effect(std::span<const std::uint8_t> code) const {
  const Effect common = effect_common(code);
  if (common.bytes != 0) return common;
  const Effect any = effect_any(code);
  return any.bytes != 0 ? any : effect_of_vector(code);
}

// What is written is what the disassembler says, and the first operand, and rax of cmpxchg: it does not know all.
Effect Disassembler::effect_any(std::span<const std::uint8_t> code) const {
  State* const state = this->state();
  const cs_insn* const one = state == nullptr ? nullptr : state->next(code);
  Effect out;
  if (one == nullptr) return out;
  out.bytes = static_cast<std::uint8_t>(one->size);
  const cs_x86& x86 = one->detail->x86;
  const auto write = [&out](unsigned part) {
    if (const std::int8_t number = whole(part); number >= 0)
      out.written |= static_cast<std::uint16_t>(1u << number);
  };
  cs_regs read{};
  cs_regs written{};
  std::uint8_t reads = 0;
  std::uint8_t writes = 0;
  library().registers(state->handle, one, read, &reads, written, &writes);
  for (std::uint8_t i = 0; i < writes; ++i) write(written[i]);
  if (one->id == X86_INS_CMPXCHG) write(X86_REG_RAX);
  for (std::uint8_t i = 0; i < x86.op_count; ++i) {
    const cs_x86_op& operand = x86.operands[i];
    const bool writes_it =
        i == 0 ? !only_reads(one->id, x86.op_count) : (operand.access & CS_AC_WRITE) != 0;
    if (operand.type == X86_OP_REG && writes_it) write(operand.reg);
    if (operand.type != X86_OP_MEM) continue;
    out.width = operand.size;
    Operation at;
    if (set_address(operand, at)) {
      out.base = at.base;
      out.index = at.index;
      out.offset = at.offset;
    }
    out.stores = writes_it;
  }
  set_kind(one->id, x86, out);
  return out;
}

}  // namespace refrain::code
