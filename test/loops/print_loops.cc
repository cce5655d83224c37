// print_loops FILE [FUNCTION...]: the loops of a program's functions, or of all, a line each.
#include <algorithm>
#include <cstdio>
#include <string>

#include "code/program_loops.h"

int main(int argc, char** argv) {
  using namespace refrain::code;
  const auto program = argc < 2 ? nullptr : ProgramLoops::open(argv[1]);
  if (program == nullptr) {
    std::fprintf(stderr, "print_loops: no ELF file of x86-64\n");
    return 2;
  }
  const std::string_view mode = argc > 2 ? argv[2] : "";
  std::size_t functions = 0, loops = 0, blocks = 0, instructions = 0, tables = 0,
              guessed = 0, undecoded = 0, irreducible = 0;
  for (const FunctionRange& range : program->image().functions()) {
    bool wanted = argc == 2 || mode == "--count";
    for (int i = 2; i < argc; ++i) wanted |= range.name == argv[i];
    if (!wanted) continue;
    const FunctionLoops& found = *program->at(range.begin);
    ++functions;
    loops += found.loops.size();
    blocks += found.blocks.blocks.size();
    instructions += found.blocks.instructions.size();
    tables += found.blocks.tables;
    guessed += found.blocks.guessed;
    undecoded += found.blocks.undecoded;
    for (const CodeLoop& loop : found.loops) irreducible += loop.irreducible;
    if (mode == "--count") continue;
    std::printf("%.*s 0x%lx 0x%lx tables=%u guessed=%u undecoded=%u\n",
                static_cast<int>(range.name.size()), range.name.data(), range.begin,
                range.end, found.blocks.tables, found.blocks.guessed,
                found.blocks.undecoded);
    for (const CodeLoop& loop : found.loops)
      std::printf("  loop 0x%lx depth=%u parent=0x%lx%s %s %s:%u\n", loop.header,
                  loop.depth,
                  loop.parent == CodeLoop::kNone ? 0UL : found.loops[loop.parent].header,
                  loop.irreducible ? " irreducible" : "", loop.place.function.c_str(),
                  loop.place.file.c_str(), loop.place.line);
  }
  std::fprintf(
      stderr,
      "%zu functions, %zu instructions, %zu blocks, %zu loops, %zu irreducible, %zu "
      "tables, %zu guessed, %zu undecoded\n",
      functions, instructions, blocks, loops, irreducible, tables, guessed, undecoded);
}
