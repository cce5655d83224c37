// Input: the summary of a process, as in an archive's folder.
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/profile_totals.h"
#include "analysis/run_profile.h"
#include "base/run_summary.h"
#include "test/fuzz/fuzz.h"
#include "tools/command/profile_data.h"
#include "tools/command/profile_screen.h"

namespace {

using namespace refrain;

// Modulo 2^64, for the numbers may be anything.
std::uint64_t accounted(const analysis::RunProfile& profile, std::uint32_t location) {
  const auto& at = profile.locations[location];
  std::uint64_t sum =
      static_cast<std::uint64_t>(at.outside) + static_cast<std::uint64_t>(at.elsewhere);
  for (const auto& path : profile.paths)
    for (const auto& each : path.sums)
      if (each.location == location)
        sum += static_cast<std::uint64_t>(each.own) +
               static_cast<std::uint64_t>(each.management) +
               static_cast<std::uint64_t>(each.elsewhere);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  base::RunSummary summary;
  try {
    summary = base::summary_from_text(text);
  } catch (const std::exception& problem) {
    fuzz::require(fuzz::one_line(problem.what()), "an error is one line", problem.what());
    return 0;
  }
  fuzz::require(base::summary_from_text(base::to_text(summary)) == summary,
                "what is written is what was read");
  tools::ProfiledRun run;
  run.profile = analysis::merge_summaries({summary, summary});
  run.totals = analysis::total(run.profile);
  for (std::uint32_t i = 0; i < run.profile.locations.size(); ++i)
    fuzz::require(accounted(run.profile, i) == run.profile.time_of(i),
                  "all of a location's time is somewhere");
  fuzz::require(
      !nlohmann::json::parse(tools::profile_json(run), nullptr, false).is_discarded(),
      "JSON");
  fuzz::require(!tools::profile_csv(run).empty(), "CSV");
  fuzz::require(!tools::profile_screen(run, {.all = true}).empty(), "text");
  return 0;
}
