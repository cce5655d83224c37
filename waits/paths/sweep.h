// Reads the forward pass's records backwards, puts waits where they belong in time, and hands all to who computes.
//
// Place in the flow: after the replay (recorder.h); path_metrics.h makes metrics of the result. Thread-safety: none.
// Segments lie in the file in the order of their times. A wait may lie behind it, for it is known only when its call is
// left and its message matched: it is kept until its time comes. Memory: that, and a block of the file.
// Where clocks disagree, so that an effect comes before its cause, a wait's time does not say when those have been handed
// out that charge it. Then a wait is deferred until all waits for its location at a later time there have been: these are in
// memory, for the file has them behind the location's time. Waits that were said to have caused each other are not deferred.
// Units: ticks.
#pragma once

#include <string>

#include "base/result.h"
#include "waits/paths/critical_path.h"
#include "waits/paths/delay_costs.h"
#include "waits/paths/record_file.h"

namespace refrain::waits::paths {

struct PathResult {
  ByPath critical;
  DelayCosts::Table delays;
  std::vector<Cause> causes;
};

// `location` ended last, at `end`.
base::Result<PathResult> sweep(RecordFile& file, std::size_t locations, LocationId location,
                               Ticks end);

}  // namespace refrain::waits::paths
