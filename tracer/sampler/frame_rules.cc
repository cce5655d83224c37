#include "tracer/sampler/frame_rules.h"

#include "tracer/sampler/frame_expression.h"

namespace refrain::sampler {
namespace {

constexpr unsigned kRemembered = 4;

// DW_CFA_ in the standard. Those of the first three have an operand in the low six bits.
enum Instruction : std::uint8_t {
  kAdvanceLoc = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kNegateSignState =
      0x2d,  // of aarch64: return addresses are signed from here on, or no longer
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffset = 0x2f,
};

class Interpreter {
 public:
  Interpreter(const FrameProgram& program, std::uintptr_t address,
              FrameRules& rules) noexcept
      : program_(program), left_(address - program.function_begin), rules_(rules) {}

  bool run() noexcept {
    if (!execute(program_.common)) return false;
    initial_ = rules_;
    have_initial_ = true;
    return execute(program_.own);
  }

 private:
  // Up to the instruction that is valid behind the address only.
  bool execute(ByteRange instructions) noexcept {
    TableCursor cursor(instructions);
    while (cursor.more() && !behind_) {
      const std::uint8_t code = cursor.byte();
      const std::uint8_t low = code & 0x3f;
      switch (code & 0xc0) {
        case kAdvanceLoc:
          advance(low);
          break;
        case kOffset:
          set(low, RuleKind::kAtCfa, factored(cursor.uleb()));
          break;
        case kRestore:
          restore(low);
          break;
        default:
          if (!locations(code, cursor) && !cfa(code, cursor) && !rule(code, cursor))
            return false;
      }
    }
    return cursor.ok() && fine_;
  }

  std::int64_t factored(std::uint64_t number) const noexcept {
    return static_cast<std::int64_t>(number *
                                     static_cast<std::uint64_t>(program_.data_alignment));
  }
  void advance(std::uint64_t units) noexcept {
    const std::uint64_t bytes = units * program_.code_alignment;
    if (bytes > left_)
      behind_ = true;
    else
      left_ -= bytes;
  }
  void set(std::uint64_t number, RuleKind kind, std::int64_t operand) noexcept {
    if (number < kRegisters) rules_.registers[number] = {kind, operand};  // else: vectors
  }
  void restore(std::uint64_t number) noexcept {
    if (!have_initial_)
      fine_ = false;
    else if (number < kRegisters)
      rules_.registers[number] = initial_.registers[number];
  }
  void set_expression(std::uint64_t number, RuleKind kind, TableCursor& cursor) noexcept {
    const auto place = static_cast<std::int64_t>(cursor.address());
    cursor.block();
    set(number, kind, place);
  }

  bool locations(std::uint8_t code, TableCursor& cursor) noexcept {
    switch (code) {
      case kNop:
      case kNegateSignState:
        return true;
      case kAdvanceLoc1:
        advance(cursor.byte());
        return true;
      case kAdvanceLoc2:
        advance(cursor.fixed<std::uint16_t>());
        return true;
      case kAdvanceLoc4:
        advance(cursor.fixed<std::uint32_t>());
        return true;
      case kRememberState:
        if (depth_ == kRemembered) return false;
        remembered_[depth_++] = rules_;
        return true;
      case kRestoreState:
        if (depth_ == 0) return false;
        rules_ = remembered_[--depth_];
        return true;
      case kGnuArgsSize:
        cursor.uleb();
        return true;
      default:
        return false;
    }
  }

  bool cfa(std::uint8_t code, TableCursor& cursor) noexcept {
    switch (code) {
      case kDefCfa:
      case kDefCfaSf:
        rules_.cfa_register = cursor.uleb();
        rules_.cfa_expression = nullptr;
        [[fallthrough]];
      case kDefCfaOffset:
      case kDefCfaOffsetSf:
        rules_.cfa_offset = code == kDefCfaSf || code == kDefCfaOffsetSf
                                ? factored(static_cast<std::uint64_t>(cursor.sleb()))
                                : static_cast<std::int64_t>(cursor.uleb());
        return true;
      case kDefCfaRegister:
        rules_.cfa_register = cursor.uleb();
        rules_.cfa_expression = nullptr;
        return true;
      case kDefCfaExpression:
        rules_.cfa_expression = cursor.at();
        cursor.block();
        return true;
      default:
        return false;
    }
  }

  bool rule(std::uint8_t code, TableCursor& cursor) noexcept {
    if (code < kOffsetExtended || (code > kValExpression && code != kGnuNegativeOffset))
      return false;
    const std::uint64_t number = cursor.uleb();
    switch (code) {
      case kOffsetExtended:
        set(number, RuleKind::kAtCfa, factored(cursor.uleb()));
        break;
      case kOffsetExtendedSf:
        set(number, RuleKind::kAtCfa, factored(static_cast<std::uint64_t>(cursor.sleb())));
        break;
      case kGnuNegativeOffset:
        set(number, RuleKind::kAtCfa, factored(0 - cursor.uleb()));
        break;
      case kValOffset:
        set(number, RuleKind::kCfaPlus, factored(cursor.uleb()));
        break;
      case kValOffsetSf:
        set(number, RuleKind::kCfaPlus,
            factored(static_cast<std::uint64_t>(cursor.sleb())));
        break;
      case kRestoreExtended:
        restore(number);
        break;
      case kUndefined:
        set(number, RuleKind::kUndefined, 0);
        break;
      case kSameValue:
        set(number, RuleKind::kSame, 0);
        break;
      case kRegister:
        set(number, RuleKind::kRegister, static_cast<std::int64_t>(cursor.uleb()));
        break;
      case kExpression:
        set_expression(number, RuleKind::kAtExpression, cursor);
        break;
      case kValExpression:
        set_expression(number, RuleKind::kExpression, cursor);
        break;
      default:
        return false;
    }
    return true;
  }

