// Where a run was when it was killed, or ended by exit() while an event was recorded.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/causes/cause_search.h"
#include "analysis/causes/cause_texts.h"

namespace refrain::analysis {

std::vector<LastSeen> CauseSearch::places_of_ends(bool exited) const {
  std::map<std::string, LastSeen> places;
  for (LocationId i; i < profile_.locations.size(); ++i) {
    const RunProfile::Location& location = profile_.locations[i];
    const RunProfile::Process& process = profile_.process_of(i);
    if (!location.primary || process.complete || process.exited != exited) continue;
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
  std::vector<LastSeen> out;
  for (auto& [where, place] : places) {
    std::ranges::sort(place.ranks);
    out.push_back(std::move(place));
  }
  std::ranges::stable_sort(out, std::greater(),
                           [](const LastSeen& place) { return place.ranks.size(); });
  return out;
}

std::string CauseSearch::places_text(const std::vector<LastSeen>& places) const {
  constexpr std::size_t kMaxPlaces = 6;  // in a sentence
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const LastSeen& place = places[i];
    if (i == kMaxPlaces) {
      text += fmt::format("; and {} more places", places.size() - i);
      break;
    }
    if (!text.empty()) text += "; ";
    if (processes_ > 1) text += ranks_text(place.ranks) + " ";
    text += place.where.empty()
                ? "in no region"
                : fmt::format("in {}, from {} on", place.where, time_text(place.since_ns));
  }
  return text;
}

std::vector<std::uint32_t> CauseSearch::ranks_without_finalize() const {
  std::vector<bool> has(processes_);
  for (const RunProfile::Path& path : profile_.paths)
    if (path.region != RunProfile::kNone &&
        profile_.regions[path.region].name == "MPI_Finalize")
      for (const RunProfile::Sums& sums : path.sums)
        has[profile_.locations[sums.location].process] = true;
  std::vector<std::uint32_t> ranks;
  for (std::size_t i = 0; i < processes_; ++i)
    if (const RunProfile::Process& process = profile_.processes[i];
        process.complete && !has[i] && process.rank != RunProfile::kNone)
      ranks.push_back(rank_of(i));
  return ranks;
}

void CauseSearch::last_seen() {
  out_.last_seen = places_of_ends(false);
  const char* const colon = processes_ > 1 ? ":" : "";
  if (!out_.last_seen.empty())
    out_.killed = fmt::format(
        "The run was killed{} {}. How much later that was is not known, and not counted",
        colon, places_text(out_.last_seen));
  const std::vector<LastSeen> exited = places_of_ends(true);
  if (!exited.empty())
    out_.exited = fmt::format(
        "The run ended by exit() while an event was recorded{} {}. What was in progress then is "
        "not counted",
        colon, places_text(exited));
  if (out_.killed.empty() && out_.exited.empty()) return;
  const std::vector<std::uint32_t> others = ranks_without_finalize();
  if (others.empty()) return;
  if (!out_.exited.empty()) out_.exited += ". ";
  out_.exited += as_sentence(ranks_text(others)) + " ended by exit() without MPI_Finalize";
}

}  // namespace refrain::analysis
