// FunctionTable: what is known of each instrumented function: whether it is recorded, and what
// its calls took so far.
//
// Place in the flow: ARCHITECTURE.md, stage 2, next to functions.cc.
// Thread-safety: any thread, no lock. Memory: fixed, 2 MiB that are touched only as far as there
// are functions; never freed.
// Errors: null if the table is full. Cost: find() a hash and, mostly, one comparison.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/append_only_map.h"

namespace refrain::user {

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

}  // namespace refrain::user
