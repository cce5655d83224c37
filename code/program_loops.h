// The loops of the functions of a program or library, from its file.
//
// Place in the flow: ARCHITECTURE.md, stage 5, for writer/loops; for all that wants to know in which loops
// an address lies.
//
// Only functions that are asked for are looked at, each once.
// Thread-safety: none; one user at a time. Ownership: results live as long as this.
// Units: addresses are those of the file.
// Errors: without the disassembler (code/disassembler.h) there are no loops. Throws only when memory
// runs out.
// Cost: some ten thousand functions a second (docs/reference/loops.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "code/block_graph.h"
#include "code/elf_image.h"
#include "code/loop_lines.h"
#include "code/natural_loops.h"

namespace refrain::code {

struct CodeLoop {
  static constexpr std::uint32_t kNone = kNoNode;
  std::uint64_t header = 0;            // address of its first block
  std::vector<std::uint64_t> entries;  // of an irreducible region: several
  std::vector<std::uint64_t> closes;   // the jumps back
  std::uint32_t parent = kNone;        // index of the loop around it; before this one
  std::uint32_t depth = 1;             // 1: outermost
  bool irreducible = false;
  SourcePlace place;
};

// What one `for` of the source has become: the loop, its vectorised part and the rest, copies of it.
struct SourceLoop {
  SourcePlace place;
  std::vector<std::uint32_t> loops;        // in FunctionLoops::loops
  std::uint32_t parent = CodeLoop::kNone;  // index; before this one
};

struct FunctionLoops {
  FunctionRange range;
  std::vector<CodeLoop> loops;  // outer ones before inner ones
  BlockGraph blocks;
  LoopForest forest;  // the same loops, by blocks

  // The innermost loop around an instruction; kNone: there is none, or the instruction was not
  // reached.
  std::uint32_t innermost(std::uint64_t address) const;
  bool reached(std::uint64_t address) const { return blocks.at(address) != kNoNode; }
  // Those with the same function and line as one. Loops without a line are alone.
  std::vector<SourceLoop> by_source() const;
};

class ProgramLoops {
 public:
  // Null if the file cannot be read. Debug information is looked for in it and where debug_files.h says.
  static std::unique_ptr<ProgramLoops> open(const std::string& path);
  // With debug information from a module that must live longer; its addresses in libdwfl are by
  // `bias` more than those of the file.
  static std::unique_ptr<ProgramLoops> open(const std::string& path, Dwfl_Module* module,
                                            std::uint64_t bias);
  ~ProgramLoops();
  ProgramLoops(const ProgramLoops&) = delete;
  ProgramLoops& operator=(const ProgramLoops&) = delete;

  // Of the function with an address; null: there is none.
  const FunctionLoops* at(std::uint64_t address);
  const ElfImage& image() const { return *image_; }
  bool available() const { return disassembler_.available(); }

 private:
  struct Module;
  ProgramLoops(std::unique_ptr<ElfImage> image, std::unique_ptr<Module> own,
               Dwfl_Module* module, std::uint64_t bias);
  FunctionRange whole(const FunctionRange& part);

  std::unique_ptr<ElfImage> image_;
  std::unique_ptr<Module> own_;
  const Disassembler disassembler_;
  SourceScopes scopes_;
  FlowReader reader_;
  std::unordered_map<std::uint64_t, std::unique_ptr<FunctionLoops>> known_;
  std::unordered_map<std::string_view, FunctionRange>
      by_name_;  // of those with moved parts
};

// The loops of a function; for tests and who has code without a file.
FunctionLoops loops_of(FlowReader& reader, const FunctionRange& function,
                       SourceScopes* scopes);

}  // namespace refrain::code
