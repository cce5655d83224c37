#include "analysis/rank_phases.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace refrain::analysis {
namespace {

using Key =
    std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint16_t, std::uint64_t,
               std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t>;

// `number`: among the rank's loops that agree in everything else.
Key key_of(const PhaseInfo& phase, std::uint32_t number) {
  return {phase.file,       phase.line,    phase.id,     phase.level, phase.visits,
          phase.iterations, phase.written, phase.partly, number};
}

// Durations of the iterations of both.
void add(PhaseInfo& to, const PhaseInfo& from) {
  const auto a = static_cast<double>(to.iterations);
  const auto b = static_cast<double>(from.iterations);
  if (b == 0) return;
  const double squares = a * (to.sigma_ns * to.sigma_ns + to.mean_ns * to.mean_ns) +
                         b * (from.sigma_ns * from.sigma_ns + from.mean_ns * from.mean_ns);
  to.min_ns = a == 0 ? from.min_ns : std::min(to.min_ns, from.min_ns);
  to.max_ns = std::max(to.max_ns, from.max_ns);
  to.mean_ns = (a * to.mean_ns + b * from.mean_ns) / (a + b);
  to.sigma_ns = std::sqrt(std::max(0.0, squares / (a + b) - to.mean_ns * to.mean_ns));
  to.total_ns += from.total_ns;
  to.iterations += from.iterations;
}

}  // namespace

std::vector<RankPhase> rank_phases(const ArchiveInfo& info) {
  std::vector<RankPhase> out;
  std::map<Key, std::size_t> index_of;
  std::map<std::pair<std::uint32_t, Key>, std::uint32_t> numbers;
  for (const PhaseInfo& phase : info.phases) {
    const std::uint32_t number = numbers[{phase.process, key_of(phase, 0)}]++;
    const auto [at, is_new] = index_of.try_emplace(key_of(phase, number), out.size());
    if (is_new) {
      RankPhase& row = out.emplace_back();
      row.phase = phase;
      row.least_body = row.most_body = phase.body_events;
      row.ranks.push_back(phase.process);
      continue;
    }
    RankPhase& row = out[at->second];
    add(row.phase, phase);
    row.least_body = std::min(row.least_body, phase.body_events);
    row.most_body = std::max(row.most_body, phase.body_events);
    row.ranks.push_back(phase.process);
  }
  for (RankPhase& row : out) {
    row.phase.iterations /= row.ranks.size();  // all of them have as many
    std::sort(row.ranks.begin(), row.ranks.end());
  }
  return out;
}

bool ranks_agree(const std::vector<RankPhase>& phases, std::uint64_t ranks) {
  return std::all_of(phases.begin(), phases.end(), [ranks](const RankPhase& phase) {
    return phase.ranks.size() == ranks;
  });
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks, std::uint64_t of) {
  if (ranks.size() == of) return "all";
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (end - i > 1) text += (end - i > 2 ? "-" : ",") + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace refrain::analysis
