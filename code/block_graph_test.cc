#include "code/block_graph.h"

#include <catch2/catch.hpp>
#include <optional>

#include "code/program_loops.h"
#include "code/synthetic_program.h"

namespace refrain::code::block_graph_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

const Disassembler kDisassembler;

// call rel32; its last byte is at + 4.
void call(Bytes& code, std::int32_t to = 0) {
  code.push_back(0xe8);
  for (int i = 0; i < 4; ++i) code.push_back(static_cast<std::uint8_t>(to >> 8 * i));
}

// The loops of a function of a program.
struct Found {
  std::vector<std::uint8_t> file;
  std::unique_ptr<ElfImage> image;
  FunctionLoops loops;
};

Found loops_in(const SyntheticProgram& program,
               std::uint64_t at = SyntheticProgram::kBegin) {
  Found out{program.file(), nullptr, {}};
  out.image = ElfImage::from_memory(out.file);
  REQUIRE(out.image != nullptr);
  const FunctionRange* const function = out.image->function_at(at);
  REQUIRE(function != nullptr);
  FlowReader reader(*out.image, kDisassembler);
  out.loops = loops_of(reader, *function, nullptr);
  return out;
}

Found loops_in(const Bytes& code) {
  SyntheticProgram program;
  program.add("function", code);
  return loops_in(program);
}

// Headers of the loops around an address, innermost first, from the program's begin.
std::vector<std::uint64_t> around(const FunctionLoops& function, std::uint64_t at) {
  std::vector<std::uint64_t> out;
  std::uint32_t loop = function.innermost(SyntheticProgram::kBegin + at);
  for (; loop != CodeLoop::kNone; loop = function.loops[loop].parent)
    out.push_back(function.loops[loop].header - SyntheticProgram::kBegin);
  return out;
}

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
           {{0xe8, 1, 2, 3, 4}, Flow::kCall, 0x4030206},
           {{0xff, 0x15, 1, 2, 3, 4}, Flow::kCall, 0},
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

TEST_CASE("Machine code: loops - around calls, innermost first") {
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
  const Found found = loops_in(code);
  CHECK(found.loops.blocks.whole());
  for (const std::uint64_t at : {14U, 19U})
    CHECK(around(found.loops, at) == std::vector<std::uint64_t>{10, 5});
  for (const std::uint64_t at : {9U, 26U})
    CHECK(around(found.loops, at) == std::vector<std::uint64_t>{5});
  for (const std::uint64_t at : {4U, 37U, 38U, 39U, 100U})
    CHECK(around(found.loops, at).empty());
  REQUIRE(found.loops.loops.size() == 2);
  CHECK(found.loops.loops[0].closes ==
        std::vector<std::uint64_t>{SyntheticProgram::kBegin + 27});
  CHECK(found.loops.loops[1].closes ==
        std::vector<std::uint64_t>{SyntheticProgram::kBegin + 20});
}

TEST_CASE("Machine code: padding between blocks - is not the entry of a loop") {
  Bytes code{0xeb, 0x06};                 // 0: jmp 8
  code.push_back(0x90);                   // 2: padding
  call(code);                             // 3: the loop's second half
  call(code);                             // 8: its start
  code.insert(code.end(), {0x75, 0xf4});  // 13: jne 3
  code.push_back(0xc3);
  const Found found = loops_in(code);
  CHECK(around(found.loops, 7) == std::vector<std::uint64_t>{8});
  CHECK(around(found.loops, 12) == std::vector<std::uint64_t>{8});
}

TEST_CASE("Machine code: bytes that are no instructions - not whole, and no crash") {
  CHECK(loops_in(Bytes{0x06, 0x06}).loops.blocks.undecoded == 1);
  Bytes code;
  call(code);
  code.insert(code.end(), {0xff, 0xe0});  // jmp *%rax: a call at the function's end
  CHECK(loops_in(code).loops.blocks.whole());
}

TEST_CASE("Machine code: an unknown jump - goes where nothing else goes") {
  const Found found = loops_in(Bytes{0xff, 0xe0,    // 0: jmp *%rax
                                     0x90, 0x90,    // 2: to here
                                     0xeb, 0xfa});  // 4: jmp 0
  CHECK(found.loops.blocks.guessed == 1);
  CHECK(around(found.loops, 4) == std::vector<std::uint64_t>{0});
}

