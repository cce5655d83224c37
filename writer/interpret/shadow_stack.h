// The regions that are open on a location at each moment, whether they are written or not;
// keeps the archive's view balanced and its durations true across gaps.
//
// Place in the flow: ARCHITECTURE.md, stage 5: record_interpreter.h -> ShadowStack ->
// timeline.h.
// In a gap nothing is written at once. Regions that are in the archive and end inside the
// gap are remembered with their times; regions that began inside and are still open at its
// end are entered, at the time at which they truly began. Both are written, in order of
// time, between the measurement's OFF and ON.
//
// Thread-safety: none, one a location. Ownership: the Timeline must live longer.
// Cost: O(1) an event; memory for open regions, and in a gap for those that ended in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "writer/interpret/timeline.h"

namespace refrain::writer {

class ShadowStack {
 public:
  explicit ShadowStack(Timeline& timeline) : timeline_(timeline) {}

  std::size_t size() const noexcept { return frames_.size(); }
  Frame& operator[](std::size_t index) noexcept { return frames_[index]; }
  bool in_gap() const noexcept { return in_gap_; }

  // Opens at frame.begin_ticks.
  void push(Frame frame);
  // Closes the upper frames until `size` are left.
  void close_to(std::size_t size, std::uint64_t ticks);

  // Begins and ends of regions that lie in gaps and are in the archive nevertheless.
  std::uint64_t at_edges() const noexcept { return at_edges_; }

  void begin_gap(std::uint64_t ticks);
  void end_gap(std::uint64_t ticks);

  // Writes something that opens and closes nothing; not in a gap. `write` gets the sink.
  template <typename Write>
  void point(std::uint64_t ticks, Write write) {
    if (!in_gap_) write(timeline_.at(ticks));
  }
  // Likewise, but also in a gap: for the end of something that is in the archive.
  void release_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order);

 private:
  struct Edge {  // something in the archive that ended inside a gap
    bool is_lock;
    std::uint64_t ticks;
    std::uint32_t lock;
    std::uint32_t order;
    Frame frame;
  };

  Timeline& timeline_;
  std::vector<Frame> frames_;
  std::vector<Edge> edges_;
  bool in_gap_ = false;
  std::uint64_t at_edges_ = 0;
};

}  // namespace refrain::writer
