// Bytecode as CPython 3.11 made it of the functions above each text.
#include "code/bytecode.h"

#include <catch2/catch.hpp>
#include <random>
#include <string_view>
#include <vector>

namespace refrain::code::bytecode_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Bytes out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  return out;
}

std::vector<std::uint32_t> loops(const Bytecode& code, std::uint32_t unit) {
  const auto found = code.loops(unit);
  return {found.begin(), found.end()};
}
using Loops = std::vector<std::uint32_t>;

// def nest(f, n):
//     for i in range(n):
//         f(1)
//         while f(2):
//             f(3)
//     f(4)
constexpr std::string_view kNest =
    "97007401000000000000000000007c01a6010000ab01000000000000000044005d2e7d0202007c006401"
    "a6010000ab010000000000000000010002007c006402a6010000ab010000000000000000721602007c00"
    "6403a6010000ab010000000000000000010002007c006402a6010000ab010000000000000000b0168c2f"
    "02007c006404a6010000ab010000000000000000010064005300";
// After a hundred calls.
constexpr std::string_view kQuickNest =
    "96003001350046002c0000001e007c01420135001601000000000000000044005d2e7d0202002d006401"
    "8f01350017013500340000000100010002002d0064028f01350017013500340000000100721602002d00"
    "64038f01350017013500340000000100010002002d0064028f01350017013500340000000100b016262f"
    "02002d0064048f01350017013500340000000100010064005300";
constexpr std::string_view kNestLines =
    "8000dd0d12903189588c58f000030511f0000305118801d808098801882189048c048804d80e0f886190"
    "0189648c64f000010911d80c0d8841886189448c448844f003000f108861900189648c64f000010911f8"
    "e004058041806181448444804480448044";
constexpr std::uint32_t kFor = 16, kWhile = 40;  // units of headers
// Of the calls of f: PRECALL.
constexpr std::uint32_t kOne = 21, kTwo = 32, kThree = 43, kTwoAgain = 54, kFour = 65;

TEST_CASE("loops of bytecode, their lines, and what comes after what") {
  const Bytes lines = bytes(kNestLines);
  for (const std::string_view text : {kNest, kQuickNest}) {
    const Bytes code = bytes(text);
    const Bytecode nest({code, lines, {}, 1});
    CHECK(loops(nest, 8).empty());
    CHECK(loops(nest, kFor) == Loops{kFor});
    CHECK(loops(nest, kOne) == Loops{kFor});
    CHECK(loops(nest, kTwo) == Loops{kFor});
    CHECK(loops(nest, kThree) == Loops{kFor, kWhile});
    CHECK(loops(nest, kTwoAgain) == Loops{kFor, kWhile});
    CHECK(loops(nest, kFour).empty());
    CHECK(nest.lines(kFor).first == 2);
    CHECK(nest.lines(kFor).last == 5);
    CHECK(nest.lines(kWhile).first == 4);
    CHECK(nest.lines(kWhile).last == 5);
    // A call is its PRECALL, its CALL and the caches of both; which one it is depends on what was rewritten.
    for (std::uint32_t unit = kOne; unit != kOne + 7; ++unit)
      CHECK(nest.call(unit) == kOne);
    CHECK(nest.call(kOne + 7) == kOne + 7);
    CHECK(nest.forward(kOne, kTwo));
    CHECK(nest.forward(kOne, kThree));
    CHECK(nest.forward(kThree, kTwoAgain));
    CHECK_FALSE(nest.forward(kTwoAgain, kThree));
    CHECK_FALSE(nest.forward(kThree, kOne));
    CHECK_FALSE(nest.forward(kOne, kOne));
    CHECK(nest.forward(kTwoAgain, kFour));
    CHECK_FALSE(nest.forward(kFour, kOne));
  }
  CHECK(Bytecode({bytes(kNest), lines, {}, 1}).hash() ==
        Bytecode({bytes(kQuickNest), lines, {}, 1}).hash());
}

// def catching(f, n):
//     for i in range(n):
//         try:
//             f(1)
//         except ValueError:
//             f(2)
TEST_CASE("a handler is in the loop of what it catches from") {
  const Bytes code = bytes(
      "97007401000000000000000000007c01a6010000ab01000000000000000044005d297d02090002007c00"
      "6401a6010000ab01000000000000000001008c0f23007402000000000000000000002400720e01000200"
      "7c006402a6010000ab010000000000000000010059008c26770078035900770164005300");
  const Bytes exceptions = bytes("930b1f029f153705b6013705");
  const Bytecode catching({code, {}, exceptions, 1});
  CHECK(loops(catching, 22) == Loops{16});
  CHECK(loops(catching, 44) == Loops{16});
  CHECK(catching.forward(22, 44));
  CHECK_FALSE(catching.forward(44, 22));
  CHECK(catching.lines(16).first == 0);  // it has no lines
}

// def waiting(g):
//     yield from g()
TEST_CASE("who waits for a generator is not in a loop") {
  const Bytes code = bytes(
      "4b000100970002007c00a6000000ab000000000000000000450064007b03560097028604010064005300");
  const Bytecode waiting({code, {}, {}, 1});
  for (std::uint32_t unit = 0; unit != code.size() / 2; ++unit)
    CHECK(loops(waiting, unit).empty());
}

TEST_CASE("jumps of more than a byte") {
  // EXTENDED_ARG 1, FOR_ITER 4; 256 NOP; EXTENDED_ARG 1, JUMP_BACKWARD 4, RETURN_VALUE
  Bytes code = {144, 1, 93, 4};
  for (int i = 0; i != 256; ++i) code.insert(code.end(), {9, 0});
  code.insert(code.end(), {144, 1, 140, 4, 83, 0});
  const Bytecode made({code, {}, {}, 1});
  CHECK(loops(made, 0) == Loops{0});
  CHECK(loops(made, 100) == Loops{0});
  CHECK(loops(made, 259) == Loops{0});
  CHECK(loops(made, 260).empty());
}

TEST_CASE("bytes that are not bytecode") {
  CHECK(Bytecode({{}, {}, {}, 1}).loops(0).empty());
  CHECK(Bytecode({{}, {}, {}, 1}).forward(3, 4));
  std::mt19937 random(1);
  for (int round = 0; round != 3000; ++round) {
    Bytes parts[3];
    for (Bytes& part : parts) {
      part.resize(random() % 120);
      for (std::uint8_t& byte : part) byte = static_cast<std::uint8_t>(random());
    }
    if (round % 2 == 0) parts[0] = bytes(kNest);
    const Bytecode made({parts[0], parts[1], parts[2], 1});
    for (std::uint32_t unit = 0; unit < parts[0].size(); ++unit) {
      CHECK(made.call(unit) <= unit);
      for (const std::uint32_t header : made.loops(unit)) made.lines(header);
      made.forward(unit, 3);
    }
  }
}

}  // namespace
}  // namespace refrain::code::bytecode_test
