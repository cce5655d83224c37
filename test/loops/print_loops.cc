// print_loops FILE [FUNCTION...]: the loops of the machine code of a program's functions, or of all.
// print_loops FILE --count: how many there are. print_loops FILE --source: those of the source, "depth file line function".
#include <cstdio>
#include <string>
#include <string_view>

#include "code/program_loops.h"

namespace {

using namespace refrain::code;

struct Counts {
  std::size_t functions = 0;
  std::size_t instructions = 0;
  std::size_t blocks = 0;
  std::size_t loops = 0;
  std::size_t irreducible = 0;
  std::size_t tables = 0;
  std::size_t guessed = 0;
  std::size_t undecoded = 0;

  void add(const FunctionLoops& one) {
    ++functions;
    instructions += one.blocks.instructions.size();
    blocks += one.blocks.blocks.size();
    loops += one.loops.size();
    for (const CodeLoop& loop : one.loops) irreducible += loop.irreducible ? 1 : 0;
    tables += one.blocks.tables;
    guessed += one.blocks.guessed;
    undecoded += one.blocks.undecoded;
  }
  void print() const {
    std::printf(
        "%zu functions, %zu instructions, %zu blocks, %zu loops, %zu irreducible, %zu tables, "
        "%zu guessed, %zu undecoded\n",
        functions, instructions, blocks, loops, irreducible, tables, guessed, undecoded);
  }
};

void print(const FunctionLoops& one) {
  std::printf("%s 0x%lx 0x%lx tables=%u guessed=%u undecoded=%u\n",
              std::string(one.range.name).c_str(), one.range.begin, one.range.end,
              one.blocks.tables, one.blocks.guessed, one.blocks.undecoded);
  for (const CodeLoop& loop : one.loops)
    std::printf("  loop 0x%lx depth=%u parent=0x%lx%s %s %s:%u\n", loop.header, loop.depth,
                loop.parent == CodeLoop::kNone ? 0UL : one.loops[loop.parent].header,
                loop.irreducible ? " irreducible" : "", loop.place.function.c_str(),
                loop.place.file.c_str(), loop.place.line);
}

void print_source(const FunctionLoops& one) {
  const std::vector<SourceLoop> loops = one.by_source();
  for (const SourceLoop& loop : loops) {
    unsigned depth = 1;
    for (std::uint32_t at = loop.parent; at != CodeLoop::kNone; at = loops[at].parent)
      ++depth;
    std::printf("%u %s %u %s\n", depth, loop.place.known() ? loop.place.file.c_str() : "?",
                loop.place.line, loop.place.function.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto program = argc < 2 ? nullptr : ProgramLoops::open(argv[1]);
  if (program == nullptr) {
    std::fprintf(stderr, "print_loops: no ELF file of x86-64\n");
    return 2;
  }
  const std::string_view mode = argc > 2 ? argv[2] : "";
  Counts counts;
  for (const FunctionRange& range : program->image().functions()) {
    bool wanted = argc == 2 || mode.starts_with("--");
    for (int i = 2; i < argc; ++i) wanted |= range.name == argv[i];
    // Parts that were moved away are printed with their function.
    if (!wanted || range.name.find(".cold") != std::string_view::npos) continue;
    const FunctionLoops& found = *program->at(range.begin);
    counts.add(found);
    if (mode == "--source")
      print_source(found);
    else if (mode != "--count")
      print(found);
  }
  if (mode == "--count") counts.print();
}
