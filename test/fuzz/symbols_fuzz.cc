// Input: a byte that says in what pieces, and the text of a symbol stream.
#include <algorithm>
#include <vector>

#include "test/fuzz/fuzz.h"
#include "tools/detect/symbol_reader.h"

namespace {

struct Parsed {
  std::vector<refrain::periodicity::Symbol> symbols;
  std::string error;
  std::uint64_t lines = 0;
  bool negative = false;
};

Parsed parse(std::string_view text, std::size_t piece) {
  Parsed out;
  refrain::tools::SymbolParser parser;
  bool fine = true;
  for (; fine && !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    fine = parser.feed(text.substr(0, piece), out.symbols);
  if (fine) fine = parser.finish(out.symbols);
  out.error = parser.error();
  out.lines = parser.lines();
  out.negative = parser.has_negative();
  refrain::fuzz::require(fine == out.error.empty(), "false comes with an error", out.error);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using refrain::fuzz::require;
  refrain::fuzz::Bytes bytes(data, size);
  const std::size_t piece = 1 + bytes.number(1);
  const std::string_view text = bytes.rest();
  const Parsed whole = parse(text, text.size() + 1);
  const Parsed pieces = parse(text, piece);
  require(refrain::fuzz::one_line(whole.error), "an error is one line", whole.error);
  require(whole.error == pieces.error, "errors do not depend on the pieces", pieces.error);
  if (!whole.error.empty()) return 0;
  require(whole.symbols == pieces.symbols, "symbols do not depend on the pieces");
  require(whole.lines == pieces.lines && whole.negative == pieces.negative,
          "line counts do not depend on the pieces");
  return 0;
}
