#include "code/disassembler.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "code/aarch64_code.h"
#include "code/common_code.h"

namespace refrain::code {
namespace {

// The functions of the library that are used; types and numbers are those of the header.
struct Library {
  decltype(&ZydisDecoderInit) init = nullptr;
  decltype(&ZydisDecoderDecodeFull) decode = nullptr;
  decltype(&ZydisRegisterGetLargestEnclosing) whole = nullptr;
  ZydisDecoder decoder{};
  bool loaded = false;

  Library() {
    void* const library = dlopen("libZydis.so.4.0", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [library](const char* name, auto& function) {
      void* const found = dlsym(library, name);
      std::memcpy(&function, &found, sizeof function);
      return found != nullptr;
    };
    loaded = find("ZydisDecoderInit", init) && find("ZydisDecoderDecodeFull", decode) &&
             find("ZydisRegisterGetLargestEnclosing", whole) &&
             ZYAN_SUCCESS(init(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
  }
};

const Library& library() {
  static const Library kLibrary;
  return kLibrary;
}

// One instruction as the library gives it.
class AnyInstruction {
 public:
  explicit AnyInstruction(std::span<const std::uint8_t> code)
      : known_(library().loaded &&
               ZYAN_SUCCESS(library().decode(&library().decoder, code.data(), code.size(),
                                             &instruction_, operands_))) {}

  explicit operator bool() const noexcept { return known_; }
  const ZydisDecodedInstruction* operator->() const noexcept { return &instruction_; }
  std::span<const ZydisDecodedOperand> all() const noexcept {
    return {operands_, instruction_.operand_count};
  }
  // That are written in a program.
  std::size_t count() const noexcept { return instruction_.operand_count_visible; }
  const ZydisDecodedOperand& operator[](std::size_t number) const noexcept {
    return operands_[number];
  }

 private:
  ZydisDecodedInstruction instruction_;
  ZydisDecodedOperand operands_[ZYDIS_MAX_OPERAND_COUNT];
  bool known_;
};

bool is_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER;
}
bool is_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY;
}
bool is_constant(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}
bool is_written(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

// The number of the whole register that a part of one belongs to.
std::int8_t number_of(ZydisRegister part) {
  const ZydisRegister whole = library().whole(ZYDIS_MACHINE_MODE_LONG_64, part);
  return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
             ? static_cast<std::int8_t>(whole - ZYDIS_REGISTER_RAX)
             : Operation::kNone;
}
std::int8_t number_of(const ZydisDecodedOperand& operand) {
  return is_register(operand) ? number_of(operand.reg.value) : Operation::kNone;
}

// movs and its like: what they read and write need not be written in a program.
bool is_string(const AnyInstruction& one) {
  return one->meta.category == ZYDIS_CATEGORY_STRINGOP ||
         one->meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
}

// Bits of registers. Also what Zydis 4.0 does not say: the addresses that cmps, scas, ins and outs step, and what the system returns.
std::uint16_t written_by(const AnyInstruction& one) {
  unsigned written = 0;
  const auto write = [&written](std::int8_t number) {
    if (number >= 0) written |= 1u << number;
  };
  for (const ZydisDecodedOperand& operand : one.all())
    if (is_memory(operand) ? is_string(one) : is_written(operand))
      write(is_memory(operand) ? number_of(operand.mem.base) : number_of(operand));
  if (one->mnemonic == ZYDIS_MNEMONIC_SYSCALL) write(number_of(ZYDIS_REGISTER_RAX));
  return static_cast<std::uint16_t>(written);
}

Instruction::Condition condition_of(ZydisMnemonic mnemonic) {
  using Condition = Instruction::Condition;
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_JNBE:
      return Condition::kAbove;
    case ZYDIS_MNEMONIC_JNB:
      return Condition::kAboveEqual;
    case ZYDIS_MNEMONIC_JB:
      return Condition::kBelow;
    case ZYDIS_MNEMONIC_JBE:
      return Condition::kBelowEqual;
    default:
      return Condition::kOther;
  }
}

// False if it has a segment.
bool set_address(const ZydisDecodedOperand& operand, Operation& out) {
  const ZydisDecodedOperandMem& memory = operand.mem;
  if (memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS)
    return false;
  out.from_next = memory.base == ZYDIS_REGISTER_RIP;
  out.base = number_of(memory.base);
  out.index = number_of(memory.index);
  out.scale = std::max<std::uint8_t>(memory.scale, 1);
  out.offset = memory.disp.value;
  return true;
}

std::size_t bytes_of(const ZydisDecodedOperand& operand) { return operand.size / 8u; }

// A constant as an operand of that many bytes holds it, without a sign.
std::int64_t held(std::int64_t constant, std::size_t bytes) {
  return bytes < 8 ? constant & ((std::int64_t{1} << 8 * bytes) - 1) : constant;
}

void set_move(const AnyInstruction& one, Operation& out) {
  using Kind = Operation::Kind;
  const ZydisDecodedOperand& to = one[0];
  const ZydisDecodedOperand& from = one[1];
  if (is_memory(to) && is_register(from) && bytes_of(from) >= 4 &&
      number_of(from) != Operation::kNone && set_address(to, out)) {
    out.kind = Kind::kStore;
    out.from = number_of(from);
  }
  if (!is_register(to) || bytes_of(to) < 4) return;
  out.to = number_of(to);
  if (out.to == Operation::kNone) return;  // of the system
  out.width = static_cast<std::uint8_t>(bytes_of(from));
  if (is_register(from)) {
    out.from = number_of(from);
    if (out.from != Operation::kNone) out.kind = Kind::kMove;
  } else if (is_constant(from)) {
    out.kind = Kind::kMove;
    out.offset = held(from.imm.value.s, bytes_of(to));
  } else if (is_memory(from) && set_address(from, out)) {
    out.kind = Kind::kLoad;
  }
}

// add, and, shl, cmp and sub with their operands.
void set_arithmetic(const AnyInstruction& one, Operation& out) {
  using Kind = Operation::Kind;
  const ZydisMnemonic mnemonic = one->mnemonic;
  const ZydisDecodedOperand& to = one[0];
  const ZydisDecodedOperand& from = one[1];
  const bool constant = is_constant(from);
  if (constant) out.offset = from.imm.value.s;
  out.to = number_of(to);
  if (mnemonic == ZYDIS_MNEMONIC_CMP || mnemonic == ZYDIS_MNEMONIC_SUB) {
    if (constant) out.kind = Kind::kCompare;
    const std::int64_t limit = held(out.offset, bytes_of(to));
    if (constant && is_memory(to) && !set_address(to, out)) out.kind = Kind::kOther;
    out.limit = limit;
    return;
  }
  if (!is_register(to) || bytes_of(to) < 4) return;
  if (mnemonic == ZYDIS_MNEMONIC_ADD && is_register(from)) {
    out.kind = Kind::kAdd;
    out.from = number_of(from);
  } else if (constant) {
    out.kind = mnemonic == ZYDIS_MNEMONIC_ADD   ? Kind::kAdd
               : mnemonic == ZYDIS_MNEMONIC_AND ? Kind::kAnd
                                                : Kind::kScale;
  }
}

void set_kind(const AnyInstruction& one, Effect& out) {
  using Kind = Effect::Kind;
  const bool two = one.count() == 2;
  const bool to_register = one.count() != 0 && is_register(one[0]);
  const auto sum = [&](std::int64_t constant) {
    out.constant = constant;
    out.kind = to_register ? Kind::kAdd : Kind::kAddMemory;
  };
  if (to_register) out.to = number_of(one[0]);
  if (two) out.from = number_of(one[1]);
  switch (one->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVSXD:
      if (is_memory(one[1]))
        out.kind = Kind::kLoad;
      else if (out.from >= 0)
        out.kind = to_register ? Kind::kMove : Kind::kStore;
      break;
    case ZYDIS_MNEMONIC_LEA:
      out.kind = Kind::kAddress;
      break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
      sum(!is_constant(one[1])                  ? 0
          : one->mnemonic == ZYDIS_MNEMONIC_ADD ? one[1].imm.value.s
                                                : -one[1].imm.value.s);
      break;
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
      sum(one->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1);
      break;
    case ZYDIS_MNEMONIC_PUSH:
      out.kind = Kind::kPush;
      break;
    case ZYDIS_MNEMONIC_POP:
      out.kind = Kind::kPop;
      break;
    case ZYDIS_MNEMONIC_LEAVE:
      out.kind = Kind::kLeave;
      break;
    default:
      break;
  }
}

}  // namespace

Disassembler::Disassembler(std::uint16_t machine) : is_aarch64_(machine == EM_AARCH64) {}

bool Disassembler::available() const noexcept { return is_aarch64_ || library().loaded; }

Instruction Disassembler::decode(std::span<const std::uint8_t> code) const {
  if (is_aarch64_) return decode_aarch64(code);
  const Instruction common = decode_common(code);
  return common.bytes != 0 ? common : decode_any(code);
}

Instruction Disassembler::decode_any(std::span<const std::uint8_t> code) {
  using Flow = Instruction::Flow;
  const AnyInstruction one(code);
  if (!one) return {};
  Instruction out{.bytes = one->length};
  const auto aim = [&] {
    const ZydisDecodedOperand& operand = one[0];
    out.direct = is_constant(operand);
    if (out.direct) out.target = one->length + operand.imm.value.s;
    out.through_slot = is_memory(operand) && operand.mem.base == ZYDIS_REGISTER_RIP;
    if (out.through_slot) out.slot = one->length + operand.mem.disp.value;
  };
  switch (one->mnemonic) {
    case ZYDIS_MNEMONIC_INT3:
      out.flow = Flow::kEnd;
      [[fallthrough]];
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_FNOP:
      out.padding = true;
      return out;
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
      out.flow = Flow::kEnd;
      return out;
    default:
      break;
  }
  switch (one->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
      // xend and xabort have no target.
      if (one.count() == 0 || (is_constant(one[0]) && !one[0].imm.is_relative)) break;
      aim();
      out.flow = !out.direct                           ? Flow::kUnknown
                 : one->mnemonic == ZYDIS_MNEMONIC_JMP ? Flow::kJump
                                                       : Flow::kBranch;
      out.condition = condition_of(one->mnemonic);
      break;
    case ZYDIS_CATEGORY_CALL:
      out.flow = Flow::kCall;
      aim();
      break;
    case ZYDIS_CATEGORY_RET:
      out.flow = Flow::kEnd;
      out.returns = true;
      break;
    default:
      break;
  }
  return out;
}

Operation Disassembler::operation(std::span<const std::uint8_t> code) const {
  using Kind = Operation::Kind;
  if (is_aarch64_) return {};
  const AnyInstruction one(code);
  Operation out;
  if (!one) return out;
  out.written = written_by(one);
  switch (one->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
      set_move(one, out);
      break;
    case ZYDIS_MNEMONIC_LEA:
      out.to = number_of(one[0]);
      if (bytes_of(one[0]) >= 4 && set_address(one[1], out)) out.kind = Kind::kAddress;
      break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_SUB:
      set_arithmetic(one, out);
      break;
    case ZYDIS_MNEMONIC_CDQE:
      out.kind = Kind::kWiden;
      break;
    case ZYDIS_MNEMONIC_JMP:
      if (is_constant(one[0])) break;
      out.from = number_of(one[0]);
      if (is_register(one[0]))
        out.kind = Kind::kJump;
      else if (one->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR && set_address(one[0], out))
        out.kind = Kind::kLoad;
      break;
    default:
      break;
  }
  return out;
}

Effect Disassembler::effect(std::span<const std::uint8_t> code) {
  const Effect common = effect_common(code);
  return common.bytes != 0 ? common : effect_any(code);
}

Effect Disassembler::effect_any(std::span<const std::uint8_t> code) {
  const AnyInstruction one(code);
  Effect out;
  if (!one) return out;
  out.bytes = one->length;
  out.written = written_by(one);
  const bool string = is_string(one);
  const std::size_t named = string ? one.all().size() : one.count();
  for (std::size_t i = 0; i < named; ++i) {
    const ZydisDecodedOperand& operand = one[i];
    if (!is_memory(operand) || out.stores) continue;
    // (A string's is the first of many.)
    out.width = string ? 0 : static_cast<std::uint8_t>(bytes_of(operand));
    Operation at;
    if (set_address(operand, at)) {
      out.base = at.base;
      out.index = at.index;
      out.offset = at.offset;
    }
    out.stores = is_written(operand);
  }
  set_kind(one, out);
  return out;
}

}  // namespace refrain::code
