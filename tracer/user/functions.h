// CallStack: which instrumented functions a thread is in, by their frames, so that frames which
// were unwound without notice (longjmp, an exception through C) are known to be over.
//
// Place in the flow: ARCHITECTURE.md, stage 2, private to functions.cc.
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

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/append_only_map.h"

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

// FunctionTable: what is known of each instrumented function: whether it is recorded, and what
// its calls took so far.
//
// Place in the flow: ARCHITECTURE.md, stage 2, private to functions.cc.
// Thread-safety: any thread, no lock. Memory: fixed, 2 MiB that are touched only as far as there
// are functions; never freed.
// Errors: null if the table is full. Cost: find() a hash and, mostly, one comparison.

enum class FunctionState : std::uint8_t {
  kNew,  // the filter has not been asked yet
  kRecorded,
  kOff,       // called too often for what it does
  kFiltered,  // the filter file says so
};

struct FunctionCalls {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<FunctionState> state{FunctionState::kNew};
};

using FunctionMap = base::AppendOnlyMap<std::uint64_t, FunctionCalls, 1 << 16, 256>;
using Function = FunctionMap::Entry;  // its key is the address

// When a function is switched off.
struct OffRule {
  std::uint64_t calls = 0;  // 0: never
  std::uint64_t mean_ticks =
      0;  // after so many calls, if they took less than this on average
};

class FunctionTable {
 public:
  Function* find(std::uint64_t address) noexcept { return functions_.find_or_add(address); }

  // Some calls of a thread have ended. True for the one call that switches the function off.
  static bool add(Function& function, std::uint64_t calls, std::uint64_t ticks,
                  const OffRule& rule) noexcept {
    const std::uint64_t all =
        function.value.calls.fetch_add(calls, std::memory_order_relaxed) + calls;
    const std::uint64_t sum =
        function.value.ticks.fetch_add(ticks, std::memory_order_relaxed) + ticks;
    if (rule.calls == 0 || all < rule.calls || sum / all >= rule.mean_ticks) return false;
    FunctionState recorded = FunctionState::kRecorded;
    return function.value.state.compare_exchange_strong(recorded, FunctionState::kOff);
  }

 private:
  FunctionMap functions_;
};

// What a source of functions calls where one begins and ends on the calling thread: the compilers' hooks, and Python.
//
// Place in the flow: ARCHITECTURE.md, stage 2. `frame`, `site`: as CallStack. `tail`: the function had given its frame up.
// Thread-safety: any thread. Errors: what cannot be recorded is counted as lost.

struct FunctionThread;

// What the thread knows of functions; null if they are not recorded here and now.
FunctionThread* function_thread() noexcept;
void function_begins(FunctionThread& thread, std::uint64_t address, std::uintptr_t frame,
                     std::uintptr_t site) noexcept;
void function_ends(FunctionThread& thread, std::uint64_t address, std::uintptr_t frame,
                   std::uintptr_t site, bool tail) noexcept;

}  // namespace refrain::user
