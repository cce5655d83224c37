// CallStack: which instrumented functions a thread is in, by their frames, so that frames which
// were unwound without notice (longjmp, an exception through C) are known to be over.
//
// Place in the flow: ARCHITECTURE.md, stage 2, next to functions.cc.
// A frame is identified by the address of the hook's own frame, which lies below that of the
// function that calls it. Stacks grow downwards: the caller has the higher frame. A function that
// was inlined has the frame of the one it is in, and both have one call site, for the compiler
// gives the hook the return address of the real function. A function may end at a lower frame
// than it began (alloca), or jump to the hook when its frame is gone: the hook's frame is then as
// high as the caller's, and the hook returns to where the function would. In a program that
// switches between its own stacks frames are in no order: enters and leaves are balanced then,
// but may be recorded too early.
//
// Thread-safety: one a thread. Cost: a comparison or two a call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::user {

template <typename Payload>
class CallStack {
 public:
  static constexpr std::size_t kMax = 1024;

  struct Call {
    std::uintptr_t function = 0;
    std::uintptr_t frame = 0;
    std::uintptr_t site = 0;
    Payload payload{};
  };

  bool empty() const noexcept { return depth_ == 0; }
  std::size_t depth() const noexcept { return depth_; }
  const Call& top() const noexcept { return calls_[depth_ - 1]; }
  void clear() noexcept { depth_ = beyond_ = 0; }

  // Returns true if a function that begins with this frame and call site shows the innermost one to be
  // over: the caller pops it then, and asks again.
  bool begin_ends_top(std::uintptr_t frame, std::uintptr_t site) const noexcept {
    if (depth_ == 0) return false;
    const Call& inner = top();
    return inner.frame < frame || (inner.frame == frame && inner.site != site);
  }
  // False if there is no room: the function is not followed, nor are those that it calls.
  bool push(const Call& call) noexcept {
    if (depth_ == kMax) {
      ++beyond_;
      return false;
    }
    calls_[depth_++] = call;
    return true;
  }

  // How many calls are over when this one ends, itself the last of them; 0 if it is not here.
  // `tail`: the hook was jumped to by a function that had given its frame up.
  std::size_t ended_by(std::uintptr_t function, std::uintptr_t frame, std::uintptr_t site,
                       bool tail) noexcept {
    if (beyond_ != 0) {
      if (depth_ == 0 || !is(depth_ - 1, function, frame, site, tail) ||
          (!tail && top().frame != frame)) {
        --beyond_;
        return 0;
      }
      beyond_ = 0;
    }
    for (std::size_t i = depth_; i-- > 0;)
      if (is(i, function, frame, site, tail)) return depth_ - i;
    return 0;
  }
  Call pop() noexcept { return calls_[--depth_]; }

 private:
  // Returns true if the call at `index` is what ends so.
  bool is(std::size_t index, std::uintptr_t function, std::uintptr_t frame,
          std::uintptr_t site, bool tail) const noexcept {
    const Call& call = calls_[index];
    if (call.function != function) return false;
    if (!tail) return call.frame >= frame;
    // Its caller's frame is the lowest that is left.
    return call.site == site && call.frame < frame &&
           (index == 0 || calls_[index - 1].frame >= frame);
  }

  std::size_t depth_ = 0;
  std::size_t beyond_ = 0;
  Call calls_[kMax];
};

}  // namespace refrain::user
