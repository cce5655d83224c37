#include "tools/command/sampled_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "loops/samples/detected_loops.h"
#include "loops/samples/sampled_profile.h"

namespace refrain::tools {
namespace {

// What the detector found in these processes, by the place in the source. Where the loop around another one has the same
// place (iterations of several kinds in turn), only the outer one.
std::vector<loops::DetectedLoop> detected_in(
    const std::vector<loops::PlacedSamples>& processes, const analysis::ArchiveInfo& info) {
  std::set<std::uint32_t> sampled;
  for (const loops::PlacedSamples& process : processes) sampled.insert(process.process);
  using Place = std::pair<std::string, std::uint32_t>;
  std::map<Place, loops::DetectedLoop> by_place;
  const auto place_of = [](const analysis::PhaseInfo& phase) {
    return Place{phase.file, phase.line};
  };
  for (const analysis::PhaseInfo& phase : info.phases) {
    if (phase.line == 0 || phase.iterations == 0 || !sampled.contains(phase.process))
      continue;
    const auto lies_in = [&](const analysis::PhaseInfo& other) {
      return other.process == phase.process && phase.parent == std::int64_t{other.id} &&
             place_of(other) == place_of(phase);
    };
    if (std::ranges::any_of(info.phases, lies_in)) continue;
    loops::DetectedLoop& loop = by_place[place_of(phase)];
    if (loop.iterations == 0) {
      loop.number = phase.id;
      loop.name = phase.name;
      loop.file = phase.file;
      loop.line = phase.line;
    }
    loop.iterations += phase.iterations;
    loop.elapsed_ns += phase.total_ns;
  }
  std::vector<loops::DetectedLoop> found;
  found.reserve(by_place.size());
  for (auto& [place, loop] : by_place) found.push_back(std::move(loop));
  return found;
}

}  // namespace

loops::LoopProfile sampled_loops(const std::vector<loops::PlacedSamples>& processes,
                                 const analysis::ArchiveInfo& info) {
  loops::LoopProfile profile = loops::sampled_profile(processes);
  profile.detected = loops::joined_loops(profile, processes, detected_in(processes, info));
  return profile;
}

}  // namespace refrain::tools
