// The root causes of two runs, side by side.
//
// Place in the flow: ARCHITECTURE.md, stage 7, for `refrain compare`. Thread-safety: pure. Units: seconds of all threads; shares as
// in root_causes.h. Causes are the same if their kind, place and ranks are; several of one run that are, are one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/causes/root_causes.h"

namespace refrain::tools {

struct ComparedCause {
  std::string title;  // what, who, where
  double a_seconds = 0, b_seconds = 0;
  double a_share = 0, b_share = 0;
};

// Those with the largest difference first.
std::vector<ComparedCause> compare_causes(const analysis::Conclusions& a,
                                          const analysis::Conclusions& b);
std::vector<std::string> compared_causes_screen(const std::vector<ComparedCause>& causes);
nlohmann::ordered_json compared_causes_value(const std::vector<ComparedCause>& causes);

}  // namespace refrain::tools
