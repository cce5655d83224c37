// OpenLoops: the nest of open loops, and how far each of them has come.
//
//     [loop 7: iteration 12, item 3]   the outermost, level 0
//     [loop 5: iteration 2, item 1]    the innermost: the next event is compared with its item
//
// Place in the flow: inside NestedDetector, which opens and closes loops; LoopReporter reads it.
// Thread-safety: none. Cost: O(1), put_back() O(items of the iteration); allocates in the
// constructor only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "periodicity/nested/body_store.h"
#include "periodicity/nested/kept_events.h"
#include "periodicity/nested/token.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

struct OpenLoop {
  std::uint32_t body = 0;
  std::uint32_t item = 0;        // the next one
  std::uint32_t inner_base = 0;  // where its inner loops begin in the stack of them
  std::uint32_t visit = 0;
  bool begun = false;  // this iteration has had an event
  bool reported = false;
  std::uint64_t first = 0;  // where the first iteration began
  std::uint64_t iteration_begin = 0;
  std::uint64_t iterations = 0;  // complete ones
};

class OpenLoops {
 public:
  static constexpr std::size_t kMax = 16;

  // `bodies` is not owned and outlives this.
  OpenLoops(const BodyStore& bodies, std::uint32_t max_body_tokens)
      : bodies_(bodies), loops_(kMax), inner_(kMax * (max_body_tokens + std::size_t{1})) {}

  bool empty() const noexcept { return depth_ == 0; }
  bool full() const noexcept { return depth_ == kMax; }
  std::size_t depth() const noexcept { return depth_; }
  OpenLoop& operator[](std::size_t level) noexcept { return loops_[level]; }
  const OpenLoop& operator[](std::size_t level) const noexcept { return loops_[level]; }
  OpenLoop& innermost() noexcept { return loops_[depth_ - 1]; }

  OpenLoop& open(std::uint32_t body) noexcept {
    OpenLoop& loop = loops_[depth_++];
    loop = OpenLoop{.body = body, .inner_base = inner_count_};
    return loop;
  }
  void close_innermost() noexcept { --depth_; }

  // The loop's next item has come; if it is an inner loop, this is the visit.
  void advance(OpenLoop& loop, const Token* inner) noexcept {
    ++loop.item;
    if (inner != nullptr) inner_[inner_count_++] = *inner;
  }
  void end_iteration(OpenLoop& loop) noexcept {
    ++loop.iterations;
    loop.item = 0;
    loop.begun = false;
    forget_inner(loop);
  }
  // Forgets the inner loops of its iteration.
  void forget_inner(const OpenLoop& loop) noexcept { inner_count_ = loop.inner_base; }
  void forget_inner() noexcept { inner_count_ = 0; }
  // How many inner loops iterations can have had, over all levels.
  std::size_t most_inner() const noexcept { return inner_.size(); }

  // The innermost loop is reported when this many items of its first iteration have come.
  std::uint32_t report_after(const OpenLoop& loop) const noexcept {
    const std::uint32_t size = bodies_[loop.body].size;
    const bool late = depth_ > 1 || bodies_.ambiguous(loop.body);
    return late ? size : std::min(size, 4 + size / 4);
  }

  // Puts what there is of the innermost loop's iteration, which ends before `end`, in front of
  // `pending`, to be read again.
  void put_back(const OpenLoop& loop, std::uint64_t end, const KeptEvents& kept,
                TokenDeque& pending) const noexcept;

 private:
  const BodyStore& bodies_;
  std::vector<OpenLoop> loops_;  // [0, depth_)
  std::size_t depth_ = 0;
  ZeroedArray<Token> inner_;  // inner loops of the iterations of all open loops, stacked
  std::uint32_t inner_count_ = 0;
};

}  // namespace refrain::periodicity
