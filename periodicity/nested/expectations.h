// Expectations: how often what comes is what came the last time after the same events.
//
// Place in the flow: inside MessageFilter, which compares a stream with and without its messages. Thread-safety: none. Cost: some 20 ns an event; fixed memory (64 KiB, touched
// when used).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "periodicity/symbol_hash.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

class Expectations {
 public:
  void clear() noexcept {
    ++search_;
    latest_.fill(0);
    misses_.fill(0);
  }

  // `counted`: it counts if it is not what was expected.
  void add(std::uint64_t id, bool counted) noexcept {
    std::uint64_t key = mix(search_);
    for (std::size_t back = 0; back != latest_.size(); ++back) {
      key = mix(key ^ latest_[back]);
      if (back != 1 && back + 1 != latest_.size()) continue;
      Entry& entry = entries_[(key >> 20) % entries_.size()];
      const bool miss = entry.context != key || entry.next != id;
      if (miss && counted) ++misses_[back == 1 ? 0 : 1];
      entry = {key, id};
    }
    std::copy_backward(latest_.begin(), latest_.end() - 1, latest_.end());
    latest_[0] = id;
  }

  // Since clear(), by the better of two: after the same two events, or after the same five.
  std::uint32_t misses() const noexcept { return std::min(misses_[0], misses_[1]); }

 private:
  struct Entry {
    std::uint64_t context;
    std::uint64_t next;
  };
  ZeroedArray<Entry> entries_{4096};
  std::uint64_t search_ = 0;
  std::array<std::uint64_t, 5> latest_{};
  std::array<std::uint32_t, 2> misses_{};
};

}  // namespace refrain::periodicity
