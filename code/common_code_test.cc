#include "code/common_code.h"

#include <link.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "code/mapped_image.h"

namespace refrain::code::common_code_test {
namespace {

bool equal(const Instruction& a, const Instruction& b) {
  return a.bytes == b.bytes && a.flow == b.flow && a.condition == b.condition &&
         a.padding == b.padding && a.returns == b.returns && a.direct == b.direct &&
         a.through_slot == b.through_slot && a.target == b.target && a.slot == b.slot;
}

bool equal(const Effect& a, const Effect& b) {
  return a.bytes == b.bytes && a.kind == b.kind && a.to == b.to && a.from == b.from &&
         a.base == b.base && a.index == b.index && a.stores == b.stores &&
         a.written == b.written && a.offset == b.offset && a.constant == b.constant &&
         (!a.stores || a.width == b.width);
}

struct Sweep {
  Disassembler disassembler;
  std::size_t common = 0;
  std::size_t all = 0;
  std::size_t effects = 0;
  std::size_t effects_asked = 0;
  std::size_t wrong = 0;
  std::string first;  // that is wrong

  void note(std::span<const std::uint8_t> code) {
    if (wrong++ > 60) {
      return;
    }
    first += "\n";
    for (std::size_t i = 0; i != 15 && i < code.size(); ++i)
      first += "0123456789abcdef"[code[i] >> 4], first += "0123456789abcdef"[code[i] & 15],
          first += ' ';
  }

