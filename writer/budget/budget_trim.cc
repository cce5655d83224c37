#include "writer/budget/budget_trim.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "exchange/tree.h"
#include "filters/rolling_limit.h"
#include "writer/model/process_model.h"

namespace refrain::writer {
namespace {

// Bytes of the anchor file, the definitions that all processes share, and the fixed part of
// profile.cubex.
constexpr std::uint64_t kArchiveBytes = 12'000;

// Maximum distances of cuts from the start or the end of an iteration, by these times.
std::map<std::uint64_t, std::uint64_t> slacks(const ProcessModel& process) {
  std::map<std::uint64_t, std::uint64_t> out;
  spool::IterationStream stream(process.journal(), process.context().iteration_ends);
  for (const auto* event = stream.peek(); event != nullptr;
       stream.pop(), event = stream.peek()) {
    if (event->left || event->end_ticks == spool::kNoEnd) continue;
    const std::uint64_t slack = slack_of(event->ticks, event->end_ticks);
    for (const std::uint64_t edge : {event->ticks, event->end_ticks}) {
      const auto [at, is_new] = out.emplace(edge, slack);
      if (!is_new) at->second = std::min(at->second, slack);
    }
  }
  return out;
}

}  // namespace

BudgetTrim::BudgetTrim(const ProcessModel& process, const filters::Settings& settings)
    : process_(process), cost_(process), replay_(process, cost_, settings) {}

std::uint64_t BudgetTrim::bytes(std::uint64_t iteration_limit) const {
  const ReplayedLimit replayed = replay_.with(iteration_limit);
  const std::uint64_t frame = cost_.definitions() + replayed.marks * ArchiveCost::kMark;
  if (!process_.wanted()) return frame + cost_.gap();
  std::uint64_t bytes = frame + cost_.all() + process_.gaps().gaps.size() * cost_.gap();
  for (const ReplayedLimit::Interval& interval : replayed.skipped) {
    if (is_short(interval)) continue;
    bytes -= std::min(bytes, cost_.between(interval.begin, interval.end));
    // One gap takes the place of those that the run made there.
    bytes -= std::min(bytes, gaps_from(interval) * cost_.gap());
    bytes += cost_.gap();
  }
  return bytes;
}

std::uint64_t BudgetTrim::gaps_from(
    const ReplayedLimit::Interval& interval) const noexcept {
  const std::vector<Gap>& gaps = process_.gaps().gaps;
  const auto first_at = [&gaps](std::uint64_t ticks) {
    return std::lower_bound(
        gaps.begin(), gaps.end(), ticks,
        [](const Gap& gap, std::uint64_t at) { return gap.suspend_ticks < at; });
  };
  return static_cast<std::uint64_t>(first_at(interval.end) - first_at(interval.begin));
}

std::vector<Gap> BudgetTrim::gaps(std::uint64_t iteration_limit) const {
  const CutEdges edges(process_);
  const std::map<std::uint64_t, std::uint64_t> near = slacks(process_);
  const auto slack = [&near](std::uint64_t ticks) {
    const auto found = near.find(ticks);
    return found == near.end() ? 0 : found->second;
  };
  std::vector<Gap> gaps;
  for (const ReplayedLimit::Interval& interval : replay_.with(iteration_limit).skipped) {
    if (is_short(interval)) continue;
    CutEdges::add_gap(gaps, edges.at(interval.begin, slack(interval.begin), true),
                      edges.at(interval.end, slack(interval.end), false),
                      spool::kGapIterations,
                      interval.broke ? spool::kGapBreak : spool::kGapIterations);
  }
  return gaps;
}

BudgetSum merge(BudgetSum a, const BudgetSum& b) {
  return {a.bytes + b.bytes, std::max(a.most_iterations, b.most_iterations)};
}

void put(exchange::ByteWriter& out, const BudgetSum& sum) {
  out.number(sum.bytes);
  out.number(sum.most_iterations);
}

void take(exchange::ByteReader& in, BudgetSum& sum) {
  sum.bytes = in.number();
  sum.most_iterations = in.number();
}

std::uint64_t rows_budget(std::uint64_t budget_bytes, std::uint64_t processes,
                          std::uint64_t models) noexcept {
  constexpr std::uint64_t kShare = 8;
  return budget_bytes / kShare / std::max<std::uint64_t>({processes, models, 1});
}

std::uint64_t fit_budget(exchange::Exchange& exchange,
                         std::vector<std::unique_ptr<ProcessModel>>& models,
                         std::uint64_t budget_bytes) {
  if (budget_bytes == 0) return 0;
  std::vector<std::unique_ptr<BudgetTrim>> trims;
  std::vector<ProcessModel*> trimmed;
  for (const auto& model : models) {
    if (model->blank()) continue;
    trims.push_back(std::make_unique<BudgetTrim>(*model, settings_of(model->journal())));
    trimmed.push_back(model.get());
  }
  const std::uint64_t most_rows = rows_budget(budget_bytes, exchange.size(), models.size());
  const auto sum = [&](std::uint64_t iteration_limit) {
    BudgetSum own;
    for (const auto& trim : trims)
      own = merge(own, {trim->bytes(iteration_limit) + std::min(trim->rows(), most_rows),
                        trim->most_iterations()});
    BudgetSum all = exchange::agree(exchange, own);
    all.bytes += kArchiveBytes;
    return all;
  };
  const BudgetSum recorded = sum(filters::RollingLimit::kUnlimited);
  if (recorded.bytes <= budget_bytes || recorded.most_iterations < 2) return 0;
  // The largest limit that fits; 1 in any case.
  std::uint64_t fits = 1;
  std::uint64_t too_many = recorded.most_iterations;
  while (too_many - fits > std::max<std::uint64_t>(1, fits / 64)) {
    const double between =
        std::sqrt(static_cast<double>(fits) * static_cast<double>(too_many));
    const std::uint64_t middle =
        std::clamp(static_cast<std::uint64_t>(between), fits + 1, too_many - 1);
    (sum(middle).bytes <= budget_bytes ? fits : too_many) = middle;
  }
  for (std::size_t i = 0; i < trims.size(); ++i) trimmed[i]->widen(trims[i]->gaps(fits));
  return fits;
}

filters::Settings settings_of(const spool::Journal& journal) {
  filters::Settings settings;
  std::istringstream lines(journal.text(spool::kTextSettings));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    for (const filters::SettingInfo& info : filters::setting_table())
      if (line.compare(0, equals, info.name) == 0)
        // What the run took is kept; a damaged journal leaves the default.
        (void)set_value(settings, info, line.substr(equals + 1));
  }
  return settings;
}

}  // namespace refrain::writer
