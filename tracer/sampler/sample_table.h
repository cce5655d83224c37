// The table of sampled stacks, in a mapped file: a call tree with a count for each stack.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Layout: spool/sample_format.h. What is in the file
// outlives the process, however that ends.
// Thread-safety: add() and thread() from any number of threads and from signal handlers; the
// others from one. No lock: a node is complete before an index leads to it, and a count is one atomic
// addition.
// Ownership: of the mapping, until the process ends: a handler may be in it at any time.
// Errors: open() says in one line what is wrong. When the table is full, a sample counts in the
// frame further out (SampleHeader::shortened).
// Cost: add() some 10 ns for each frame. Memory and disk: 1.5 MiB, all taken by open(); an index of
// half a MiB in memory only, of which pages are touched as the tree grows.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "spool/sample_format.h"

namespace refrain::sampler {

class SampleTable {
 public:
  // Makes the file. `capacity`: nodes, for tests.
  std::string open(const std::string& path, std::uint64_t period_ns,
                   std::uint32_t capacity = spool::kSampleNodes);

  // The node of a thread, for add(); `number`: see next_thread().
  std::uint32_t thread(std::uint32_t number) noexcept { return find_or_add(0, number); }
  std::uint32_t next_thread() noexcept { return header_->threads.fetch_add(1); }

  // One sample. `frames` innermost first, as in sample_format.h but without kInnermost; `outermost`:
  // kUnknownCaller, kDeeper, or 0 if the stack is whole. `passed`: periods since the last
  // sample, at least 1: all count here.
  void add(std::uint32_t thread, const std::uint64_t* frames, unsigned count,
           std::uint64_t outermost, std::uint64_t passed) noexcept;

  void thread_without() noexcept { header_->threads_without.fetch_add(1); }
  // No more samples come.
  void end() noexcept { header_->ended.store(1); }

 private:
  std::uint32_t find_or_add(std::uint32_t parent, std::uint64_t address) noexcept;
  std::uint32_t new_node(std::uint32_t parent, std::uint64_t address) noexcept;

  spool::SampleHeader* header_ = nullptr;
  spool::SampleNode* nodes_ = nullptr;
  std::atomic<std::uint32_t>* index_ = nullptr;  // 0: free
  std::uint32_t index_mask_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace refrain::sampler
