// Numbers the places in the code where tasks are created, so that a task's word can
// contain one.
//
// Thread-safety: any thread, no lock. Cost: a hash look-up; allocates nothing. Site 0 is "unknown":
// no address, or no room for it.
#pragma once

#include <cstdint>

#include "base/append_only_map.h"

namespace refrain::ompt {

class TaskSites {
 public:
  std::uint16_t number(std::uint64_t address) noexcept {
    if (address == 0) [[unlikely]]
      return 0;
    static_assert(Map::kNone + 1 == 0);
    return static_cast<std::uint16_t>(sites_.index_of(address) + 1);
  }
  std::uint64_t address(std::uint16_t site) const noexcept {
    return site == 0 ? 0 : sites_[site - std::size_t{1}].key();
  }

 private:
  struct Nothing {};
  using Map = base::AppendOnlyMap<std::uint64_t, Nothing, 1 << 15, 64>;
  Map sites_;
};

}  // namespace refrain::ompt
