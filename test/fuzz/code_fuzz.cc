// Input: a byte; 0: then the code of a function, and data behind it after a byte that says where they begin; else: an
// ELF file, whose functions are all looked at.
#include <algorithm>
#include <vector>

#include "code/program_loops.h"
#include "code/synthetic_program.h"
#include "test/fuzz/fuzz.h"

namespace {

using namespace refrain::code;
using refrain::fuzz::require;

void check(const FunctionLoops& found) {
  const std::size_t blocks = found.blocks.blocks.size();
  require(found.blocks.next.size() == blocks || blocks == 0, "an edge list for each block");
  for (Node node = 0; node < blocks; ++node) {
    const Block& block = found.blocks.blocks[node];
    require(block.begin <= block.last && block.last < block.end && block.count != 0,
            "a block has instructions");
    for (const Node to : found.blocks.next.next(node))
      require(to < blocks, "edges lead to blocks");
    require(found.blocks.at(block.begin) != kNoNode, "an address is in a block");
  }
  for (std::uint32_t i = 0; i < found.loops.size(); ++i) {
    const CodeLoop& loop = found.loops[i];
    require(loop.parent == CodeLoop::kNone || loop.parent < i, "outer loops come first");
    require(!loop.closes.empty() && !loop.entries.empty(), "a loop closes and is entered");
    require(loop.irreducible == (loop.entries.size() > 1), "one entry, or irreducible");
  }
  std::size_t grouped = 0;
  for (const SourceLoop& loop : found.by_source()) grouped += loop.loops.size();
  require(grouped == found.loops.size(), "each loop is in one group");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Disassembler kDisassembler;
  constexpr std::size_t kMaxFunctions = 64;
  constexpr std::size_t kMaxBytes = 64 << 10;
  require(kDisassembler.available(), "the disassembler is there");
  if (size == 0 || size > kMaxBytes) return 0;
  std::vector<std::uint8_t> file(data + 1, data + size);
  if (data[0] == 0) {
    const std::size_t code = file.empty() ? 0 : file[0];
    SyntheticProgram program;
    file.erase(file.begin(), file.begin() + (file.empty() ? 0 : 1));
    const std::size_t length = code == 0 ? file.size() : std::min(code, file.size());
    const auto middle = file.begin() + static_cast<std::ptrdiff_t>(length);
    program.add("function", {file.begin(), middle});
    program.add({}, {middle, file.end()});
    file = program.file();
  }
  const auto image = ElfImage::from_memory(file);
  if (image == nullptr) return 0;
  FlowReader reader(*image, kDisassembler);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < std::min(kMaxFunctions, image->functions().size()); ++i) {
    const FunctionRange& function = image->functions()[i];
    require(last <= function.begin && function.begin <= function.end,
            "functions do not overlap");
    last = function.end;
    check(loops_of(reader, function, nullptr));
  }
  return 0;
}
