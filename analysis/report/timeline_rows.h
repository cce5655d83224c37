// The rows of the time line: a location each, or, where there are too many, several that follow each other, of which
// one is shown.
//
// Place in the flow: private to analysis/report. Thread-safety: const after the constructor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reader/trace_definitions.h"

namespace refrain::report {

class TimelineRows {
 public:
  static constexpr std::size_t kMost = 512;
  struct Row {
    std::uint32_t first = 0, last = 0, shown = 0;  // locations of the report
  };

  // `reported`: of each location of the archive its number in the report, or reader::kNone.
  TimelineRows(const std::vector<std::uint32_t>& reported, std::size_t locations,
               std::size_t most = kMost)
      : row_of_(reported.size(), reader::kNone), shown_(reported.size(), false) {
    const std::size_t together = locations == 0 ? 1 : (locations + most - 1) / most;
    for (std::size_t i = 0; i < locations; i += together) {
      const auto first = static_cast<std::uint32_t>(i);
      rows_.push_back({first,
                       static_cast<std::uint32_t>(std::min(locations, i + together) - 1),
                       first});
    }
    for (std::size_t i = 0; i < reported.size(); ++i) {
      if (reported[i] >= locations) continue;
      row_of_[i] = static_cast<std::uint32_t>(reported[i] / together);
      shown_[i] = rows_[row_of_[i]].shown == reported[i];
    }
  }

  const std::vector<Row>& rows() const { return rows_; }
  // By location of the archive; kNone: it has none.
  std::uint32_t row_of(std::uint32_t location) const { return row_of_[location]; }
  bool shown(std::uint32_t location) const { return shown_[location]; }
  std::size_t locations() const { return row_of_.size(); }  // of the archive

 private:
  std::vector<Row> rows_;
  std::vector<std::uint32_t> row_of_;
  std::vector<bool> shown_;
};

}  // namespace refrain::report
