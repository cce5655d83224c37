#include "writer/symbols/machine_code.h"

#include <catch2/catch.hpp>

namespace refrain::writer {
namespace {

using Bytes = std::vector<std::uint8_t>;

const Disassembler kDisassembler;

std::vector<std::uint64_t> entries(const CodeLoops& loops) {
  std::vector<std::uint64_t> out;
  for (const CodeLoop& loop : loops.loops) out.push_back(loop.entry);
  return out;
}

// call rel32; its last byte is at + 4.
void call(Bytes& code) { code.insert(code.end(), {0xe8, 0, 0, 0, 0}); }

}  // namespace

TEST_CASE("Machine code: instructions - their length and where control goes") {
  using Flow = Instruction::Flow;
  struct Case {
    Bytes code;
    Flow flow;
    std::int64_t target;
  };
  REQUIRE(kDisassembler.available());
  for (const auto& [code, flow, target] : std::vector<Case>{
           {{0xc3}, Flow::kEnd, 0},
           {{0x0f, 0x0b}, Flow::kEnd, 0},
           {{0xf3, 0x0f, 0x1e, 0xfa}, Flow::kNext, 0},
           {{0xe8, 1, 2, 3, 4}, Flow::kNext, 0},
           {{0xff, 0x15, 1, 2, 3, 4}, Flow::kNext, 0},
           {{0xe9, 0x10, 0, 0, 0}, Flow::kJump, 0x15},
           {{0xeb, 0xfe}, Flow::kJump, 0},
           {{0x74, 0xf0}, Flow::kBranch, -14},
           {{0x0f, 0x84, 0, 1, 0, 0}, Flow::kBranch, 0x106},
           {{0xe2, 0x05}, Flow::kBranch, 7},
           {{0xff, 0xe0}, Flow::kUnknown, 0},
           {{0x3e, 0xff, 0xe0}, Flow::kUnknown, 0},
           {{0xff, 0x24, 0xc5, 1, 2, 3, 4}, Flow::kUnknown, 0},
           {{0xc5, 0xfb, 0x10, 0x04, 0xc8}, Flow::kNext, 0},
           {{0x62, 0xf1, 0xfd, 0x48, 0x28, 0x44, 0x24, 1}, Flow::kNext, 0},
       }) {
    Bytes padded = code;
    padded.resize(code.size() + 16, 0x90);
    CAPTURE(code);
    const Instruction one = kDisassembler.decode(padded);
    CHECK(one.bytes == code.size());
    CHECK(one.flow == flow);
    CHECK(one.target == target);
  }
  CHECK(kDisassembler.decode(Bytes{0x06}).bytes == 0);
  CHECK(kDisassembler.decode(Bytes{0xe8, 1}).bytes == 0);
  CHECK(kDisassembler.decode({}).bytes == 0);
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
    const CodeLoops loops = loops_around(kDisassembler, code, 1000, calls);
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
  const CodeLoops inner =
      loops_around(kDisassembler, code, 0, std::vector<std::uint64_t>{14});
  REQUIRE(inner.loops.size() == 2);
  CHECK(inner.loops[0].closes == std::vector<std::uint64_t>{20});
  CHECK(inner.loops[1].closes == std::vector<std::uint64_t>{27});
}

TEST_CASE("Machine code: padding between blocks - is not the entry of a loop") {
  Bytes code{0xeb, 0x06};                 // 0: jmp 8
  code.push_back(0x90);                   // 2: padding
  call(code);                             // 3: the loop's second half
  call(code);                             // 8: its begin
  code.insert(code.end(), {0x75, 0xf4});  // 13: jne 3
  code.push_back(0xc3);
  const CodeLoops loops =
      loops_around(kDisassembler, code, 0, std::vector<std::uint64_t>{7, 12});
  REQUIRE(loops.loops.size() == 1);
  CHECK(loops.loops[0].entry == 8);
  CHECK(loops.loops[0].closes == std::vector<std::uint64_t>{3});
}

TEST_CASE("Machine code: unknown instructions - not whole") {
  Bytes code;
  call(code);
  code.insert(code.end(), {0xff, 0xe0});  // jmp *%rax
  CHECK_FALSE(loops_around(kDisassembler, code, 0, std::vector<std::uint64_t>{4}).whole);
  code.assign({0x06, 0x06});
  CHECK_FALSE(loops_around(kDisassembler, code, 0, std::vector<std::uint64_t>{0}).whole);
  CHECK_FALSE(loops_around(kDisassembler, code, 0, std::vector<std::uint64_t>{100}).whole);
}

}  // namespace refrain::writer
