// Symbol streams for tests and benchmarks: artificial ones, and those of real programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::test {

using Stream = std::vector<std::uint64_t>;

struct NamedStream {
  std::string name;
  Stream symbols;
};

// The streams of real programs under test/streams (as seen from the root of the
// workspace), and those in the directory that REFRAIN_STREAMS names, if it is set. Never
// empty: throws if the former are missing.
std::vector<NamedStream> real_streams();

// All *.txt.gz files of a directory, by name; one integer a line.
std::vector<NamedStream> streams_in(const std::string& folder);

Stream random_stream(std::size_t size, std::uint64_t symbols, std::uint64_t seed);
Stream periodic_stream(std::size_t size, const Stream& body);
Stream fibonacci_stream(std::size_t size);   // 0 1 0 0 1 0 1 0 …: no cube of a long word
Stream thue_morse_stream(std::size_t size);  // 0 1 1 0 1 0 0 1 …: no overlap

// Replaces, inserts or drops about one symbol in `every`.
Stream perturbed(const Stream& stream, std::uint64_t every, std::uint64_t seed);

}  // namespace refrain::test
