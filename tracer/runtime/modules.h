// The executable mappings of the process, as texts for the journal: what a later reader
// needs to turn code addresses into names.
//
// Place in the flow: ARCHITECTURE.md, step 2. Thread-safety: one thread at a time; takes
// the loader's lock for a moment. Not for signal handlers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::runtime {

class Modules {
 public:
  // Looks at what is loaded now and returns a text for each mapping not seen before:
  // "start end offset build-id path" (see spool::kTextModule).
  std::vector<std::string> scan_new();

  // Whether this address is in a known mapping.
  bool covers(std::uint64_t address) const noexcept;

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    std::string text;
  };
  std::vector<Range> ranges_;
};

}  // namespace refrain::runtime
