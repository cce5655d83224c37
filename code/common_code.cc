#include "code/common_code.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace refrain::code {
namespace {

using Flow = Instruction::Flow;

constexpr std::size_t kLongest = 15;

// What follows an operation's byte.
enum Form : std::uint8_t {
  kAsk,        // the disassembler
  kNothing,    // nothing
  kModrm,      // operands; and then
  kModrmByte,  // a constant of a byte,
  kModrmWord,  // or of an operand's size
  kByte,       // constants alone
  kWord,
  kLong,      // mov of a constant, perhaps of 8 bytes
  kGroupOne,  // as kModrmByte or kModrmWord, of operation 0 of its group only
  kTest,      // operation 0 has a constant, 1 is not used
  kStep,      // operations 0, 1 (inc, dec), 2 (call), 4 (jump) and 6 (push)
  kBits       // as kModrmByte, operations 4 to 7
};
using Forms = std::array<Form, 256>;

// movs, cmps; stos, lods, scas.
constexpr bool is_string(unsigned byte) noexcept {
  return (byte >= 0xa4 && byte <= 0xa7) || (byte >= 0xaa && byte <= 0xaf);
}

constexpr Forms kOneByte = [] {
  Forms forms{};
  for (unsigned i = 0; i != 0x40; ++i) {
    constexpr Form kArithmetic[] = {kModrm, kModrm, kModrm, kModrm,
                                    kByte,  kWord,  kAsk,   kAsk};
    forms[i] = kArithmetic[i % 8];
  }
  for (unsigned i = 0x50; i != 0x60; ++i) forms[i] = kNothing;
  for (unsigned i = 0x84; i != 0x8c; ++i) forms[i] = kModrm;
  for (unsigned i = 0xb0; i != 0xb8; ++i) forms[i] = kByte;
  for (unsigned i = 0xb8; i != 0xc0; ++i) forms[i] = kLong;
  for (unsigned i = 0xd0; i != 0xd4; ++i) forms[i] = kModrm;
  for (unsigned i = 0xd8; i != 0xe0; ++i) forms[i] = kModrm;
  forms[0x63] = forms[0x8d] = kModrm;
  forms[0x68] = forms[0xa9] = kWord;
  forms[0x6a] = forms[0xa8] = kByte;
  forms[0x69] = forms[0x81] = kModrmWord;
  forms[0x6b] = forms[0x80] = forms[0x83] = forms[0xc0] = forms[0xc1] = kModrmByte;
  forms[0x98] = forms[0x99] = forms[0xc9] = kNothing;
  for (unsigned i = 0xa4; i != 0xb0; ++i)
    if (is_string(i)) forms[i] = kNothing;
  forms[0xc6] = forms[0xc7] = kGroupOne;
  forms[0xf6] = forms[0xf7] = kTest;
  forms[0xfe] = forms[0xff] = kStep;
  return forms;
}();

// After 0f, and of VEX's first map.
constexpr Forms kTwoBytes = [] {
  Forms forms{};
  for (const auto& [first, last] : {std::pair{0x10, 0x17},
                                    {0x28, 0x2f},
                                    {0x40, 0x4f},
                                    {0x51, 0x6f},
                                    {0x74, 0x76},
                                    {0x7e, 0x7f},
                                    {0x90, 0x9f},
                                    {0xd1, 0xef},
                                    {0xf1, 0xf6},
                                    {0xf8, 0xfe}})
    for (int i = first; i <= last; ++i) forms[static_cast<unsigned>(i)] = kModrm;
  for (const int i : {0x1f, 0xa3, 0xa5, 0xab, 0xad, 0xaf, 0xb0, 0xb1, 0xb3, 0xb6, 0xb7,
                      0xbb, 0xbc, 0xbd, 0xbe, 0xbf, 0xc0, 0xc1, 0xc3})
    forms[static_cast<unsigned>(i)] = kModrm;
  for (const int i : {0x70, 0xa4, 0xac, 0xc2, 0xc6})
    forms[static_cast<unsigned>(i)] = kModrmByte;
  forms[0xba] = kBits;
  for (const int i : {0x05, 0x31, 0xa2})  // syscall, rdtsc, cpuid
    forms[static_cast<unsigned>(i)] = kNothing;
  for (unsigned i = 0xc8; i != 0xd0; ++i) forms[i] = kNothing;
  return forms;
}();

// Of the operands' byte and what belongs to it.
std::size_t operand_bytes(std::span<const std::uint8_t> code) noexcept {
  const unsigned mode = code[0] >> 6;
  const unsigned base = code[0] & 7u;
  if (mode == 3) return 1;
  std::size_t bytes = mode == 1 ? 2 : mode == 2 ? 5 : 1;
  if (base == 4) {
    ++bytes;
    if (mode == 0 && (code[1] & 7) == 5) bytes += 4;
  } else if (mode == 0 && base == 5) {
    bytes += 4;
  }
  return bytes;
}

// Two's complement.
std::int32_t signed_byte(std::uint8_t byte) noexcept { return (byte ^ 0x80) - 0x80; }

Instruction jump(std::span<const std::uint8_t> code, std::size_t at, std::size_t bytes,
                 Flow flow) noexcept {
  Instruction out{
      .bytes = static_cast<std::uint8_t>(at + bytes), .flow = flow, .direct = true};
  std::int32_t offset = 0;
  if (bytes == 1)
    offset = signed_byte(code[at]);
  else
    std::memcpy(&offset, &code[at], sizeof offset);
  out.target = out.bytes + std::int64_t{offset};
  return out;
}

Instruction branch(std::span<const std::uint8_t> code, std::size_t at,
                   std::size_t bytes) noexcept {
  using Condition = Instruction::Condition;
  Instruction out = jump(code, at, bytes, Flow::kBranch);
  switch (code[at - 1] & 0xf) {
    case 2:
      out.condition = Condition::kBelow;
      break;
    case 3:
      out.condition = Condition::kAboveEqual;
      break;
    case 6:
      out.condition = Condition::kBelowEqual;
      break;
    case 7:
      out.condition = Condition::kAbove;
      break;
    default:
      break;
  }
  return out;
}

// AVX, AVX-512 and what is written like them: VEX and EVEX prefixes, and the operation's byte.
struct Vector {
  std::uint8_t bytes = 0;  // 0: none of them
  std::uint8_t map = 0;
  std::uint8_t operation = 0;
  bool evex = false;
};

Vector vector_at(std::span<const std::uint8_t> code) noexcept {
  Vector out;
  if (code[0] == 0xc5)
    out = {.bytes = 3, .map = 1};
  else if (code[0] == 0xc4)
    out = {.bytes = 4, .map = static_cast<std::uint8_t>(code[1] & 0x1f)};
  else if (code[0] == 0x62 && (code[1] & 8) == 0 && (code[2] & 4) != 0)
    out = {.bytes = 5, .map = static_cast<std::uint8_t>(code[1] & 7), .evex = true};
  else
    return out;
  out.operation = code[out.bytes - 1u];
  return out;
}

// Operands follow all of them but vzeroupper, a constant those of the third map and some of the first.
Form form_of(const Vector& vector) noexcept {
  const std::uint8_t byte = vector.operation;
  switch (vector.map) {
    case 1:
      if (byte == 0x77) return vector.evex ? kAsk : kNothing;
      return (byte >= 0x70 && byte <= 0x73) || byte == 0xc2 ||
                     (byte >= 0xc4 && byte <= 0xc6)
                 ? kModrmByte
                 : kModrm;
    case 2:
      return kModrm;
    case 3:
      return kModrmByte;
    case 5:
    case 6:
      return vector.evex ? kModrm : kAsk;
    default:
      return kAsk;
  }
}

// With the lock prefix: those that change a word in memory.
bool may_be_locked(std::uint8_t first, std::uint8_t second,
                   std::uint8_t operands) noexcept {
  const unsigned operation = operands >> 3 & 7u;
  if (operands >> 6 == 3) return false;
  switch (first) {
    case 0x0f:
      return second == 0xb0 || second == 0xb1 || second == 0xc0 || second == 0xc1 ||
             second == 0xab || second == 0xb3 || second == 0xbb ||
             (second == 0xba && operation > 4);
    case 0x80:
    case 0x81:
    case 0x83:
      return operation != 7;
    case 0x86:
    case 0x87:
      return true;
    case 0xf6:
    case 0xf7:
      return operation == 2 || operation == 3;
    case 0xfe:
    case 0xff:
      return operation < 2;
    default:
      return first < 0x38 && first % 8 < 2;
  }
}

// `code` has as many bytes as the longest instruction.
Instruction decode_whole(std::span<const std::uint8_t> code) noexcept {
  std::size_t at = 0;
  bool small = false;
  bool string = false;  // f2, f3
  bool locked = false;
  bool prefixed = false;
  for (; at != 8; ++at) {
    const std::uint8_t prefix = code[at];
    if (prefix == 0x66)
      small = true;
    else if (prefix == 0xf2 || prefix == 0xf3)
      string = true;
    else if (prefix == 0xf0)
      locked = true;
    else if (prefix != 0x64 && prefix != 0x65 && prefix != 0x2e)
      break;
    prefixed = true;
  }
  const std::size_t prefixes = at;
  bool wide = false;
  const bool rex = code[at] >> 4 == 4;
  if (rex) wide = (code[at++] & 8) != 0;
  Form form = kAsk;
  Instruction out;
  const std::uint8_t first = code[at++];
  if (prefixes > 2 && (first != 0x0f || code[at] != 0x1f)) return {};
  if (locked && !may_be_locked(first, code[at], code[at + (first == 0x0f ? 1 : 0)]))
    return {};
  if (first == 0x0f) {
    const std::uint8_t second = code[at++];
    if (second == 0x1e && at == 3 && code[0] == 0xf3 && code[at] == 0xfa)
      return {.bytes = 4};  // endbr64
    if (second >> 4 == 8 && !prefixed && !rex) return branch(code, at, 4);
    if (second == 0x0b && !prefixed && !rex)
      return {.bytes = 2, .flow = Flow::kEnd};  // ud2
    form = kTwoBytes[second];
    out.padding = second == 0x1f;
    if (form == kNothing && (prefixed || (second < 0xc8 && rex))) return {};
    if (second == 0x1f && (string || (code[at] >> 3 & 7) != 0)) return {};
    if (second == 0xc3 && (prefixed || code[at] >> 6 == 3)) return {};
  } else if (const Vector vector = vector_at(code); vector.bytes != 0) {
    at = vector.bytes;
    form = form_of(vector);
  } else if (string) {
    if (prefixes != 1) return {};
    if (first == 0xc3 && !rex) return {.bytes = 2, .flow = Flow::kEnd, .returns = true};
    if (first == 0x90 && !rex && code[0] == 0xf3) return {.bytes = 2};  // pause
    if (!is_string(first)) return {};
    form = kNothing;
  } else {
    if (!prefixed && !rex) {
      if (first == 0xe8) return jump(code, at, 4, Flow::kCall);
      if (first == 0xe9) return jump(code, at, 4, Flow::kJump);
      if (first == 0xeb) return jump(code, at, 1, Flow::kJump);
      if (first >> 4 == 7) return branch(code, at, 1);
      if (first == 0xc3) return {.bytes = 1, .flow = Flow::kEnd, .returns = true};
      if (first == 0xf4) return {.bytes = 1, .flow = Flow::kEnd};  // hlt
      if (first == 0xcc) return {.bytes = 1, .flow = Flow::kEnd, .padding = true};
      if (first == 0x90) return {.bytes = 1, .padding = true};
    }
    if (first == 0x90 && small && prefixes == 1 && !rex)
      return {.bytes = 2, .padding = true};
    form = kOneByte[first];
    if (first == 0x8d && code[at] >> 6 == 3) return {};
    if (is_string(first) && prefixes > (small ? 1 : 0)) return {};
    if (first >> 3 == 0x1b) {  // x87
      if (prefixed || rex) return {};
      out.padding = first == 0xd9 && code[at] == 0xd0;  // fnop
    }
  }
  const std::size_t word = small && !wide ? 2 : 4;
  const unsigned operation = code[at] >> 3 & 7u;
  switch (form) {
    case kAsk:
      return {};
    case kNothing:
      break;
    case kByte:
      ++at;
      break;
    case kWord:
      at += word;
      break;
    case kLong:
      at += wide ? 8 : word;
      break;
    case kModrm:
      at += operand_bytes(code.subspan(at));
      break;
    case kModrmByte:
      at += operand_bytes(code.subspan(at)) + 1;
      break;
    case kModrmWord:
      at += operand_bytes(code.subspan(at)) + word;
      break;
    case kGroupOne:
      if (operation != 0) return {};
      at += operand_bytes(code.subspan(at)) + (first == 0xc6 ? 1 : word);
      break;
    case kTest:
      if (operation == 1) return {};
      at += operand_bytes(code.subspan(at)) + (operation != 0  ? 0
                                               : first == 0xf6 ? 1
                                                               : word);
      break;
    case kStep:
      if (operation > 1 && (operation % 2 != 0 || first == 0xfe)) return {};
      if (operation == 2 || operation == 4) {
        if (prefixed) return {};
        out.flow = operation == 2 ? Flow::kCall : Flow::kUnknown;
        out.through_slot = (code[at] & 0xc7) == 5;
        if (out.through_slot) {
          std::int32_t offset = 0;
          std::memcpy(&offset, &code[at + 1], sizeof offset);
          out.slot = static_cast<std::int64_t>(at) + 5 + offset;
        }
      }
      at += operand_bytes(code.subspan(at));
      break;
    case kBits:
      if (operation < 4) return {};
      at += operand_bytes(code.subspan(at)) + 1;
      break;
  }
  if (at > kLongest) return {};
  out.bytes = static_cast<std::uint8_t>(at);
  return out;
}

// As many bytes as the longest instruction has, zeros behind the end.
using Room = std::array<std::uint8_t, kLongest>;
std::span<const std::uint8_t> padded(std::span<const std::uint8_t> code,
                                     Room& room) noexcept {
  if (code.size() >= kLongest) return code;
  room = {};
  std::ranges::copy(code, room.begin());
  return room;
}

}  // namespace

