// Where a run was when it was killed.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/causes/cause_search.h"
#include "analysis/causes/cause_texts.h"

namespace refrain::analysis {

void CauseSearch::last_seen() {
  constexpr std::size_t kMaxPlaces = 6;  // in a sentence
  std::map<std::string, LastSeen> places;
  for (LocationId i; i < profile_.locations.size(); ++i) {
    const RunProfile::Location& location = profile_.locations[i];
    if (!location.primary || profile_.process_of(i).complete) continue;
    const bool inside = location.killed_in != RunProfile::kNone;
    const std::string where =
        inside ? path_name(profile_, PathId(location.killed_in)) : std::string();
    const double since =
        inside ? profile_.nanoseconds(i, static_cast<double>(location.killed_since)) : 0;
    LastSeen& place = places[where];
    if (place.ranks.empty() || since < place.since_ns) place.since_ns = since;
    place.where = where;
    place.ranks.push_back(rank_of(location.process));
  }
  if (places.empty()) return;
  for (auto& [where, place] : places) {
    std::ranges::sort(place.ranks);
    out_.last_seen.push_back(std::move(place));
  }
  std::ranges::stable_sort(out_.last_seen, std::greater(),
                           [](const LastSeen& place) { return place.ranks.size(); });
  std::string text;
  for (std::size_t i = 0; i < out_.last_seen.size(); ++i) {
    const LastSeen& place = out_.last_seen[i];
    if (i == kMaxPlaces) {
      text += fmt::format("; and {} more places", out_.last_seen.size() - i);
      break;
    }
    if (!text.empty()) text += "; ";
    if (processes_ > 1) text += ranks_text(place.ranks) + " ";
    text += place.where.empty()
                ? "in no region"
                : fmt::format("in {}, from {} on", place.where, time_text(place.since_ns));
  }
  out_.killed = fmt::format(
      "The run was killed{} {}. How much later that was is not known, and not counted",
      processes_ > 1 ? ":" : "", text);
}

}  // namespace refrain::analysis
