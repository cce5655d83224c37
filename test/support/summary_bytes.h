// How much of the disk and of memory the summary in a thread's spool file takes.
#pragma once

#include <cstdint>
#include <filesystem>

namespace refrain::test {

// Of the areas of call tree, event flow graph and rows of iterations.
struct SummaryBytes {
  std::uint64_t on_disk = 0;
  std::uint64_t in_memory =
      0;  // before anybody has read the file: who reads a hole makes pages
};

// Throws std::runtime_error where the file cannot be read.
SummaryBytes summary_bytes_of(const std::filesystem::path& spool_file);

}  // namespace refrain::test
