// RollingLimit: how many iterations of each loop to record when the size of the archive is
// given and the length of the run is not known.
//
// Place in the flow: ARCHITECTURE.md, stage 4: with a budget it lowers the limit of the policy
// while the program runs; how many iterations fit is found at the end (writer/budget/budget_trim.h).
// Everything is recorded until twice the share of the spool is used. Then N becomes half of the
// iterations of the loop with most of them, and is halved each time another share has been
// written. So the spool has enough for at least a share, N is at most twice what a share allows
// where all loops are alike, and of a run with k loops of the same size about 2 + log2(k)
// shares are recorded.
// Thread-safety: none. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace refrain::filters {

class RollingLimit {
 public:
  static constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 40;
  // The spool is larger than the archive, and differs between the processes of a job.
  static constexpr std::uint64_t kShareOfBudget = 4;

  RollingLimit() = default;
  // `budget_bytes`: of the archive; 0: there is none.
  explicit RollingLimit(std::uint64_t budget_bytes) : budget_(budget_bytes) {}

  // Returns true if lower() is to be called. `spool_bytes`: of this process, one of `processes`.
  bool due(std::uint64_t spool_bytes, std::uint64_t processes) const noexcept {
    return budget_ != 0 && limit_ > 1 && spool_bytes >= (2 + lowered_) * share(processes);
  }
  // The limit from here on. `most`: iterations that the loop with the most of them has had.
  std::uint64_t lower(std::uint64_t most) noexcept {
    ++lowered_;
    return limit_ = std::max<std::uint64_t>(1, std::min(limit_, most) / 2);
  }
  std::uint64_t limit() const noexcept { return limit_; }

 private:
  std::uint64_t share(std::uint64_t processes) const noexcept {
    return std::max<std::uint64_t>(
        1, kShareOfBudget * budget_ / std::max<std::uint64_t>(1, processes));
  }

  std::uint64_t budget_ = 0;
  std::uint64_t limit_ = kUnlimited;
  std::uint64_t lowered_ = 0;  // times
};

}  // namespace refrain::filters
