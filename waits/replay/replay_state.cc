#include "waits/replay/replay_state.h"

#include <otf2/otf2.h>

namespace refrain::waits {

void ReplayState::begin(const reader::TraceDefinitions& of, PatternSet& patterns) {
  definitions = &of;
  kinds = kinds_of(of);
  locations.resize(of.locations.size());
  processes.resize(of.processes.size());
  for (std::uint32_t i = 0; i < locations.size(); ++i) {
    const reader::LocationInfo& info = of.locations[i];
    LocationState& at = locations[i];
    at.process = info.process;
    at.thread = info.thread;
    at.helper = info.helper;
    at.counts =
        info.type == OTF2_LOCATION_TYPE_CPU_THREAD && info.process < processes.size();
    if (at.counts && processes[at.process].primary == kNone)
      processes[at.process].primary = LocationId(i);
  }
  severities = std::make_unique<Severities>(
      locations.size(), patterns.tree().metrics.size(), of.ticks_per_second);
  patterns.charge_to(*severities);
}

}  // namespace refrain::waits
