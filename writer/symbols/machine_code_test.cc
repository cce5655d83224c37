#include "writer/symbols/machine_code.h"

#include <catch2/catch.hpp>

namespace refrain::writer {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::size_t length_of(const Bytes& code) {
  Bytes padded = code;
  padded.resize(code.size() + 16, 0x90);
  return decode(padded).bytes;
}

std::vector<std::uint64_t> entries(const CodeLoops& loops) {
  std::vector<std::uint64_t> out;
  for (const CodeLoop& loop : loops.loops) out.push_back(loop.entry);
  return out;
}

// call rel32; its last byte is at + 4.
void call(Bytes& code) { code.insert(code.end(), {0xe8, 0, 0, 0, 0}); }

}  // namespace

TEST_CASE("Machine code: instructions - their length") {
  const std::vector<Bytes> all{
      {0xc3},
      {0x55},
      {0x48, 0x89, 0xe5},
      {0x48, 0x83, 0xec, 0x10},
      {0xf3, 0x0f, 0x1e, 0xfa},
      {0x48, 0x8d, 0x05, 1, 2, 3, 4},
      {0x48, 0x8b, 0x44, 0x24, 0x08},
      {0x8b, 0x04, 0x85, 1, 2, 3, 4},
      {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},
      {0x66, 0xb8, 1, 2},
      {0xb8, 1, 2, 3, 4},
      {0x66, 0x81, 0xc1, 1, 2},
      {0x81, 0xc1, 1, 2, 3, 4},
      {0xf6, 0x45, 0x00, 0x01},
      {0xf7, 0xd8},
      {0xf6, 0xd8},
      {0xff, 0x15, 1, 2, 3, 4},
      {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},
      {0x0f, 0x84, 1, 2, 3, 4},
      {0x74, 1},
      {0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8},
      {0x66, 0x0f, 0x38, 0x00, 0xc1},
      {0xf2, 0x0f, 0x10, 0x05, 1, 2, 3, 4},
      {0xc5, 0xf8, 0x77},
      {0xc5, 0xfb, 0x10, 0x04, 0xc8},
      {0xc5, 0xf9, 0x70, 0xc1, 0x4e},
      {0xc4, 0xe2, 0xf1, 0x98, 0xc2},
      {0xc4, 0xe3, 0x7d, 0x19, 0xc1, 1},
      {0x62, 0xf1, 0xfd, 0x48, 0x28, 0x44, 0x24, 1},
      {0x62, 0xf3, 0xfd, 0x48, 0x1b, 0xc1, 1},
      {0x0f, 0x0b},
      {0x48, 0x0f, 0xaf, 0xc1},
      {0xc8, 1, 2, 3},
      {0xa1, 1, 2, 3, 4, 5, 6, 7, 8},
  };
  for (const Bytes& one : all) {
    CAPTURE(one);
    CHECK(length_of(one) == one.size());
  }
  CHECK(length_of({0x06}) == 0);
  CHECK(decode({}).bytes == 0);
}

TEST_CASE("Machine code: loops - around all calls, innermost first") {
  Bytes code;
  call(code);                                                     // 0: before the loops
  call(code);                                                     // 5: the outer one begins
  call(code);                                                     // 10: the inner one
  call(code);                                                     // 15
  code.insert(code.end(), {0x75, 0xf4});                          // 20: jne 10
  call(code);                                                     // 22
  code.insert(code.end(), {0x0f, 0x85, 0xe4, 0xff, 0xff, 0xff});  // 27: jne 5
  call(code);                                                     // 33
  code.push_back(0xc3);
  const auto around = [&](std::vector<std::uint64_t> calls) {
    for (std::uint64_t& call : calls) call += 1000;
    const CodeLoops loops = loops_around(code, 1000, calls);
    CHECK(loops.whole);
    return entries(loops);
  };
  CHECK(around({14, 19}) == std::vector<std::uint64_t>{1010, 1005});
  CHECK(around({19}) == std::vector<std::uint64_t>{1010, 1005});
  CHECK(around({9, 19}) == std::vector<std::uint64_t>{1005});
  CHECK(around({26}) == std::vector<std::uint64_t>{1005});
  CHECK(around({4}).empty());
  CHECK(around({4, 14}).empty());
  CHECK(around({37}).empty());
  const CodeLoops inner = loops_around(code, 0, std::vector<std::uint64_t>{14});
  REQUIRE(inner.loops.size() == 2);
  CHECK(inner.loops[0].closes == std::vector<std::uint64_t>{20});
  CHECK(inner.loops[1].closes == std::vector<std::uint64_t>{27});
}

TEST_CASE("Machine code: filling between blocks - is not where a loop is entered") {
  Bytes code{0xeb, 0x06};                 // 0: jmp 8
  code.push_back(0x90);                   // 2: filling
  call(code);                             // 3: the loop's second half
  call(code);                             // 8: its begin
  code.insert(code.end(), {0x75, 0xf4});  // 13: jne 3
  code.push_back(0xc3);
  const CodeLoops loops = loops_around(code, 0, std::vector<std::uint64_t>{7, 12});
  REQUIRE(loops.loops.size() == 1);
  CHECK(loops.loops[0].entry == 8);
  CHECK(loops.loops[0].closes == std::vector<std::uint64_t>{3});
}

TEST_CASE("Machine code: what is not understood - is not whole") {
  Bytes code;
  call(code);
  code.insert(code.end(), {0xff, 0xe0});  // jmp *%rax
  CHECK_FALSE(loops_around(code, 0, std::vector<std::uint64_t>{4}).whole);
  code.assign({0x06, 0x06});
  CHECK_FALSE(loops_around(code, 0, std::vector<std::uint64_t>{0}).whole);
  CHECK_FALSE(loops_around(code, 0, std::vector<std::uint64_t>{100}).whole);
}

}  // namespace refrain::writer
