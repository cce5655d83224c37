#include "code/common_code.h"

#include <link.h>

#include <catch2/catch.hpp>
#include <string>

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
    if (wrong++ != 0) return;
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
      // (What the disassembler does not know may well be one, of AVX2.)
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
        if (effect.bytes != 0 && !equal(effect, disassembler.effect_any(code.subspan(at))))
          note(code.subspan(at));
      }
      at += wanted.bytes == 0 ? 1u : wanted.bytes;
    }
  }
};

}  // namespace

#if defined(__x86_64__)
// Of all that is mapped here: the C and C++ libraries, Capstone, this program.
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
