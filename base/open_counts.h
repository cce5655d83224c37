// Says if a region is open on a location, where its stack of open regions would have to be searched for nothing.
//
// A leave ends the innermost enter of its region, and what is open inside of it. To search for that from the innermost
// one on costs as much as it ends, unless the region is not open at all: then all of the stack was looked at. After the first
// such leave the open regions of the location are counted, so that the next one is known at once.
// Place in the flow: used by those who keep such a stack. Thread-safety: none. Cost: nothing until then; after
// that a look-up in a table for each enter and leave, memory for each region that is open.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace refrain::base {

class OpenCounts {
 public:
  // One more, or one less: with each change of the stack.
  void entered(std::uint32_t region) {
    if (counts_) ++(*counts_)[region];
  }
  void left(std::uint32_t region) {
    if (!counts_) return;
    const auto found = counts_->find(region);
    if (--found->second == 0) counts_->erase(found);
  }
  // False: the stack has to be searched.
  bool is_closed(std::uint32_t region) const {
    return counts_ && !counts_->contains(region);
  }
  // It was, for nothing. `each(count)` calls count(region) for each open one.
  template <typename Each>
  void searched(const Each& each) {
    if (counts_) return;
    counts_ = std::make_unique<std::unordered_map<std::uint32_t, std::uint32_t>>();
    each([this](std::uint32_t region) { ++(*counts_)[region]; });
  }

 private:
  std::unique_ptr<std::unordered_map<std::uint32_t, std::uint32_t>> counts_;
};

}  // namespace refrain::base