  void through(std::span<const std::uint8_t> code) {
    for (std::size_t at = 0; at < code.size();) {
      const Instruction wanted = disassembler.decode_any(code.subspan(at));
      const Instruction got = decode_common(code.subspan(at));
      ++all;
      common += got.bytes != 0;
      // (Of data that is no code, some is decoded here alone.)
      if (got.bytes != 0 && wanted.bytes != 0 && !equal(got, wanted))
        note(code.subspan(at));
      if (got.bytes != 0 &&
          (!equal(decode_common(code.subspan(at, got.bytes)), got) ||
           decode_common(code.subspan(at, got.bytes - 1u)).bytes >= got.bytes))
        note(code.subspan(at));
      if (wanted.flow == Instruction::Flow::kNext && !wanted.padding && wanted.bytes != 0) {
        const Effect effect = effect_common(code.subspan(at));
        ++effects_asked;
        effects += effect.bytes != 0;
        const Effect any = disassembler.effect_any(code.subspan(at));
        if (effect.bytes != 0 && !equal(effect, any)) note(code.subspan(at));
      }
      at += wanted.bytes == 0 ? 1u : wanted.bytes;
    }
  }
};

}  // namespace

#if defined(__x86_64__)
TEST_CASE("Common code: vectors - how long they are, and what they write") {
  struct One {
    std::vector<std::uint8_t> code;
    std::uint16_t written = 0;
    bool stores = false;
  };
  const One all[] = {
      {{0x62, 0xf3, 0x75, 0x48, 0x25, 0xc2, 0x96}},  // vpternlogd $0x96,%zmm2,%zmm1,%zmm0
      {{0x62, 0xf1, 0xf5, 0x48, 0x54, 0xc2}},        // vandpd %zmm2,%zmm1,%zmm0
      {{0x62, 0xf1, 0xfe, 0x48, 0xe6, 0xc1}},        // vcvtqq2pd %zmm1,%zmm0
      {{0x62, 0xf3, 0xfd, 0x48, 0x19, 0x44, 0x24, 0x01, 0x01},
       0,
       true},                                        // vextractf64x2 to 16(%rsp)
      {{0xc5, 0xfb, 0x93, 0xc1}, 1},                 // kmovd %k1,%eax
      {{0xc4, 0xe1, 0xfb, 0x93, 0xd9}, 8},           // kmovq %k1,%rbx
      {{0x62, 0xf3, 0x75, 0x48, 0x3e, 0xca, 0x01}},  // vpcmpub $1,%zmm2,%zmm1,%k1
      {{0x62, 0xf2, 0x75, 0x48, 0x50, 0xc2}},        // vpdpbusd %zmm2,%zmm1,%zmm0
      {{0x62, 0xf1, 0x7c, 0x48, 0x29, 0x44, 0x24, 0x02},
       0,
       true},                               // vmovaps %zmm0,128(%rsp)
      {{0xc4, 0xe2, 0x70, 0xf2, 0xc2}, 1},  // andn %edx,%ecx,%eax
      {{0xc4, 0xe2, 0x70, 0xf3, 0xda}, 2},  // blsi %edx,%ecx
      {{0xc5, 0xf8, 0x77}},                 // vzeroupper
  };
  for (const One& one : all) {
    CAPTURE(&one - all);
    std::vector<std::uint8_t> code = one.code;
    code.resize(32, 0x90);
    const Instruction decoded = decode_common(code);
    CHECK(decoded.bytes == one.code.size());
    CHECK(decoded.flow == Instruction::Flow::kNext);
    const Effect effect = Disassembler::effect(code);
    CHECK(effect.bytes == one.code.size());
    CHECK(effect.written == one.written);
    CHECK(effect.stores == one.stores);
    CHECK(decode_common(std::span(code).first(one.code.size() - 1)).bytes == 0);
  }
  struct Spilled {
    std::vector<std::uint8_t> code;
    std::int8_t base;
    std::int64_t offset;
    std::uint8_t width;
  };
  const Spilled spilled[] = {
      {{0x62, 0xf1, 0x7c, 0x48, 0x29, 0x44, 0x24, 0x02},
       4,
       128,
       64},  // vmovaps of 64 bytes
      {{0x62, 0xf3, 0xfd, 0x48, 0x19, 0x44, 0x24, 0x01, 1}, 4, 16, 16},   // vextractf64x2
      {{0x62, 0xf3, 0xfd, 0x48, 0x1b, 0x44, 0x24, 0xff, 1}, 4, -32, 32},  // vextractf64x4
      {{0x62, 0xe1, 0xff, 0x08, 0x11, 0x44, 0x24, 0x03}, 4, 24, 8},       // vmovsd
      {{0x62, 0xe1, 0x7e, 0x08, 0x11, 0x44, 0x24, 0x03}, 4, 12, 4},       // vmovss
      {{0x62, 0xf2, 0x7e, 0x48, 0x31, 0x44, 0x24, 0x01}, 4, 16, 16},      // vpmovdb
  };
  for (const Spilled& one : spilled) {
    CAPTURE(&one - spilled);
    const Effect effect = Disassembler::effect(one.code);
    CHECK(effect.stores);
    CHECK(effect.base == one.base);
    CHECK(effect.offset == one.offset);
    CHECK(effect.width == one.width);
  }
}

TEST_CASE("Disassembler: registers that instructions change without naming them") {
  struct One {
    std::vector<std::uint8_t> code;
    std::uint16_t written;
    bool stores = false;
  };
  constexpr unsigned kRax = 1 << 0, kRcx = 1 << 1, kRdx = 1 << 2, kRsi = 1 << 6,
                     kRdi = 1 << 7, kR11 = 1 << 11;
  const One all[] = {
      {{0x99}, kRdx},                                      // cdq
      {{0xa9, 1, 0, 0, 0}, 0},                             // test $1,%eax
      {{0x0f, 0x05}, kRax | kRcx | kR11},                  // syscall
      {{0x0f, 0xa2}, kRax | kRcx | kRdx | 1 << 3},         // cpuid
      {{0xf3, 0xa4}, kRcx | kRsi | kRdi, true},            // rep movsb
      {{0xf3, 0x48, 0xab}, kRcx | kRdi, true},             // rep stosq
      {{0xf2, 0xae}, kRcx | kRdi},                         // repne scasb
      {{0xf3, 0xa6}, kRcx | kRsi | kRdi},                  // repe cmpsb
      {{0xac}, kRax | kRsi},                               // lodsb
      {{0xf0, 0x48, 0x0f, 0xc7, 0x0f}, kRax | kRdx, true}  // lock cmpxchg16b (%rdi)
  };
  for (const One& one : all) {
    CAPTURE(&one - all);
    const Effect effect = Disassembler::effect(one.code);
    CHECK(effect.bytes == one.code.size());
    CHECK(effect.written == one.written);
    CHECK(effect.stores == one.stores);
    CHECK(Disassembler().operation(one.code).written == one.written);
  }
  const Effect copy = Disassembler::effect(std::vector<std::uint8_t>{0xf3, 0xa4});
  CHECK(copy.base == 7);
  CHECK(copy.width == 0);  // of more than one word
  const std::vector<std::uint8_t> transaction_end{0x0f, 0x01, 0xd5};
  CHECK(Disassembler::decode_any(transaction_end).flow == Instruction::Flow::kNext);
}

TEST_CASE("Disassembler: constants of a byte's comparison have no sign") {
  const Operation compare =
      Disassembler().operation(std::vector<std::uint8_t>{0x40, 0x80, 0xff, 0x87});
  CHECK(compare.kind == Operation::Kind::kCompare);
  CHECK(compare.limit == 0x87);
  const Operation move =
      Disassembler().operation(std::vector<std::uint8_t>{0xb8, 0, 0, 0, 0x80});
  CHECK(move.kind == Operation::Kind::kMove);
  CHECK(move.offset == 0x80000000);
}

// Of all that is mapped here: the C and C++ libraries, Zydis, this program.
TEST_CASE("Common code: every instruction is what the disassembler says that it is") {
  Sweep sweep;
  REQUIRE(sweep.disassembler.available());
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        const MappedImage image(*info);
        constexpr std::uint64_t kMax = 400'000;  // of each
        for (const auto& [begin, end] : image.code())
          static_cast<Sweep*>(data)->through(image.bytes(begin).first(
              std::min({end - begin, kMax, std::uint64_t{image.bytes(begin).size()}})));
        return 0;
      },
      &sweep);
  INFO(sweep.first);
  CHECK(sweep.wrong == 0);
  CHECK(sweep.common > sweep.all / 100 * 97);
  CHECK(sweep.effects > sweep.effects_asked / 10 * 9);
  CHECK(sweep.all > 100'000);
}
#endif

}  // namespace refrain::code::common_code_test
