// What the next symbol has to do besides the usual, as bits of one word: the only thing that the path
// of every symbol has to look at.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: any thread. What the bits announce is
// protected by whoever owns it. Cost: an atomic operation, to look a plain load.
#pragma once

#include <atomic>

namespace refrain::runtime {

class WaitingWork {
 public:
  static constexpr unsigned kCallChains = 1;  // CodePlaces wants the callers of events

  unsigned bits() const noexcept { return bits_.load(std::memory_order_relaxed); }
  void add(unsigned bits) noexcept { bits_.fetch_or(bits, std::memory_order_relaxed); }
  void remove(unsigned bits) noexcept { bits_.fetch_and(~bits, std::memory_order_relaxed); }

 private:
  std::atomic<unsigned> bits_{0};
};

}  // namespace refrain::runtime
