#include "writer/budget/run_settings.h"

#include <sstream>
#include <string>

namespace refrain::writer {

filters::Settings settings_of(const spool::Journal& journal) {
  filters::Settings settings;
  std::istringstream lines(journal.text(spool::kTextSettings));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    for (const filters::SettingInfo& info : filters::setting_table())
      if (line.compare(0, equals, info.name) == 0)
        set_value(settings, info, line.substr(equals + 1));
  }
  return settings;
}

LimitFacts limit_facts(const filters::Settings& settings, const WriteResult& result) {
  LimitFacts facts{
      .limit = settings.budget_bytes != 0 ? result.budget_limit : settings.limit,
      .events_seen = result.events_seen,
      .events_written = result.events_written,
      .duration_ns = result.duration_s * 1e9,
      .min_gap_ns = settings.min_gap_s * 1e9,
      .loops = {}};
  for (const LoopSummary& loop : result.loops)
    if (loop.process == 0 && loop.parent < 0)
      facts.loops.push_back({.name = loop.name,
                             .visits = loop.visits,
                             .iterations = loop.iterations,
                             .written = loop.written + loop.partly,
                             .total_ns = loop.total_ns});
  return facts;
}

}  // namespace refrain::writer
