// Blocks of a report from the rows of iterations: what each location spent its time for in the iterations of each
// outermost loop, as a picture of columns (iterations) and lines (locations).
//
// Place in the flow: ARCHITECTURE.md, stage 7, after analysis/profile/iteration_profile.h. Format: docs/reference/report-format.md.
// The columns are the rows of the primary thread of the first process that has any. Rows of other threads and
// processes are put into the columns whose iterations they have; one with iterations of several columns is divided
// between them by their number (on another thread: by time). So all columns together have all of the time.
// Thread-safety: pure, but for `blocks`. Units: ns, units of counters.
// Cost: at most RowLimits::numbers of the result are in memory, once as double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/profile/iteration_profile.h"
#include "analysis/report/blocks.h"

namespace refrain::report {

struct RowLimits {
  std::size_t columns = 4096;
  std::size_t lines = 2048;
  std::size_t numbers = 2'000'000;
};

// Those of one loop.
struct RowPicture {
  struct Column {
    double first = 0;  // iteration, over all visits
    double count = 0;
    double begin_ns = 0;  // since the start of recording of the process
    double end_ns = 0;
  };
  std::vector<std::size_t> classes;      // by TimeClass, those that occur
  std::uint32_t process = 0;             // whose columns they are
  std::vector<std::uint32_t> locations;  // of IterationProfile, in lines' order
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lines;  // first, last in `locations`
  std::vector<Column> columns;
  std::vector<float> values;  // by class, then counter; line; column
  bool exact = true;          // each column is one iteration
};

RowPicture row_picture(const analysis::IterationProfile& profile, std::uint32_t loop,
                       const RowLimits& limits = {});

// rows/L of each loop. `location_of`: index in the profile of process and thread. `begin_ns`: of a process' recording,
// in the archive's time.
void add_rows(Blocks& blocks, const std::string& key,
              const analysis::IterationProfile& profile,
              const std::function<std::uint32_t(std::uint32_t process,
                                                std::uint32_t thread)>& location_of,
              const std::function<double(std::uint32_t process)>& begin_ns);

}  // namespace refrain::report
