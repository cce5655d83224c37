// FunctionTable: what is known of each instrumented function: whether it is recorded, and what
// its calls took so far.
//
// Place in the flow: ARCHITECTURE.md, step 2, beside functions.cc.
// Thread-safety: any thread, no lock. Memory: fixed, 2 MiB that are touched only as far as there
// are functions; never freed.
// Errors: null if the table is full. Cost: find() a hash and, mostly, one comparison.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace refrain::user {

enum class FunctionState : std::uint8_t {
  kNew,  // nobody has looked at the filter yet
  kRecorded,
  kOff,       // called too often for what it does
  kFiltered,  // the filter file says so
};

struct Function {
  std::atomic<std::uint64_t> address{0};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<FunctionState> state{FunctionState::kNew};
};

// When a function is switched off.
struct OffRule {
  std::uint64_t calls = 0;  // 0: never
  std::uint64_t mean_ticks =
      0;  // after so many calls, if they took less than this on average
};

class FunctionTable {
 public:
  Function* find(std::uint64_t address) noexcept {
    std::uint64_t at = address * 0x9E3779B97F4A7C15u >> (64 - kBits);
    for (int probes = 0; probes < kMostProbes; ++probes, at = (at + 1) % kSlots) {
      Function& function = functions_[at];
      std::uint64_t seen = function.address.load(std::memory_order_relaxed);
      if (seen == address) return &function;
      if (seen != 0) continue;
      if (function.address.compare_exchange_strong(seen, address,
                                                   std::memory_order_relaxed) ||
          seen == address)
        return &function;
    }
    return nullptr;
  }

  // Some calls of a thread have ended. True for the one call that switches the function off.
  static bool add(Function& function, std::uint64_t calls, std::uint64_t ticks,
                  const OffRule& rule) noexcept {
    const std::uint64_t all =
        function.calls.fetch_add(calls, std::memory_order_relaxed) + calls;
    const std::uint64_t sum =
        function.ticks.fetch_add(ticks, std::memory_order_relaxed) + ticks;
    if (rule.calls == 0 || all < rule.calls || sum / all >= rule.mean_ticks) return false;
    FunctionState recorded = FunctionState::kRecorded;
    return function.state.compare_exchange_strong(recorded, FunctionState::kOff);
  }

 private:
  static constexpr unsigned kBits = 16;
  static constexpr std::uint64_t kSlots = std::uint64_t{1} << kBits;
  static constexpr int kMostProbes = 256;
  std::array<Function, kSlots> functions_{};
};

}  // namespace refrain::user