Instruction decode_common(std::span<const std::uint8_t> code) noexcept {
  Room room;
  const Instruction out = decode_whole(padded(code, room));
  return out.bytes <= code.size() ? out : Instruction{};
}

namespace {

constexpr std::int8_t kRax = 0;
constexpr std::int8_t kRcx = 1;
constexpr std::int8_t kRdx = 2;
constexpr std::int8_t kStack = 4;
constexpr std::int8_t kFrame = 5;

constexpr std::uint16_t bit_of(std::int8_t number) {
  return static_cast<std::uint16_t>(1u << number);
}

// An instruction with operands in a register and in a register or memory.
class Operands {
 public:
  Operands(std::span<const std::uint8_t> code, std::size_t at, std::uint8_t rex) noexcept
      : rex_(rex), modrm_(code[at]), bytes_(at + operand_bytes(code.subspan(at))) {
    if (!memory()) return;
    const unsigned mode = modrm_ >> 6;
    const bool has_index = (modrm_ & 7) == 4;
    const unsigned low = has_index ? code[at + 1] & 7u : modrm_ & 7u;
    const bool fixed = mode == 0 && low == 5;  // from the next instruction, or from nothing
    if (!fixed) base_ = static_cast<std::int8_t>(low + (rex & 1u) * 8);
    if (has_index)
      if (const unsigned number = (code[at + 1] >> 3 & 7u) + (rex & 2u) * 4;
          number != kStack)
        index_ = static_cast<std::int8_t>(number);
    if (mode == 1) {
      offset_ = signed_byte(code[bytes_ - 1]);
    } else if (mode == 2 || fixed) {
      std::int32_t offset = 0;
      std::memcpy(&offset, &code[bytes_ - 4], sizeof offset);
      offset_ = offset;
    }
  }

