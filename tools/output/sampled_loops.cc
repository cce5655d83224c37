#include "tools/output/sampled_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "code_profile/samples/sampled_profile.h"

namespace refrain::tools {
namespace {

constexpr std::size_t kDeepest = 1000;

// What the detector found in these processes, by the place in the source. Where the loop around another one has the same
// place (iterations of several kinds in turn), only the outer one.
std::vector<code_profile::DetectedLoop> detected_in(
    const std::vector<code_profile::PlacedSamples>& processes,
    const analysis::ArchiveInfo& info) {
  std::set<std::uint32_t> sampled;
  for (const code_profile::PlacedSamples& process : processes)
    sampled.insert(process.process);
  using Place = std::pair<std::string, std::uint32_t>;
  std::map<Place, code_profile::DetectedLoop> by_place;
  const auto place_of = [](const analysis::PhaseInfo& phase) {
    return Place{phase.file, phase.line};
  };
  std::map<std::pair<std::uint32_t, std::int64_t>, const analysis::PhaseInfo*> known;
  for (const analysis::PhaseInfo& phase : info.phases)
    known.emplace(std::pair{phase.process, std::int64_t{phase.id}}, &phase);
  const auto around = [&](const analysis::PhaseInfo& phase) {
    const auto found = known.find({phase.process, phase.parent});
    return found == known.end() ? nullptr : found->second;
  };
  // Of a damaged archive, loops may lie in each other in a circle.
  const auto lies_in_itself = [&](const analysis::PhaseInfo& phase) {
    std::size_t steps = 0;
    for (const analysis::PhaseInfo* outer = around(phase);
         outer != nullptr && steps++ < kDeepest; outer = around(*outer))
      if (place_of(*outer) == place_of(phase)) return true;
    return false;
  };
  for (const analysis::PhaseInfo& phase : info.phases) {
    if (phase.line == 0 || phase.iterations == 0 || !sampled.contains(phase.process) ||
        lies_in_itself(phase))
      continue;
    code_profile::DetectedLoop& loop = by_place[place_of(phase)];
    if (loop.iterations == 0) {
      loop.number = phase.id;
      loop.name = phase.name;
      loop.file = phase.file;
      loop.line = phase.line;
    }
    loop.iterations += phase.iterations;
    loop.elapsed_ns += phase.total_ns;
  }
  std::vector<code_profile::DetectedLoop> found;
  found.reserve(by_place.size());
  for (auto& [place, loop] : by_place) found.push_back(std::move(loop));
  return found;
}

// Loops with calls of MPI in an iteration; of which nothing is known but that the program has some, all.
std::vector<code_profile::DetectedLoop> communicating(const analysis::ArchiveInfo& info) {
  std::vector<code_profile::DetectedLoop> found;
  for (const analysis::PhaseInfo& phase : info.phases) {
    const bool calls = phase.body.empty()
                           ? info.mpi.used
                           : std::ranges::any_of(phase.body, [](const std::string& region) {
                               return region.starts_with("MPI_");
                             });
    if (!calls) continue;
    code_profile::DetectedLoop& loop = found.emplace_back();
    loop.file = phase.file;
    loop.line = phase.line;
    // Without a line, an offset is behind the name.
    loop.function = phase.function.substr(0, phase.function.rfind("+0x"));
  }
  return found;
}

}  // namespace

base::Result<code_profile::LoopProfile> sampled_loops(
    const std::vector<code_profile::PlacedSamples>& processes,
    const base::Result<analysis::ArchiveInfo>& info) {
  auto profile = code_profile::sampled_profile(processes);
  if (!profile) return profile;
  if (info) {
    profile->detected =
        code_profile::joined_loops(*profile, processes, detected_in(processes, *info));
    profile->communicating = communicating(*info);
  } else {
    profile->complaints.push_back("detected loops are unknown: " + info.error());
  }
  return profile;
}

}  // namespace refrain::tools
