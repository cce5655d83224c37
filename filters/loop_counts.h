// LoopCounts: how many iterations a loop has had, how long they took, and the one that runs.
//
// Place in the flow: inside IterationGate, one a loop; where they lie is the GateSink's business (the tracer
// has them in a mapped file, spool/loop_table_format.h, so that other processes can read them).
// Thread-safety: one owner; who reads meanwhile finds numbers that are at most one iteration apart.
// Units: ticks of the caller's clock. Cost: eight stores an iteration. Memory: 192 bytes a loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace refrain::filters {

struct LoopCounts {
  static constexpr std::size_t kRecent = 16;  // a power of two

  std::uint64_t iterations = 0;  // complete ones
  std::uint64_t total_ticks = 0;
  std::uint64_t least_ticks = 0;  // meaningless without iterations
  std::uint64_t greatest_ticks = 0;
  std::uint64_t number = 0;       // of the latest iteration that began, in its visit
  std::uint64_t begin_ticks = 0;  // of that; 0: none runs
  std::array<std::uint64_t, kRecent> recent_ticks{};  // durations, at number modulo kRecent

  void begin(std::uint64_t iteration, std::uint64_t ticks) noexcept {
    number = iteration;
    begin_ticks = ticks;
  }
  void end(std::uint64_t duration_ticks) noexcept {
    recent_ticks[iterations % kRecent] = duration_ticks;
    if (iterations == 0 || duration_ticks < least_ticks) least_ticks = duration_ticks;
    if (duration_ticks > greatest_ticks) greatest_ticks = duration_ticks;
    total_ticks += duration_ticks;
    ++iterations;
    begin_ticks = 0;
  }
};

}  // namespace refrain::filters