  bool memory() const noexcept { return modrm_ >> 6 != 3; }
  unsigned operation() const noexcept { return modrm_ >> 3 & 7u; }
  std::size_t bytes() const noexcept { return bytes_; }
  // `part`: a byte, which without a prefix may be the second of a register.
  std::int8_t first(bool part) const noexcept {
    return number(operation(), rex_ & 4u, part);
  }
  std::int8_t second(bool part) const noexcept {
    return number(modrm_ & 7u, rex_ & 1u, part);
  }
  void set_address(Effect& out) const noexcept {
    out.base = base_;
    out.index = index_;
    out.offset = offset_;
  }

 private:
  std::int8_t number(unsigned low, unsigned extended, bool part) const noexcept {
    if (part && rex_ == 0) return static_cast<std::int8_t>(low & 3u);
    return static_cast<std::int8_t>(low + (extended != 0 ? 8 : 0));
  }

  std::uint8_t rex_;
  std::uint8_t modrm_;
  std::size_t bytes_;
  std::int8_t base_ = Operation::kNone;
  std::int8_t index_ = Operation::kNone;
  std::int64_t offset_ = 0;
};

struct Prefixes {
  std::uint8_t rex = 0;
  std::uint8_t string = 0;  // f2 or f3
  bool small = false;
  bool wide() const noexcept { return (rex & 8) != 0; }
  std::size_t constant() const noexcept { return small && !wide() ? 2 : 4; }
  std::uint8_t width(bool part) const noexcept {
    return part ? 1 : wide() ? 8 : small ? 2 : 4;
  }
};

std::int64_t constant_at(std::span<const std::uint8_t> code, std::size_t at,
                         std::size_t bytes) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, &code[at], bytes);
  return bytes == 1   ? std::int64_t{static_cast<std::int8_t>(value)}
         : bytes == 2 ? std::int64_t{static_cast<std::int16_t>(value)}
                      : std::int64_t{static_cast<std::int32_t>(value)};
}

