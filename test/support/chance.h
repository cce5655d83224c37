// Chance in a symbol stream: what timing does to the calls of a program.
#pragma once

#include <cstdint>

#include "test/support/streams.h"

namespace refrain::test {

enum class ChanceKind {
  kOptional,  // a call that is left out, for what it would wait for has come already
  kSwapped,   // one that changes places with a neighbour
  kRepeated,  // one that comes again and again
  kMixed,     // all of these
};
const char* text(ChanceKind kind);

struct Chance {
  ChanceKind kind;
  double probability;         // for each call that depends on timing
  std::uint64_t program = 0;  // decides which symbols do: the same on all ranks
  std::uint64_t run = 0;      // decides when; another on each rank
};

// A third of the symbols.
bool depends_on_timing(std::uint64_t symbol, const Chance& chance);

Stream with_chance(const Stream& stream, const Chance& chance);
// As it is when it is known what depends on timing: without that.
Stream without_timing(const Stream& stream, const Chance& chance);

}  // namespace refrain::test
