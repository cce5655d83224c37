// Samples the call stacks of all threads: a timer for each thread's CPU time, whose signal's handler
// notes the stack.
//
// Place in the flow: ARCHITECTURE.md, stage 3; started with the session (setting `loops`), from then on
// threads get their timer when they begin (stand_ins.cc).
// Source: Moseley et al., section 2.
//
// The signal is one of the real-time signals that the program does not use when sampling starts. A
// thread that waits takes no samples, so system calls that wait are hardly ever interrupted by one.
// Thread-safety: start, stop and abandon: one thread; sample_this_thread(): any, outside of handlers.
// Errors: start_sampling() says in one line what is wrong; a thread that gets no timer is counted.
// Cost: nothing between samples. A sample: see stack_walk.h and SampleTable.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "spool/sample_format.h"

namespace refrain::sampler {

// All threads that there are, and those to come. `path`: the file to make. Once in a process.
std::string start_sampling(const std::string& path, std::uint64_t hz);

// The signal of the timers; 0: none is used. And whether a signal that came is one of theirs.
int own_signal() noexcept;
bool is_of_own_timer(const siginfo_t& info) noexcept;

// Returns true if threads are to have a timer.
bool sampling() noexcept;

// The calling thread, which has just begun.
void sample_this_thread() noexcept;

// No samples are kept from here on; idempotent.
void stop_sampling() noexcept;

// In a forked child, which has no timers: the file is the parent's.
void abandon_sampling() noexcept;

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
