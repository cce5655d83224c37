// A small archive as another tool may write it, for tests: another clock resolution, holes
// in the numbers of locations, a GPU, regions without source, metrics, attributes, names
// that have to be quoted, and undefined references.
//
// Two MPI processes on two nodes. Times in ticks of 2.5 GHz from 1000 on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace refrain::reader {

inline constexpr std::uint64_t kForeignTicks = 2'500'000'000;

struct ForeignOptions {
  std::uint64_t more_enters = 0;  // pairs of enter and leave on location 7 after all else
  std::uint32_t attributes = 0;   // of each of these enters; one takes 15 bytes
  std::optional<std::uint64_t> said_events =
      {};                 // by the definitions, of each location; else as many as there are
  bool undefined = true;  // an enter of a region that is not defined
  // Not 0: an eighth of all references, ranks and counts, in definitions and events, are
  // something else, chosen by this seed: undefined, of another definition, their own.
  std::uint32_t lies = 0;
};

// Makes <directory>/traces.*.
void write_foreign_archive(const std::filesystem::path& folder,
                           const ForeignOptions& options = {});

}  // namespace refrain::reader