// An effect with its operands: `to` is written and the other read, unless one is none.
class EffectOf {
 public:
  EffectOf(std::span<const std::uint8_t> code, std::size_t at, Prefixes prefixes) noexcept
      : code_(code), prefixes_(prefixes), operands_(code, at, prefixes.rex) {}

  const Operands& operands() const noexcept { return operands_; }

  // The operand that may be in memory is the first one. `constant` bytes follow.
  Effect into_word(bool part, bool writes, bool with_register,
                   std::size_t constant) noexcept {
    Effect out = begin(constant);
    if (operands_.memory()) {
      operands_.set_address(out);
      out.stores = writes;
      if (writes) out.width = prefixes_.width(part);
    } else {
      out.to = operands_.second(part);
      if (writes) out.written = bit_of(out.to);
    }
    if (with_register) out.from = operands_.first(part);
    return out;
  }
  // It is the second one; the first is written.
  Effect into_register(bool part, bool part_of_second, bool writes,
                       std::size_t constant) noexcept {
    Effect out = begin(constant);
    out.to = operands_.first(part);
    if (writes) out.written = bit_of(out.to);
    if (operands_.memory())
      operands_.set_address(out);
    else if (constant == 0)
      out.from = operands_.second(part_of_second);
    return out;
  }
  // Neither is a register that counts.
  Effect into_vector() noexcept {
    Effect out = begin(0);
    if (operands_.memory()) operands_.set_address(out);
    return out;
  }
  Effect vector_into_word(std::uint8_t width) noexcept {
    Effect out = into_vector();
    if (operands_.memory()) {
      out.stores = true;
      out.width = width;
    }
    return out;
  }

