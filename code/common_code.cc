#include "code/common_code.h"

#include <array>
#include <cstring>

namespace refrain::code {
namespace {

using Flow = Instruction::Flow;

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
  forms[0x63] = forms[0x8d] = kModrm;
  forms[0x68] = forms[0xa9] = kWord;
  forms[0x6a] = forms[0xa8] = kByte;
  forms[0x69] = forms[0x81] = kModrmWord;
  forms[0x6b] = forms[0x80] = forms[0x83] = forms[0xc0] = forms[0xc1] = kModrmByte;
  forms[0x98] = forms[0x99] = forms[0xc9] = kNothing;
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
  for (const int i :
       {0x1f, 0xa3, 0xa5, 0xab, 0xad, 0xaf, 0xb3, 0xb6, 0xb7, 0xbb, 0xbc, 0xbd, 0xbe, 0xbf})
    forms[static_cast<unsigned>(i)] = kModrm;
  for (const int i : {0x70, 0xa4, 0xac, 0xc2, 0xc6})
    forms[static_cast<unsigned>(i)] = kModrmByte;
  forms[0xba] = kBits;
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

Instruction jump(std::span<const std::uint8_t> code, std::size_t at, std::size_t bytes,
                 Flow flow) noexcept {
  Instruction out{
      .bytes = static_cast<std::uint8_t>(at + bytes), .flow = flow, .direct = true};
  std::int32_t offset = 0;
  if (bytes == 1)
    offset = static_cast<std::int8_t>(code[at]);
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

}  // namespace

Instruction decode_common(std::span<const std::uint8_t> code) noexcept {
  constexpr std::size_t kLongest = 15;
  if (code.size() < kLongest) return {};  // the disassembler sees to what ends there
  std::size_t at = 0;
  bool small = false;
  bool string = false;  // f2, f3
  bool prefixed = false;
  for (; at != 3; ++at) {
    const std::uint8_t prefix = code[at];
    if (prefix == 0x66)
      small = true;
    else if (prefix == 0xf2 || prefix == 0xf3)
      string = true;
    else if (prefix != 0x64 && prefix != 0x65)
      break;
    prefixed = true;
  }
  bool wide = false;
  const bool rex = code[at] >> 4 == 4;
  if (rex) wide = (code[at++] & 8) != 0;
  Form form = kAsk;
  Instruction out;
  const std::uint8_t first = code[at++];
  if (first == 0x0f) {
    const std::uint8_t second = code[at++];
    if (second == 0x1e && at == 3 && code[0] == 0xf3 && code[at] == 0xfa)
      return {.bytes = 4};  // endbr64
    if (second >> 4 == 8 && !prefixed && !rex) return branch(code, at, 4);
    form = kTwoBytes[second];
    out.padding = second == 0x1f;
    if (form == kNothing && prefixed) return {};
    if (second == 0x1f && (string || (code[at] >> 3 & 7) != 0)) return {};
  } else if ((first == 0xc5 || first == 0xc4) && !prefixed && !rex) {
    const unsigned map = first == 0xc5 ? 1 : code[at] & 0x1fu;
    at += first == 0xc5 ? 1 : 2;
    const std::uint8_t operation = code[at++];
    if (map == 1)
      form = operation >> 4 == 4 || operation >> 4 == 9 || kTwoBytes[operation] == kNothing
                 ? kAsk
                 : kTwoBytes[operation];
    else if (map == 2)
      form = kModrm;
    else if (map == 3)
      form = kModrmByte;
  } else if (string) {
    return {};
  } else {
    if (!prefixed && !rex) {
      if (first == 0xe8) return jump(code, at, 4, Flow::kCall);
      if (first == 0xe9) return jump(code, at, 4, Flow::kJump);
      if (first == 0xeb) return jump(code, at, 1, Flow::kJump);
      if (first >> 4 == 7) return branch(code, at, 1);
      if (first == 0xc3) return {.bytes = 1, .flow = Flow::kEnd, .returns = true};
      if (first == 0x90) return {.bytes = 1, .padding = true};
    }
    form = kOneByte[first];
    if (first == 0x8d && code[at] >> 6 == 3) return {};
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

}  // namespace refrain::code
