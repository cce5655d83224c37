// The timeline of the events that an archive has: a span for each visit of a region, and for the picture of the whole
// run which class took most of each bin of time.
//
// Place in the flow: ARCHITECTURE.md, stage 7: a sink of reader/archive_stream.h, next to others (event_views.h);
// event_blocks.h makes blocks of it. Thread-safety: none. Units: ns since the start of the run.
// Memory: does not grow with the archive: at most 2 * SpanLimits::most spans. Where there are more, all of the start
// are kept, and of the rest the longest.
// Cost: O(1) an event, and a step for each bin that it passes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "base/region_stack.h"
#include "base/result.h"
#include "reader/trace.h"

namespace refrain::report {

// The longest of any number of intervals, in memory of fixed size.
//
// Thread-safety: none. Cost: O(1) an interval, amortised; memory for twice as many as are kept.

// Item has length().
template <typename Item>
class Longest {
 public:
  explicit Longest(std::size_t most) : most_(most) {}

  void add(const Item& item) {
    ++seen_;
    if (items_.size() >= 2 * most_) reduce();
    if (least_ <= item.length()) items_.push_back(item);
  }
  std::uint64_t seen() const { return seen_; }
  // In no order.
  std::vector<Item> take() {
    if (items_.size() > most_) reduce();
    return std::move(items_);
  }

 private:
  void reduce() {
    const auto end = items_.begin() + static_cast<std::ptrdiff_t>(most_);
    std::ranges::nth_element(
        items_, end, [](const Item& a, const Item& b) { return a.length() > b.length(); });
    items_.erase(end, items_.end());
    for (const Item& item : items_)
      least_ = &item == items_.data() ? item.length() : std::min(least_, item.length());
  }

  std::size_t most_;
  std::uint64_t seen_ = 0;
  double least_ = 0;
  std::vector<Item> items_;
};

// The rows of the timeline: a location each, or, where there are too many, several that follow each other, of which
// one is shown.
//
// Thread-safety: const after the constructor.

class TimelineRows {
 public:
  static constexpr std::size_t kMax = 512;
  struct Row {
    std::uint32_t first = 0, last = 0, shown = 0;  // locations of the report
  };

  // `reported`: of each location of the archive its number in the report, or reader::kNone.
  TimelineRows(const std::vector<std::uint32_t>& reported, std::size_t locations,
               std::size_t most = kMax)
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

struct SpanLimits {
  std::size_t most = 1'000'000;
  std::size_t at_begin = 400'000;  // of them, all that there are
  std::size_t bins = 1024;
  std::size_t cells = std::size_t{512} << 10;  // rows times bins
};

struct Span {
  double begin_ns = 0;
  float duration_ns = 0;
  std::uint32_t region = 0;  // of the archive, or TimelineSink::calls() after them
  std::uint16_t row = 0;
  std::uint8_t depth = 0;
};

class TimelineSink final : public reader::TraceSink {
 public:
  // After the classes of time: in no region, and not in the archive.
  static constexpr std::size_t kOutside = analysis::kTimeClasses;
  static constexpr std::size_t kSkipped = kOutside + 1;
  static constexpr std::size_t kClasses = kSkipped + 1;

  explicit TimelineSink(const TimelineRows& rows, const SpanLimits& limits = {})
      : rows_(rows), limits_(limits) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  // A procedure of MPI and where it was called.
  struct Call {
    std::uint32_t region = 0;
    std::uint32_t site = 0;  // reference of a source code location
  };

  // After finish().
  const std::vector<Call>& calls() const { return calls_; }
  const std::vector<std::uint8_t>& classes() const { return classes_; }  // by region
  std::vector<Span>& spans() { return spans_; }  // by row, then begin and depth
  std::uint64_t seen() const { return seen_; }
  bool all() const { return !reduced_; }
  double until_ns() const { return until_ns_; }
  double shortest_ns() const { return shortest_ns_; }
  std::size_t bins() const { return bins_; }
  double end_ns() const { return end_ns_; }
  // By row and bin: the class with most time, and its share of the bin in 1/255.
  const std::vector<std::uint8_t>& overview() const { return overview_; }
  const std::vector<std::uint8_t>& shares() const { return shares_; }
  // By location of the archive: of its first event; NaN: it has none.
  const std::vector<double>& first_ns() const { return first_ns_; }

 private:
  struct Open {
    std::uint32_t region;
    std::uint32_t number;  // of the span
    double begin_ns;
    bool loop;
  };
  struct Location {
    base::RegionStack<Open> open;
    double last_ns = 0;
    std::uint8_t cls = kOutside;  // of what is running
    bool off = false;
  };

  std::uint32_t number_of(const reader::TraceEvent& enter);
  void account(Location& at, std::uint32_t location, double ns);
  void settle_class(Location& at);
  void close(Location& at, std::uint32_t location, double ns);
  void keep(const Span& span);
  void reduce();
  void make_overview();

  const TimelineRows& rows_;
  const SpanLimits limits_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<std::uint8_t> classes_;
  std::vector<Call> calls_;
  std::unordered_map<std::uint64_t, std::uint32_t>
      numbers_;  // of calls, by region and site
  std::vector<Location> locations_;
  std::vector<double> first_ns_;
  std::vector<Span> spans_;
  std::uint64_t seen_ = 0;
  bool reduced_ = false;
  double until_ns_ = 0;
  float shortest_ns_ = 0;
  std::size_t bins_ = 0;
  double bin_ns_ = 1;
  double end_ns_ = 0;
  std::vector<float> times_;  // by row, bin and class
  std::vector<std::uint8_t> overview_, shares_;
};

}  // namespace refrain::report