  std::int64_t constant(std::size_t bytes) const noexcept {
    return constant_at(code_, operands_.bytes(), bytes);
  }

 private:
  Effect begin(std::size_t constant) const noexcept {
    Effect out;
    out.bytes = static_cast<std::uint8_t>(operands_.bytes() + constant);
    return out;
  }

  std::span<const std::uint8_t> code_;
  Prefixes prefixes_;
  Operands operands_;
};

// add, or, adc, sbb, and, sub, xor, cmp.
enum : unsigned { kAddition = 0, kSubtraction = 5, kComparison = 7 };

void set_sum(unsigned operation, Effect& out) noexcept {
  if (operation != kAddition && operation != kSubtraction) return;
  out.kind = out.to >= 0 ? Effect::Kind::kAdd : Effect::Kind::kAddMemory;
}

Effect of_registers(std::size_t bytes, std::int8_t to, unsigned written) noexcept {
  Effect out;
  out.bytes = static_cast<std::uint8_t>(bytes);
  out.to = to;
  out.written = static_cast<std::uint16_t>(written);
  return out;
}

Effect arithmetic(std::span<const std::uint8_t> code, std::size_t at, Prefixes prefixes,
                  std::uint8_t byte) noexcept {
  const unsigned operation = byte >> 3;
  const bool part = byte % 2 == 0;
  const bool writes = operation != kComparison;
  Effect out;
  switch (byte & 7) {
    case 0:
    case 1:
      out = EffectOf(code, at, prefixes).into_word(part, writes, true, 0);
      break;
    case 2:
    case 3:
      out = EffectOf(code, at, prefixes).into_register(part, part, writes, 0);
      break;
    default: {
      const std::size_t bytes = part ? 1 : prefixes.constant();
      out = of_registers(at + bytes, kRax, writes ? bit_of(kRax) : 0);
      if (operation != kAddition && operation != kSubtraction) break;
      const std::int64_t value = constant_at(code, at, bytes);
      out.constant = operation == kAddition ? value : -value;
    }
  }
  set_sum(operation, out);
  return out;
}