  const FrameProgram& program_;
  std::uint64_t left_;  // bytes of code up to the address
  bool behind_ = false;
  bool fine_ = true;
  bool have_initial_ = false;
  unsigned depth_ = 0;
  FrameRules& rules_;
  FrameRules initial_;
  FrameRules remembered_[kRemembered];
};

bool find_cfa(const FrameRules& rules, StackMemory& memory, const FrameRegisters& registers,
              std::uint64_t& cfa) noexcept {
  if (rules.cfa_expression != nullptr)
    return evaluate(expression_at(rules.cfa_expression), registers, memory, false, 0, cfa);
  if (!registers.knows(rules.cfa_register)) return false;
  cfa = registers.values[rules.cfa_register] + static_cast<std::uint64_t>(rules.cfa_offset);
  return true;
}

bool same_value(unsigned number, std::uint64_t cfa, const FrameRegisters& registers,
                std::uint64_t& value) noexcept {
  value = number == kStackPointer ? cfa : registers.values[number];
  return number == kStackPointer || registers.knows(number);
}

// A function saves registers in its own frame. gcc keeps the rule "saved where %rbp points to" for
// the instructions behind `pop %rbp` where a function aligned its stack: the register is the caller's again.
bool outside_of_frame(std::uint64_t place, std::uint64_t cfa,
                      const FrameRegisters& registers) noexcept {
  constexpr std::uint64_t kRedZone = 128;
  return place >= cfa || place < registers.values[kStackPointer] - kRedZone;
}

bool find_by_expression(RegisterRule rule, bool signal_frame, unsigned number,
                        std::uint64_t cfa, StackMemory& memory,
                        const FrameRegisters& registers, std::uint64_t& value) noexcept {
  const auto* place = reinterpret_cast<const std::uint8_t*>(rule.operand());
  if (!evaluate(expression_at(place), registers, memory, true, cfa, value)) return false;
  if (rule.kind() == RuleKind::kExpression) return true;
  if (!signal_frame && outside_of_frame(value, cfa, registers))
    return same_value(number, cfa, registers, value);
  return memory.read(value, value);
}

// The caller's value of a register. False: lost.
bool find_value(const FrameRules& rules, unsigned number, std::uint64_t cfa,
                StackMemory& memory, const FrameRegisters& registers,
                std::uint64_t& value) noexcept {
  const RegisterRule rule = rules.registers[number];
  const auto operand = static_cast<std::uint64_t>(rule.operand());
  switch (rule.kind()) {
    case RuleKind::kSame:
      return same_value(number, cfa, registers, value);
    case RuleKind::kAtCfa:
      return memory.read(cfa + operand, value);
    case RuleKind::kCfaPlus:
      value = cfa + operand;
      return true;
    case RuleKind::kRegister:
      if (!registers.knows(operand)) return false;
      value = registers.values[operand];
      return true;
    case RuleKind::kAtExpression:
    case RuleKind::kExpression:
      return find_by_expression(rule, rules.signal_frame, number, cfa, memory, registers,
                                value);
    default:
      return false;
  }
}

}  // namespace

ByteRange expression_at(const std::uint8_t* place) noexcept {
  constexpr std::ptrdiff_t kLongestNumber = 10;
  TableCursor cursor({place, place + kLongestNumber});
  const std::uint64_t bytes = cursor.uleb();
  return {cursor.at(), cursor.at() + bytes};
}

bool find_rules(const FrameProgram& program, std::uintptr_t address,
                FrameRules& rules) noexcept {
  rules = {};
  rules.signal_frame = program.signal_frame;
  return program.return_register == kReturnAddress &&
         Interpreter(program, address, rules).run();
}

bool apply_rules(const FrameRules& rules, StackMemory& memory,
                 FrameRegisters& registers) noexcept {
  std::uint64_t cfa = 0;
  if (!find_cfa(rules, memory, registers, cfa)) return false;
  FrameRegisters callers;
  for (unsigned number = 0; number != kRegisters; ++number) {
    std::uint64_t value = 0;
#if defined(__x86_64__)
    // That a function leaves its own address in place means nothing.
    if (number == kProgramCounter && rules.registers[number].kind() == RuleKind::kSame)
      return false;
#endif
    if (find_value(rules, number, cfa, memory, registers, value))
      callers.set(number, value);
  }
#if !defined(__x86_64__)
  // The function returns to where its link register says.
  if (!callers.knows(kReturnAddress)) return false;
  callers.set(kProgramCounter, unsigned_address(callers.values[kReturnAddress]));
#endif
  registers = callers;
  return callers.knows(kProgramCounter) && callers.knows(kStackPointer);
}

}  // namespace refrain::sampler
