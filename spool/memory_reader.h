// What a process allocated, from its file (memory_format.h).
//
// Place in the flow: ARCHITECTURE.md, stage 5. The process may still run, or have been killed.
// Thread-safety: pure. Ownership: plain values.
// Errors: all of the file is checked; without one nothing was counted. Cost: linear in the file, 1.7 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/memory_use.h"
#include "base/result.h"

namespace refrain::spool {

struct MemoryTable {
  struct Path {
    std::vector<std::uint64_t> frames;  // where calls return to, the allocator's first
    base::MemoryUse use;
  };
  base::MemoryCalls totals;  // without places and paths
  std::vector<Path> paths;   // as they lie in the file

  bool empty() const noexcept { return totals.from_bytes == 0; }
};

// Of a process' directory; empty: it has none.
base::Result<MemoryTable> read_memory(const std::string& folder);
// The same of a file in memory; `name` is for messages.
base::Result<MemoryTable> read_memory(std::span<const std::byte> file,
                                      const std::string& name);

}  // namespace refrain::spool
