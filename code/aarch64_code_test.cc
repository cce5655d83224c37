#include "code/aarch64_code.h"

#include <catch2/catch.hpp>
#include <vector>

#include "code/program_loops.h"
#include "code/synthetic_program.h"

namespace refrain::code::aarch64_code_test {
namespace {

std::vector<std::uint8_t> bytes_of(const std::vector<std::uint32_t>& words) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint32_t word : words)
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(word >> 8 * i));
  return bytes;
}

}  // namespace

TEST_CASE("Machine code of aarch64: instructions - where control goes") {
  using Flow = Instruction::Flow;
  struct Case {
    std::uint32_t word;
    Flow flow;
    std::int64_t target;
  };
  // As GNU's assembler makes them.
  for (const auto& [word, flow, target] : std::vector<Case>{
           {0x94000000, Flow::kCall, 0},      // bl
           {0x17ffffff, Flow::kJump, -4},     // b
           {0x54ffffc1, Flow::kBranch, -8},   // b.ne
           {0xb4ffffa0, Flow::kBranch, -12},  // cbz x0
           {0x35ffff83, Flow::kBranch, -16},  // cbnz w3
           {0xb647ff61, Flow::kBranch, -20},  // tbz x1, #40
           {0x371fff41, Flow::kBranch, -24},  // tbnz w1, #3
           {0xd61f0200, Flow::kUnknown, 0},   // br x16
           {0xd63f0060, Flow::kCall, 0},      // blr x3
           {0xd65f03c0, Flow::kEnd, 0},       // ret
           {0xd65f0bff, Flow::kEnd, 0},       // retaa
           {0xd71f0822, Flow::kUnknown, 0},   // braa x1, x2
           {0xd63f089f, Flow::kCall, 0},      // blraaz x4
           {0xd4200020, Flow::kEnd, 0},       // brk #1
           {0x00000000, Flow::kEnd, 0},       // udf
           {0xd4000001, Flow::kNext, 0},      // svc #0
           {0x8b020020, Flow::kNext, 0},      // add x0, x1, x2
           {0x58fffda0, Flow::kNext, 0},      // ldr x0, label
           {0x90000010, Flow::kNext, 0},      // adrp x16
       }) {
    CAPTURE(word);
    const Instruction one = Disassembler(EM_AARCH64).decode(bytes_of({word, 0xd503201f}));
    CHECK(one.bytes == 4);
    CHECK(one.flow == flow);
    CHECK(one.target == target);
    CHECK_FALSE(one.padding);
  }
  CHECK(decode_aarch64(bytes_of({0xd503201f})).padding);
  CHECK(decode_aarch64(std::vector<std::uint8_t>{0x1f, 0x20, 0x03}).bytes == 0);
}

TEST_CASE(
    "Machine code of aarch64: stubs of the linker - the slot that they jump through") {
  // adrp x16, 0x20000; ldr x17, [x16, #8]; add x16, x16, #8; br x17
  const std::vector<std::uint32_t> stub{0x90000110, 0xf9400611, 0x91002210, 0xd61f0220};
  CHECK(aarch64_stub_slot(bytes_of(stub), 0x940) == 0x20008);
  std::vector<std::uint32_t> marked{0xd503245f};
  marked.insert(marked.end(), stub.begin(), stub.end());
  CHECK(aarch64_stub_slot(bytes_of(marked), 0xffc) == 0x21008);
  CHECK_FALSE(aarch64_stub_slot(bytes_of({0xd65f03c0, 0xd65f03c0}), 0x940));
  CHECK_FALSE(aarch64_stub_slot({}, 0x940));
}

TEST_CASE("Machine code of aarch64: loops - around a call, and one in the other") {
  SyntheticProgram program(EM_AARCH64);
  program.add("function", bytes_of({0xd503201f,     // 0: nop
                                    0x94000400,     // 4: the outer loop: bl, far away
                                    0x94000400,     // 8: the inner one
                                    0x54ffffe1,     // 12: b.ne 8
                                    0xb5ffffa0,     // 16: cbnz x0, 4
                                    0xd65f03c0}));  // 20: ret
  std::vector<std::uint8_t> file = program.file();
  const auto image = ElfImage::from_memory(file);
  REQUIRE(image != nullptr);
  REQUIRE(image->machine() == EM_AARCH64);
  const FunctionRange* const function = image->function_at(SyntheticProgram::kBegin);
  REQUIRE(function != nullptr);
  const Disassembler disassembler(image->machine());
  FlowReader reader(*image, disassembler);
  const FunctionLoops found = loops_of(reader, *function, nullptr);
  CHECK(found.blocks.whole());
  REQUIRE(found.loops.size() == 2);
  const auto header = [&](std::uint64_t at) {
    const std::uint32_t loop = found.innermost(SyntheticProgram::kBegin + at);
    return loop == CodeLoop::kNone ? 0
                                   : found.loops[loop].header - SyntheticProgram::kBegin;
  };
  CHECK(header(7) == 4);
  CHECK(header(11) == 8);
  CHECK(header(15) == 8);
  CHECK(header(19) == 4);
  CHECK(header(23) == 0);
}

}  // namespace refrain::code::aarch64_code_test
