#include "code/aarch64_code.h"

namespace refrain::code {
namespace {

constexpr std::uint32_t kNop = 0xd503201f;

std::uint32_t word_at(std::span<const std::uint8_t> code, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word |= std::uint32_t{code[at + i]} << 8 * i;
  return word;
}

// A signed number of `count` bits from bit `first` on.
std::int64_t number(std::uint32_t word, unsigned first, unsigned count) {
  const auto shifted = static_cast<std::int32_t>(word << (32 - first - count));
  return shifted >> (32 - count);
}

// br, blr, ret, eret, and those that check a signed address.
void decode_register_jump(std::uint32_t word, Instruction& out) {
  using Flow = Instruction::Flow;
  switch (word >> 21 & 7) {
    case 0:
      out.flow = Flow::kUnknown;
      break;
    case 1:
      out.flow = Flow::kCall;
      break;
    case 2:
    case 4:
      out.flow = Flow::kEnd;
      out.returns = true;
      break;
    default:
      break;
  }
}

}  // namespace

Instruction decode_aarch64(std::span<const std::uint8_t> code) {
  using Flow = Instruction::Flow;
  Instruction out;
  if (code.size() < 4) return out;
  const std::uint32_t word = word_at(code, 0);
  out.bytes = 4;
  out.padding = word == kNop;
  const auto aim = [&](Flow flow, unsigned first, unsigned count) {
    out.flow = flow;
    out.direct = true;
    out.target = number(word, first, count) * 4;
  };
  if ((word & 0x7c000000) == 0x14000000)  // b, bl
    aim((word & 0x80000000) == 0 ? Flow::kJump : Flow::kCall, 0, 26);
  else if ((word & 0xff000000) == 0x54000000 ||  // b.cond, bc.cond
           (word & 0x7e000000) == 0x34000000)    // cbz, cbnz
    aim(Flow::kBranch, 5, 19);
  else if ((word & 0x7e000000) == 0x36000000)  // tbz, tbnz
    aim(Flow::kBranch, 5, 14);
  else if ((word & 0xfe000000) == 0xd6000000)
    decode_register_jump(word, out);
  else if ((word & 0xffe0001f) == 0xd4200000 ||  // brk
           (word & 0xffe0001f) == 0xd4400000 ||  // hlt
           (word & 0xffff0000) == 0)             // udf
    out.flow = Flow::kEnd;
  return out;
}

std::optional<std::uint64_t> aarch64_stub_slot(std::span<const std::uint8_t> code,
                                               std::uint64_t address) {
  constexpr std::uint32_t kLandingPad = 0xd503245f;  // bti c
  if (code.size() >= 4 && word_at(code, 0) == kLandingPad) {
    code = code.subspan(4);
    address += 4;
  }
  if (code.size() < 8) return {};
  const std::uint32_t page = word_at(code, 0);
  const std::uint32_t load = word_at(code, 4);
  if ((page & 0x9f00001f) != 0x90000010) return {};  // adrp x16
  if ((load & 0xffc003ff) != 0xf9400211) return {};  // ldr x17, [x16, offset]
  const std::int64_t pages = number(page, 5, 19) * 4 + (page >> 29 & 3);
  return (address & ~std::uint64_t{4095}) + static_cast<std::uint64_t>(pages * 4096) +
         std::uint64_t{load >> 10 & 4095} * 8;
}

}  // namespace refrain::code
