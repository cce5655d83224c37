#include "tracer/sampler/frame_expression.h"

namespace refrain::sampler {
namespace {

constexpr unsigned kMaxOperations = 200;
constexpr unsigned kDepth = 16;

// The operations that are needed; DW_OP_ in the standard.
enum Operation : std::uint8_t {
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstu = 0x10,
  kConsts = 0x11,
  kDup = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kSwap = 0x16,
  kAnd = 0x1a,
  kMinus = 0x1c,
  kMul = 0x1e,
  kNeg = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kShr = 0x25,
  kShra = 0x26,
  kXor = 0x27,
  kBra = 0x28,
  kEq = 0x29,
  kGe = 0x2a,
  kGt = 0x2b,
  kLe = 0x2c,
  kLt = 0x2d,
  kNe = 0x2e,
  kSkip = 0x2f,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kBregx = 0x92,
  kNoOperation = 0x96,
};

class Machine {
 public:
  Machine(ByteRange code, const FrameRegisters& registers, StackMemory& memory) noexcept
      : code_(code), cursor_(code), registers_(registers), memory_(memory) {}

  void push(std::uint64_t value) noexcept {
    if (depth_ == kDepth)
      fine_ = false;
    else
      stack_[depth_++] = value;
  }
  bool run(std::uint64_t& value) noexcept {
    for (unsigned i = 0; fine_ && cursor_.more(); ++i) {
      if (i == kMaxOperations) return false;
      const std::uint8_t operation = cursor_.byte();
      if (!(pushes(operation) || moves(operation) || computes(operation))) return false;
    }
    value = pop();
    return fine_ && cursor_.ok();
  }

 private:
  std::uint64_t pop() noexcept {
    if (depth_ != 0) return stack_[--depth_];
    fine_ = false;
    return 0;
  }
  void push_signed(std::int64_t value) noexcept { push(static_cast<std::uint64_t>(value)); }
  void push_register(std::uint64_t number) noexcept {
    const auto offset = static_cast<std::uint64_t>(cursor_.sleb());
    if (registers_.knows(number))
      push(registers_.values[number] + offset);
    else
      fine_ = false;
  }
  void jump(std::int64_t distance) noexcept {
    if (distance < code_.begin - cursor_.at() || distance > code_.end - cursor_.at())
      fine_ = false;
    else
      cursor_ = TableCursor({cursor_.at() + distance, code_.end});
  }

  // Constants and registers.
  bool pushes(std::uint8_t operation) noexcept {
    if (operation >= kLit0 && operation <= kLit31) return push(operation - kLit0), true;
    if (operation >= kBreg0 && operation <= kBreg31)
      return push_register(operation - kBreg0), true;
    switch (operation) {
      case kConst1u:
        push(cursor_.byte());
        return true;
      case kConst1s:
        push_signed(cursor_.fixed<std::int8_t>());
        return true;
      case kConst2u:
        push(cursor_.fixed<std::uint16_t>());
        return true;
      case kConst2s:
        push_signed(cursor_.fixed<std::int16_t>());
        return true;
      case kConst4u:
        push(cursor_.fixed<std::uint32_t>());
        return true;
      case kConst4s:
        push_signed(cursor_.fixed<std::int32_t>());
        return true;
      case kConst8u:
      case kConst8s:
        push(cursor_.fixed<std::uint64_t>());
        return true;
      case kConstu:
        push(cursor_.uleb());
        return true;
      case kConsts:
        push_signed(cursor_.sleb());
        return true;
      case kBregx:
        push_register(cursor_.uleb());
        return true;
      default:
        return false;
    }
  }

  // What has one operand or none, and jumps.
  bool moves(std::uint8_t operation) noexcept {
    if (operation == kNoOperation) return true;
    if (operation == kSkip) return jump(cursor_.fixed<std::int16_t>()), true;
    if (operation > kPlusUconst && operation != kBra) return false;
    const std::uint64_t top = depth_ == 0 ? 0 : stack_[depth_ - 1];
    std::uint64_t word = 0;
    switch (operation) {
      case kDup:
        push(top);
        return depth_ != 1;
      case kDrop:
        pop();
        return true;
      case kOver:
        if (depth_ < 2) return false;
        push(stack_[depth_ - 2]);
        return true;
      case kDeref:
        if (!memory_.read(pop(), word)) return false;
        push(word);
        return true;
      case kNeg:
        push(0 - pop());
        return true;
      case kNot:
        push(~pop());
        return true;
      case kPlusUconst:
        push(pop() + cursor_.uleb());
        return true;
      case kBra: {
        const auto distance = cursor_.fixed<std::int16_t>();
        if (pop() != 0) jump(distance);
        return true;
      }
      default:
        return false;
    }
  }

  // What has two operands.
  bool computes(std::uint8_t operation) noexcept {
    const std::uint64_t right = pop();
    const std::uint64_t left = pop();
    const auto a = static_cast<std::int64_t>(left);
    const auto b = static_cast<std::int64_t>(right);
    const std::uint64_t bits = right & 63;
    switch (operation) {
      case kSwap:
        push(right);
        push(left);
        return true;
      case kAnd:
        push(left & right);
        return true;
      case kOr:
        push(left | right);
        return true;
      case kXor:
        push(left ^ right);
        return true;
      case kPlus:
        push(left + right);
        return true;
      case kMinus:
        push(left - right);
        return true;
      case kMul:
        push(left * right);
        return true;
      case kShl:
        push(right > 63 ? 0 : left << bits);
        return true;
      case kShr:
        push(right > 63 ? 0 : left >> bits);
        return true;
      case kShra:
        push_signed(a >> (right > 63 ? 63 : bits));
        return true;
      case kEq:
        push(left == right);
        return true;
      case kNe:
        push(left != right);
        return true;
      case kGe:
        push(a >= b);
        return true;
      case kGt:
        push(a > b);
        return true;
      case kLe:
        push(a <= b);
        return true;
      case kLt:
        push(a < b);
        return true;
      default:
        return false;
    }
  }

  ByteRange code_;
  TableCursor cursor_;
  const FrameRegisters& registers_;
  StackMemory& memory_;
  std::uint64_t stack_[kDepth];
  unsigned depth_ = 0;
  bool fine_ = true;
};

}  // namespace

bool evaluate(ByteRange expression, const FrameRegisters& registers, StackMemory& memory,
              bool with_first, std::uint64_t first, std::uint64_t& value) noexcept {
  Machine machine(expression, registers, memory);
  if (with_first) machine.push(first);
  return machine.run(value);
}

bool is_simple(ByteRange expression, SimpleExpression& simple) noexcept {
  TableCursor cursor(expression);
  const std::uint8_t operation = cursor.byte();
  if (operation < kBreg0 || operation >= kBreg0 + kRegisters) return false;
  simple.base = operation - kBreg0;
  simple.offset = cursor.sleb();
  simple.in_memory = cursor.more() && cursor.byte() == kDeref;
  return cursor.ok() && !cursor.more();
}

}  // namespace refrain::sampler