Effect one_byte(std::span<const std::uint8_t> code, std::size_t at, Prefixes prefixes,
                std::uint8_t byte) noexcept {
  using Kind = Effect::Kind;
  const std::int8_t low =
      static_cast<std::int8_t>((byte & 7u) + ((prefixes.rex & 1u) != 0 ? 8u : 0u));
  if (byte < 0x40) return byte % 8 < 6 ? arithmetic(code, at, prefixes, byte) : Effect{};
  if (byte < 0x50) return {};
  if (byte < 0x60) {
    const bool pushes = byte < 0x58;
    Effect out = of_registers(at, low, bit_of(kStack) | (pushes ? 0u : bit_of(low)));
    out.kind = pushes ? Kind::kPush : Kind::kPop;
    return out;
  }
  const bool part = byte % 2 == 0;
  EffectOf of(code, at, prefixes);
  const unsigned operation = of.operands().operation();
  switch (byte) {
    case 0x63: {
      Effect out = of.into_register(false, false, true, 0);
      out.kind = of.operands().memory() ? Kind::kLoad : Kind::kMove;
      return out;
    }
    case 0x69:
    case 0x6b:
      return of.into_register(false, false, true, byte == 0x69 ? prefixes.constant() : 1);
    case 0x80:
    case 0x81:
    case 0x83: {
      const std::size_t bytes = byte == 0x81 ? prefixes.constant() : 1;
      Effect out = of.into_word(part, operation != kComparison, false, bytes);
      if (operation == kAddition || operation == kSubtraction)
        out.constant = operation == kAddition ? of.constant(bytes) : -of.constant(bytes);
      set_sum(operation, out);
      return out;
    }
    case 0x84:
    case 0x85:
      return of.into_word(part, false, true, 0);
    case 0x88:
    case 0x89: {
      Effect out = of.into_word(part, true, true, 0);
      out.kind = of.operands().memory() ? Kind::kStore : Kind::kMove;
      return out;
    }
    case 0x8a:
    case 0x8b: {
      Effect out = of.into_register(part, part, true, 0);
      out.kind = of.operands().memory() ? Kind::kLoad : Kind::kMove;
      return out;
    }
    case 0x8d: {
      if (!of.operands().memory()) return {};
      Effect out = of.into_register(false, false, true, 0);
      out.kind = Kind::kAddress;
      return out;
    }
    case 0x98:
      return of_registers(at, Operation::kNone, bit_of(kRax));
    case 0x99:
      return of_registers(at, Operation::kNone, bit_of(kRdx));
    case 0xc0:
    case 0xc1:
      return of.into_word(part, true, false, 1);
    case 0xd0:
    case 0xd1:
      return of.into_word(part, true, false, 0);
    case 0xd2:
    case 0xd3: {
      Effect out = of.into_word(part, true, false, 0);
      out.from = kRcx;
      return out;
    }
    case 0xc6:
    case 0xc7:
      return operation != 0
                 ? Effect{}
                 : of.into_word(part, true, false, part ? 1 : prefixes.constant());
    case 0xc9: {
      Effect out = of_registers(at, Operation::kNone, bit_of(kStack) | bit_of(kFrame));
      out.kind = Kind::kLeave;
      return out;
    }
    case 0xf6:
    case 0xf7:
      if (operation == 0)
        return of.into_word(part, false, false, part ? 1 : prefixes.constant());
      if (operation == 1) return {};
      if (operation < 4) return of.into_word(part, true, false, 0);
      {
        Effect out = of.into_word(part, false, false, 0);
        out.written |=
            static_cast<std::uint16_t>(bit_of(kRax) | (part ? 0u : bit_of(kRdx)));
        return out;
      }
    case 0xfe:
    case 0xff: {
      if (byte == 0xff && operation == 6 && of.operands().memory() && !prefixes.small) {
        Effect out = of.into_vector();
        out.kind = Kind::kPush;
        out.written = bit_of(kStack);
        return out;
      }
      if (operation > 1) return {};
      Effect out = of.into_word(part, true, false, 0);
      out.constant = operation == 0 ? 1 : -1;
      out.kind = out.to >= 0 ? Kind::kAdd : Kind::kAddMemory;
      return out;
    }
    default:
      break;
  }
  if (byte >> 4 == 0xb)
    return byte < 0xb8
               ? of_registers(
                     at + 1, prefixes.rex == 0 ? static_cast<std::int8_t>(byte & 3) : low,
                     bit_of(prefixes.rex == 0 ? static_cast<std::int8_t>(byte & 3) : low))
               : of_registers(at + (prefixes.wide() ? 8 : prefixes.constant()), low,
                              bit_of(low));
  return {};
}

