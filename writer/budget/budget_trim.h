// Keeps an archive within the user's size limit: finds the iteration limit with which it
// fits, the same for all processes, and leaves out what that would have skipped.
//
// Place in the flow: ARCHITECTURE.md, stage 5, before the ranks' cut (rank_cuts.h). While the
// program ran, more was recorded than fits (filters/rolling_limit.h).
// Sizes are estimates (limit_replay.h). What not all ranks have is left out later, which
// makes the archive smaller.
// Thread-safety: one thread calls. Ownership: the models must live longer.
// Cost: a pass over the records, and about ten over the iterations.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exchange/bytes.h"
#include "exchange/exchange.h"
#include "writer/budget/limit_replay.h"

namespace refrain::writer {

class BudgetTrim {
 public:
  BudgetTrim(const ProcessModel& process, const filters::Settings& settings);

  // Bytes of the process' part of the archive.
  std::uint64_t bytes(std::uint64_t iteration_limit) const;
  // What is left out besides what was not recorded.
  std::vector<Gap> gaps(std::uint64_t iteration_limit) const;
  std::uint64_t most_iterations() const noexcept { return replay_.most_iterations(); }
  // Of the summary's rows of iterations, which are not in bytes().
  std::uint64_t rows() const noexcept { return cost_.rows(); }

 private:
  // Not worth a gap.
  bool is_short(const ReplayedLimit::Interval& interval) const noexcept {
    return cost_.between(interval.begin, interval.end) < 2 * cost_.gap();
  }

  // Gaps of the run that begin in it.
  std::uint64_t gaps_from(const ReplayedLimit::Interval& interval) const noexcept;

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
void put(exchange::ByteWriter& out, const BudgetSum& sum);
void take(exchange::ByteReader& in, BudgetSum& sum);

// How many bytes the rows of iterations of a process may have, of a budget of the job (0: none, any
// number): an eighth is for all of them. `processes` take part in the exchange, `models` are here.
std::uint64_t rows_budget(std::uint64_t budget_bytes, std::uint64_t processes,
                          std::uint64_t models) noexcept;

// Trims the models to `budget_bytes`; all processes of the exchange call it. Returns the
// chosen limit; 0: everything that was recorded fits.
std::uint64_t fit_budget(exchange::Exchange& exchange,
                         std::vector<std::unique_ptr<ProcessModel>>& models,
                         std::uint64_t budget_bytes);

// The settings of a run, as its journal has them.
filters::Settings settings_of(const spool::Journal& journal);

}  // namespace refrain::writer