// while (true) switch (x) { case 0: continue; case 1: return; } with a table of offsets.
TEST_CASE("Machine code: jump tables - of offsets, as many entries as are compared") {
  const Bytes code{0x83, 0xf8, 0x01,                       // 0: cmp $1, %eax
                   0x77, 0x12,                             // 3: ja 23
                   0x48, 0x8d, 0x15, 0x14, 0,    0,    0,  // 5: lea 20(%rip), %rdx: 32
                   0x48, 0x63, 0x04, 0x82,                 // 12: movslq (%rdx,%rax,4), %rax
                   0x48, 0x01, 0xd0,                       // 16: add %rdx, %rax
                   0xff, 0xe0,                             // 19: jmp *%rax
                   0xeb, 0xe9,                             // 21: case 0: jmp 0
                   0xc3,                                   // 23: case 1 and default: ret
                   0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
  REQUIRE(code.size() == 32);
  SyntheticProgram program;
  program.add("function", code);
  // The third is beyond, and would be in the function.
  program.add_words({21 - 32, 23 - 32, 5 - 32});
  const Found found = loops_in(program);
  CHECK(found.loops.blocks.tables == 1);
  CHECK(found.loops.blocks.whole());
  REQUIRE(found.loops.loops.size() == 1);
  CHECK(found.loops.loops[0].header == SyntheticProgram::kBegin);
  const Node switched = found.loops.blocks.at(SyntheticProgram::kBegin + 19);
  CHECK(found.loops.blocks.next.next(switched).size() == 2);
}

// As clang -O0: the index is stored, then compared, then read again.
TEST_CASE(
    "Machine code: jump tables - the index was stored, as many entries as are compared") {
  const Bytes code{0x0f, 0xaf, 0xc2,                    // 0: imul %edx, %eax
                   0x89, 0xc1,                          // 3: mov %eax, %ecx
                   0x48, 0x89, 0x4c, 0x24, 0xe8,        // 5: mov %rcx, -24(%rsp)
                   0x83, 0xe8, 0x01,                    // 10: sub $1, %eax
                   0x77, 0x17,                          // 13: ja 38
                   0x48, 0x8b, 0x44, 0x24, 0xe8,        // 15: mov -24(%rsp), %rax
                   0x48, 0x8d, 0x0d, 0x0d, 0,    0, 0,  // 20: lea 13(%rip), %rcx: 40
                   0x48, 0x63, 0x04, 0x81,              // 27: movslq (%rcx,%rax,4), %rax
                   0x48, 0x01, 0xc8,                    // 31: add %rcx, %rax
                   0xff, 0xe0,                          // 34: jmp *%rax
                   0xeb, 0xda,                          // 36: case 0: jmp 0
                   0xc3, 0x90};                         // 38: case 1 and default: ret
  REQUIRE(code.size() == 40);
  SyntheticProgram program;
  program.add("function", code);
  program.add_words({36 - 40, 38 - 40, 3 - 40});
  const Found found = loops_in(program);
  CHECK(found.loops.blocks.whole());
  const Node switched = found.loops.blocks.at(SyntheticProgram::kBegin + 34);
  CHECK(found.loops.blocks.next.next(switched).size() == 2);
}

// Two loops with a switch each; the addresses of the tables are in one register since long before.
TEST_CASE("Machine code: jump tables - the address that all ways put into the register") {
  Bytes code;
  for (const int table : {192, 200}) {
    const int begin = static_cast<int>(code.size());
    code.insert(code.end(), {0x48, 0x8d, 0x1d});  // 0: lea table(%rip), %rbx
    code.push_back(static_cast<std::uint8_t>(table - begin - 7));
    code.insert(code.end(), 3, 0);
    code.insert(code.end(), 70, 0x90);                // 7: here the loop begins
    code.insert(code.end(), {0x83, 0xf8, 0x01,        // 77: cmp $1, %eax
                             0x77, 0x0b,              // 80: ja 93
                             0x48, 0x63, 0x04, 0x83,  // 82: movslq (%rbx,%rax,4), %rax
                             0x48, 0x01, 0xd8,        // 86: add %rbx, %rax
                             0xff, 0xe0,              // 89: jmp *%rax
                             0xeb, 0xaa});            // 91: case 0: jmp 7
  }
  code.insert(code.end(), {0xc3, 0x90, 0x90, 0x90, 0x90, 0x90});
  REQUIRE(code.size() == 192);
  SyntheticProgram program;
  program.add("function", code);
  program.add_words({91 - 192, 93 - 192});
  program.add_words({93 + 91 - 200, 93 + 93 - 200});
  const Found found = loops_in(program);
  CHECK(found.loops.blocks.whole());
  CHECK(found.loops.blocks.tables == 2);
  CHECK(around(found.loops, 91) == std::vector<std::uint64_t>{7});
  CHECK(around(found.loops, 93 + 91) == std::vector<std::uint64_t>{93 + 7});
}

TEST_CASE("Machine code: jump tables - of addresses, as many entries as the mask allows") {
  Bytes code{0x83, 0xe0, 0x01,                    // 0: and $1, %eax
             0xff, 0x24, 0xc5, 0x10, 0x10, 0, 0,  // 3: jmp *0x1010(,%rax,8)
             0xeb, 0xf4,                          // 10: jmp 0
             0xc3,                                // 12: ret
             0x90, 0x90, 0x90};
  SyntheticProgram program;
  program.add("function", code);
  program.add_addresses({0x100a, 0x100c, 0x1003});
  const Found found = loops_in(program);
  CHECK(found.loops.blocks.tables == 1);
  CHECK(found.loops.blocks.whole());
  CHECK(around(found.loops, 10) == std::vector<std::uint64_t>{0});
  CHECK(around(found.loops, 12).empty());
}

TEST_CASE("Machine code: calls that do not return - nothing follows them") {
  // 0: jne 7; 2: call X; 7: jne 0; ret: if X comes back, its call is in the loop. Also with padding after the call.
  const std::uint8_t padding = GENERATE(0, 1);
  const auto program_with = [padding](const Bytes& callee, const std::string& name) {
    Bytes code{0x75, static_cast<std::uint8_t>(0x05 + padding)};
    call(code, 16 - 7);
    code.resize(code.size() + padding, 0x90);
    code.insert(code.end(), {0x75, static_cast<std::uint8_t>(0xf7 - padding), 0xc3});
    code.resize(16, 0x90);
    SyntheticProgram program;
    program.add("function", code);
    program.add(name, callee);
    return loops_in(program);
  };
  const Bytes returns{0xc3};
  const Bytes does_not{0x0f, 0x0b};
  CHECK(around(program_with(returns, "work").loops, 3) == std::vector<std::uint64_t>{0});
  CHECK(around(program_with(returns, "abort").loops, 3).empty());
  CHECK(around(program_with(does_not, "fail").loops, 3).empty());
  CHECK(around(program_with(does_not, "fail").loops, 7 + padding) ==
        std::vector<std::uint64_t>{0});
}

TEST_CASE("Machine code: a part that was moved away - belongs to its function") {
  for (const bool named : {true, false}) {
    SyntheticProgram program;
    program.add("function", {0x75, 0x03,  // 0: jne 5, to the moved part
                             0x75, 0xfc,  // 2: jne 0
                             0xc3});      // 4: ret
    const Bytes moved{0x90, 0xeb, 0xf8};  // 5: and jmp 0
    const std::uint64_t begin =
        program.add(named ? "function.cold" : "function.other", moved);
    const Found found = loops_in(program);
    INFO(named);
    CHECK(around(found.loops, begin - SyntheticProgram::kBegin) ==
          (named ? std::vector<std::uint64_t>{0} : std::vector<std::uint64_t>{}));
    CHECK(found.loops.blocks.parts.size() == (named ? 2 : 1));
  }
}

TEST_CASE("Machine code: symbols without a size - go on to the next one") {
  SyntheticProgram program;
  program.add("first", {0x90, 0xc3}, false);
  const std::uint64_t second = program.add("second", {0xeb, 0xfe}, false);
  const Found found = loops_in(program, second);
  CHECK(found.image->functions()[0].end == second);
  CHECK(found.loops.loops.size() == 1);
}

TEST_CASE(
    "Machine code: a stripped program - functions are those of the exception tables") {
  SyntheticProgram program;
  const std::uint64_t begin = program.add({}, {0x90, 0xeb, 0xfd, 0x90});
  const auto frames_at = static_cast<std::int64_t>(program.here());
  Bytes frames{16, 0, 0,    0, 0, 0, 0,  0, 1, 'z', 'R', 0, 1, 0x78,
               16, 1, 0x1b, 0, 0, 0, 16, 0, 0, 0,   24,  0, 0, 0};
  const auto offset =
      static_cast<std::int32_t>(static_cast<std::int64_t>(begin) - (frames_at + 28));
  for (int i = 0; i < 4; ++i) frames.push_back(static_cast<std::uint8_t>(offset >> 8 * i));
  frames.insert(frames.end(), {3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  // As GNU's linker makes the section, and as LLVM's does.
  const unsigned type = GENERATE(SHT_PROGBITS, SHT_X86_64_UNWIND);
  program.add_frames(frames, type);
  const Found found = loops_in(program, begin);
  REQUIRE(found.image->functions().size() == 1);
  CHECK(found.image->functions()[0].begin == begin);
  CHECK(found.image->functions()[0].end == begin + 3);
  CHECK(around(found.loops, 1) == std::vector<std::uint64_t>{0});
}

TEST_CASE("Machine code: tables of handlers - calls and where their exceptions go") {
  const Bytes table{0xff, 0xff, 0x01, 8,  // calls: begin, length, handler, action
                    2,    5,    20,   1, 7, 3, 0, 0};
  const std::vector<HandlerEntry> found = read_handlers(table, 0x5000, 0x1000);
  REQUIRE(found.size() == 1);
  CHECK(found[0].begin == 0x1002);
  CHECK(found[0].end == 0x1007);
  CHECK(found[0].handler == 0x1014);
  CHECK(read_handlers({}, 0x5000, 0x1000).empty());
}

}  // namespace refrain::code::block_graph_test
