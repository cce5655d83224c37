// The open regions of a location, and what their owner knows of each.
//
// A leave ends the innermost enter of its region, and what is open inside of it; of a region that is not open it ends
// nothing. To search for that from the innermost one on costs as much as it ends, unless the region is not open at all: then
// all of the stack was looked at. After the first such leave the open regions are counted, so that the next one is known at once.
// Place in the flow: used by those who read events. Thread-safety: none. Cost: that of a vector until then; after
// that a look-up in a table for each enter and leave, memory for each region that is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace refrain::base {

// Frame has `region`.
template <class Frame>
class RegionStack {
 public:
  // From the outermost one on.
  bool empty() const { return frames_.empty(); }
  std::size_t size() const { return frames_.size(); }
  Frame& operator[](std::size_t depth) { return frames_[depth]; }
  const Frame& operator[](std::size_t depth) const { return frames_[depth]; }
  Frame& back() { return frames_.back(); }
  const Frame& back() const { return frames_.back(); }
  auto rbegin() const { return frames_.rbegin(); }
  auto rend() const { return frames_.rend(); }

  void push(Frame frame) {
    if (counted_) ++counts_[frame.region];
    frames_.push_back(std::move(frame));
  }
  Frame pop() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (counted_) uncount(frame.region);
    return frame;
  }
  void remove(std::size_t depth) {
    if (counted_) uncount(frames_[depth].region);
    frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(depth));
  }

  // How many a leave of this region ends, itself among them. 0: it is not open.
  std::size_t ended_by(std::uint32_t region) {
    if (counted_ && !counts_.contains(region)) return 0;
    for (std::size_t depth = frames_.size(); depth-- > 0;)
      if (frames_[depth].region == region) return frames_.size() - depth;
    counted_ = true;
    for (const Frame& frame : frames_) ++counts_[frame.region];
    return 0;
  }

 private:
  void uncount(std::uint32_t region) {
    const auto found = counts_.find(region);
    if (--found->second == 0) counts_.erase(found);
  }

  std::vector<Frame> frames_;
  bool counted_ = false;
  std::unordered_map<std::uint32_t, std::uint32_t> counts_;  // open ones, by region
};

}  // namespace refrain::base
