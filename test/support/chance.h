// Chance in a symbol stream: effects of timing on the calls of a program.
#pragma once

#include <cstdint>

#include "test/support/streams.h"

namespace refrain::test {

enum class ChanceKind {
  kOptional,  // a call that is left out because nothing is left to wait for
  kSwapped,   // one that is swapped with a neighbour
  kRepeated,  // one that is repeated
  kMixed,     // all of these
};
const char* text(ChanceKind kind);

struct Chance {
  ChanceKind kind;
  double probability;         // for each call that depends on timing
  std::uint64_t program = 0;  // selects the symbols that do: the same on all ranks
  std::uint64_t run = 0;      // selects when; differs from rank to rank
};

// A third of the symbols.
bool depends_on_timing(std::uint64_t symbol, const Chance& chance);

Stream with_chance(const Stream& stream, const Chance& chance);
// The stream without the symbols that depend on timing.
Stream without_timing(const Stream& stream, const Chance& chance);

}  // namespace refrain::test
