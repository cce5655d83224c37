// The times of a thread by class, as the command's JSON has them.
//
// Thread-safety: any thread. Errors: none. Ownership: plain values.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/profile/run_profile.h"

namespace refrain::tools {

// {"useful_ns": 1.5e9, ...}
inline nlohmann::ordered_json class_times_json(const analysis::ClassTimes& times) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < times.size(); ++i)
    out[std::string(analysis::class_name(static_cast<analysis::TimeClass>(i))) + "_ns"] =
        times[i];
  return out;
}

}  // namespace refrain::tools
