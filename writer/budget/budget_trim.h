// Keeps an archive within the user's size limit: finds the iteration limit with which it
// fits, the same for all processes, and leaves out what that would have skipped.
//
// Place in the flow: ARCHITECTURE.md, step 7, before the ranks' cut (rank_cuts.h). While the
// program ran, more was recorded than fits (filters/rolling_limit.h).
// Sizes are estimates (archive_cost.h). What not all ranks have is left out later, which
// makes the archive smaller.
// Thread-safety: one thread calls. Ownership: the models must live longer.
// Cost: a pass over the records, and about ten over the iterations.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "writer/budget/limit_replay.h"
#include "writer/exchange/bytes.h"
#include "writer/exchange/exchange.h"

namespace refrain::writer {

class BudgetTrim {
 public:
  BudgetTrim(const ProcessModel& process, const filters::Settings& settings);

  // Bytes of the process' part of the archive.
  std::uint64_t bytes(std::uint64_t limit) const;
  // What is left out besides what was not recorded.
  std::vector<Gap> gaps(std::uint64_t limit) const;
  std::uint64_t most_iterations() const noexcept { return replay_.most_iterations(); }

 private:
  // Not worth a gap.
  bool is_short(const ReplayedLimit::Interval& interval) const noexcept {
    return cost_.between(interval.begin, interval.end) < 2 * cost_.gap();
  }

  const ProcessModel& process_;
  ArchiveCost cost_;
  LimitReplay replay_;
};

// What processes exchange for that.
struct BudgetSum {
  std::uint64_t bytes = 0;
  std::uint64_t most_iterations = 0;  // of any loop of any process
};
BudgetSum merge(BudgetSum a, const BudgetSum& b);
void put(ByteWriter& out, const BudgetSum& sum);
void take(ByteReader& in, BudgetSum& sum);

// Trims the models to `budget_bytes`; all processes of the exchange call it. Returns the
// chosen limit; 0: everything that was recorded fits.
std::uint64_t fit_budget(Exchange& exchange,
                         std::vector<std::unique_ptr<ProcessModel>>& models,
                         std::uint64_t budget_bytes);

}  // namespace refrain::writer