// After 0f.
Effect two_bytes(std::span<const std::uint8_t> code, std::size_t at, Prefixes prefixes,
                 std::uint8_t byte) noexcept {
  EffectOf of(code, at, prefixes);
  const bool memory = of.operands().memory();
  const bool plain = prefixes.string == 0;
  if (byte >> 4 == 4 && plain) return of.into_register(false, false, true, 0);
  if (byte >> 4 == 9 && plain && !prefixes.small) return of.into_word(true, true, false, 0);
  switch (byte) {
    case 0xaf:
    case 0xb7:
    case 0xbf:
      return plain ? of.into_register(false, false, true, 0) : Effect{};
    case 0xb6:
    case 0xbe:
      return plain ? of.into_register(false, true, true, 0) : Effect{};
    case 0xb0:
    case 0xb1: {
      if (!plain) return {};
      Effect out = of.into_word(byte == 0xb0, true, true, 0);
      out.written |= bit_of(kRax);
      return out;
    }
    case 0x10:
    case 0x14:
    case 0x15:
    case 0x28:
    case 0x2e:
    case 0x2f:
    case 0x54:
    case 0x57:
    case 0x58:
    case 0x59:
    case 0x5a:
    case 0x5c:
    case 0x5d:
    case 0x5e:
    case 0x5f:
    case 0x51:
    case 0x6f:
    case 0xef:
      return of.into_vector();
    case 0x6c:
    case 0x62:
    case 0x6d:
    case 0xd4:
    case 0xfe:
    case 0xdb:
    case 0xeb:
      return prefixes.small && plain ? of.into_vector() : Effect{};
    case 0x12:
    case 0x16:
      return memory && plain ? of.into_vector() : Effect{};
    case 0x11:
      return of.vector_into_word(prefixes.string == 0xf2   ? 8
                                 : prefixes.string == 0xf3 ? 4
                                                           : 16);
    case 0x13:
    case 0x17:
      return memory && plain ? of.vector_into_word(8) : Effect{};
    case 0x29:
      return plain ? of.vector_into_word(16) : Effect{};
    case 0x7f:
      return prefixes.small || prefixes.string == 0xf3 ? of.vector_into_word(16) : Effect{};
    case 0xd6:
      return prefixes.small && plain ? of.vector_into_word(8) : Effect{};
    case 0x2a:
    case 0x6e: {
      if (byte == 0x2a ? plain : !prefixes.small || !plain) return {};
      Effect out = of.into_vector();
      if (!memory) out.from = of.operands().second(false);
      return out;
    }
    case 0x2c:
    case 0x2d: {
      if (plain) return {};
      Effect out = of.into_register(false, false, true, 0);
      out.from = Operation::kNone;
      return out;
    }
    case 0x7e: {
      if (prefixes.string == 0xf3) return of.into_vector();
      if (!prefixes.small || !plain) return {};
      prefixes.small = false;
      return EffectOf(code, at, prefixes).into_word(false, true, false, 0);
    }
    default:
      return {};
  }
}

}  // namespace

Effect effect_common(std::span<const std::uint8_t> whole) noexcept {
  Room room;
  const std::span<const std::uint8_t> code = padded(whole, room);
  std::size_t at = 0;
  Prefixes prefixes;
  bool locked = false;
  for (; at != 2; ++at) {
    if (code[at] == 0x66)
      prefixes.small = true;
    else if (code[at] == 0xf2 || code[at] == 0xf3)
      prefixes.string = code[at];
    else if (code[at] == 0xf0)
      locked = true;
    else
      break;
  }
  if (code[at] >> 4 == 4) prefixes.rex = code[at++];
  const std::uint8_t first = code[at++];
  if (locked && !may_be_locked(first, code[at], code[at + (first == 0x0f ? 1 : 0)]))
    return {};
  Effect out;
  if (first == 0x0f) {
    const std::uint8_t second = code[at++];
    out = two_bytes(code, at, prefixes, second);
  } else if (prefixes.string == 0) {
    out = one_byte(code, at, prefixes, first);
  }
  return out.bytes <= std::min(kLongest, whole.size()) ? out : Effect{};
}

}  // namespace refrain::code
