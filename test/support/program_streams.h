// Artificial programs of the kinds that do not simply repeat, and what an ideal detector
// would skip of them: for tests and measurements of the nested detector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/support/streams.h"

namespace refrain::test {

struct ProgramStream {
  Stream symbols;
  std::vector<std::uint64_t> iterations;  // where those of the main loop began
  std::uint64_t end = 0;                  // where the main loop ended

  // The share of events after the first `limit` iterations of the main loop, up to its
  // end: what could be skipped if the source were known.
  double best(std::uint64_t limit) const;
};

// Names of the kinds, each a way in which iterations of real programs differ.
const std::vector<std::string>& program_kinds();

// A program of this kind, its sizes and its iterations chosen at random by `seed`: some
// hundred iterations of its main loop between a prologue and an epilogue. Throws if there is
// no such kind.
ProgramStream program_stream(const std::string& kind, std::uint64_t seed);

}  // namespace refrain::test
