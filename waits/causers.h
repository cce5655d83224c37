// Who made others wait: of a finding, the processes and call paths whose delay caused it directly.
//
// Place in the flow: ARCHITECTURE.md, stage 6; from paths/delay_costs.h, `refrain analyze` prints them with findings.
// Thread-safety: pure. Units: seconds of waiting time that each caused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waits/wait_analysis.h"

namespace refrain::waits {

struct Causer {
  ProcessId process{};
  PathId path{};  // on which it was longer than those that waited
  double seconds = 0;
};

// Of waits that this metric, or the one that it is a special case of, has at the call path: most time first. What the late
// ones had waited themselves is not among them.
std::vector<Causer> causers_of(const WaitAnalysis& analysis, std::uint32_t metric,
                               PathId path);

// "rank 3 in main > work, work.c:42"
std::string causer_text(const WaitAnalysis& analysis, const Causer& causer);

}  // namespace refrain::waits
