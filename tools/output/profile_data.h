// A run's profile as JSON and as CSV, for scripts; docs/reference/profile.md says what the names mean.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after analysis/profile/run_profile.h.
// Pure. Thread-safety: none needed. Units: in the names.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/profile/run_profile.h"
#include "tools/output/profile_source.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {

// Times of all locations in ns, those of one in ticks of its process, so that they are exact. Call paths are without what
// they are on each location, which may be most of it.
nlohmann::ordered_json profile_value(const ProfiledRun& run);
// The same as a text, part by part, with `locations` of call paths.
void put_profile_json(const ProfiledRun& run, const PutText& put);
std::string profile_json(const ProfiledRun& run);

// A row for each call path and location, and one for what a location did outside of all.
void put_profile_csv(const ProfiledRun& run, const PutText& put);
std::string profile_csv(const ProfiledRun& run);

// The times of a thread by class, as the command's JSON has them.
//
// Thread-safety: any thread. Errors: none. Ownership: plain values.

// {"useful_ns": 1.5e9, ...}
inline nlohmann::ordered_json class_times_json(const analysis::ClassTimes& times) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < times.size(); ++i)
    out[std::string(analysis::class_name(static_cast<analysis::TimeClass>(i))) + "_ns"] =
        times[i];
  return out;
}

}  // namespace refrain::tools
