// The samples of a process' call stacks, from its file (sample_format.h): a tree of code addresses.
//
// Place in the flow: ARCHITECTURE.md, stage 5; for code_profile/samples. The process may still run, or have been killed.
// Thread-safety: pure. Ownership: plain values.
// Errors: all of the file is checked: of what is returned, parents come before their children.
// Throws only when memory runs out. Cost: linear in the file, which is at most 1.5 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace refrain::spool {

struct SampleTree {
  struct Node {
    std::uint64_t address = 0;  // with kInnermost; of a thread: its number
    std::uint32_t parent = 0;   // index, smaller than its own; 0: a thread
    std::uint64_t samples = 0;  // in this very frame
  };

  std::uint64_t pid = 0;
  std::uint64_t period_ns = 0;
  std::uint64_t taken = 0, shortened = 0, lost = 0, missed = 0, not_followed = 0;
  std::uint32_t threads = 0, threads_without = 0;
  bool ended = false;       // regularly
  std::vector<Node> nodes;  // 0: the root; no two with one parent and address
};

base::Result<SampleTree> read_samples(const std::string& path);
// The same of a file in memory; `name` is for messages.
base::Result<SampleTree> read_samples(std::span<const std::byte> file,
                                      const std::string& name);

}  // namespace refrain::spool
