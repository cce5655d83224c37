#include "analysis/report/wait_blocks.h"

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "waits/findings.h"

namespace refrain::report {
namespace {

using analysis::RunProfile;
using waits::WaitAnalysis;

std::vector<std::uint32_t> paths_in(const WaitAnalysis& analysis,
                                    const RunProfile& profile) {
  using Key = std::tuple<std::uint32_t, std::string, std::string>;
  std::map<Key, std::uint32_t> known;
  for (std::uint32_t i = 0; i < profile.paths.size(); ++i) {
    const RunProfile::Path& path = profile.paths[i];
    if (path.region == RunProfile::kNone) continue;
    known.try_emplace({path.parent, profile.regions[path.region].name, path.site}, i);
  }
  std::vector<std::uint32_t> out(analysis.paths.size(), RunProfile::kNone);
  for (std::uint32_t i = 1; i < analysis.paths.size(); ++i) {
    const WaitAnalysis::Path& path = analysis.paths[i];
    if (path.region >= analysis.regions.size() || path.parent >= i) continue;
    // The program itself is no path of the profile.
    const std::uint32_t parent = path.parent == 0 ? RunProfile::kNone : out[path.parent];
    if (path.parent != 0 && parent == RunProfile::kNone) continue;
    const auto found = known.find({parent, analysis.regions[path.region].name, path.site});
    if (found != known.end()) out[i] = found->second;
  }
  return out;
}

}  // namespace

WaitPlaces places_in(const WaitAnalysis& analysis, const RunProfile& profile) {
  WaitPlaces places;
  places.paths = paths_in(analysis, profile);
  // Processes by rank; without ranks they are in the same order.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  for (std::uint32_t i = 0; i < profile.locations.size(); ++i) {
    const RunProfile::Location& location = profile.locations[i];
    const std::uint32_t rank = profile.process_of(i).rank;
    known.try_emplace(
        {rank == RunProfile::kNone ? location.process : rank, location.thread}, i);
  }
  for (const WaitAnalysis::Location& location : analysis.locations) {
    const std::uint32_t rank = analysis.processes[location.process].rank;
    const auto found =
        known.find({rank == waits::kNone ? location.process : rank, location.number});
    places.locations.push_back(found == known.end() ? RunProfile::kNone : found->second);
  }
  return places;
}

void add_wait_values(Blocks& blocks, const std::string& key, const WaitAnalysis& analysis) {
  std::vector<double> values;
  for (std::size_t metric = 0; metric < analysis.values.size(); ++metric)
    for (std::size_t path = 0; path < analysis.values[metric].size(); ++path) {
      const WaitAnalysis::Row& row = analysis.values[metric][path];
      for (std::size_t location = 0; location < row.size(); ++location)
        if (row[location] != 0)
          values.insert(values.end(),
                        {static_cast<double>(metric), static_cast<double>(path),
                         static_cast<double>(location),
                         analysis.seconds(static_cast<double>(row[location]))});
    }
  blocks.add(key + "analyze/values", values, {values.size() / 4, 4});
}

nlohmann::json wait_paths_value(const WaitAnalysis& analysis, const WaitPlaces& places) {
  using nlohmann::json;
  const auto or_null = [](std::uint32_t index) {
    return index == RunProfile::kNone ? json() : json(index);
  };
  json out = json::array();
  for (std::uint32_t i = 0; i < analysis.paths.size(); ++i) {
    const WaitAnalysis::Path& path = analysis.paths[i];
    const waits::Place place = waits::place_of(analysis, PathId(i));
    const bool known = path.region < analysis.regions.size();
    out.push_back({{"path", waits::path_text(analysis, PathId(i))},
                   {"parent", or_null(path.parent)},
                   {"name", known ? analysis.regions[path.region].name
                                  : waits::path_text(analysis, PathId{})},
                   {"site", path.site},
                   {"file", place.file},
                   {"line", place.line},
                   {"profile", or_null(places.paths[i])}});
  }
  return out;
}

}  // namespace refrain::report
