// The run as a line: visits and iterations of detected loops of one process, as their marks in the archive have them;
// gaps, breaks, slow iterations.
//
// Place in the flow: ARCHITECTURE.md, stage 7: a sink of reader/archive_stream.h, next to others (event_views.h);
// event_blocks.h makes blocks of it. Thread-safety: none. Units: ns since the start of the run.
// Memory: does not grow with the archive (IterationSeries; bars are merged, the longest gaps kept).
// Cost: O(1) an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/archive_info.h"
#include "base/result.h"
#include "reader/trace.h"

namespace refrain::report {

// The iterations of one loop, one after the other, in memory of fixed size: where there are too many, neighbours are
// merged two by two.
//
// Thread-safety: none. Units: ns since the start of the run. Cost: O(1) an iteration, amortised.

// What of an iteration is in the archive, and why.
enum IterationState : std::uint8_t { kSkippedState, kPartialState, kWrittenState };
enum WhyWritten : std::uint8_t {
  kFirstOnes = 1,
  kSlow = 2,
  kBeforeBreak = 4,
  kInBreak = 8,
  kOtherReason = 16
};

struct SeriesRow {
  double first = 0;  // number of the iteration
  double begin_ns = 0;
  double end_ns = 0;
  double sum_ns = 0;  // of durations
  double min_ns = 0;
  double max_ns = 0;
  std::uint64_t count = 1;
  std::uint8_t state = kSkippedState;
  std::uint8_t why = 0;

  double mean_ns() const { return sum_ns / static_cast<double>(count); }
};

class IterationSeries {
 public:
  static constexpr std::size_t kMax = 200'000;
  static constexpr std::size_t kSlowest = 20;

  explicit IterationSeries(std::size_t most = kMax) : most_(most) {}

  // In the order of their begins.
  void add(double number, double begin_ns, double end_ns, IterationState state);
  // The iteration that ran then, or nullptr; and the one before an iteration.
  SeriesRow* at(double ns);
  SeriesRow* before(const SeriesRow* row);

  const std::vector<SeriesRow>& rows() const { return rows_; }
  std::vector<SeriesRow>& rows() { return rows_; }
  bool merged() const { return per_ > 1; }
  std::uint64_t iterations() const { return iterations_; }
  double median_ns() const;  // of rows, each as often as it has iterations
  struct Slow {
    double number = 0;
    double begin_ns = 0;
    double ns = 0;
  };
  // Longest first.
  std::vector<Slow> slowest() const;

 private:
  void merge();

  std::size_t most_;
  std::uint64_t per_ = 1;  // iterations of a row
  std::uint64_t iterations_ = 0;
  std::vector<SeriesRow> rows_;
  std::vector<Slow> slowest_;  // a heap, the shortest in front
};

class NestSink final : public reader::TraceSink {
 public:
  static constexpr std::size_t kMaxBars = 2000;  // of a loop
  static constexpr std::size_t kMaxGaps = 2000;
  static constexpr std::size_t kMaxMarkers = 2000;

  // One visit of a loop, or several.
  struct Bar {
    double begin_ns = 0, end_ns = 0;
    double first = 0, last = 0;  // iterations
    std::uint64_t visits = 1;
  };
  struct Loop {
    std::string name;  // of its region
    bool outermost = false;
    std::uint64_t complete = 0;
    IterationSeries series;  // of outermost ones: those that came to their end
    std::vector<Bar> bars;   // by begin
    std::uint64_t visits_per_bar = 1;
  };
  struct Gap {
    double begin_ns = 0, end_ns = 0;
    std::string text;
    std::uint32_t region = reader::kNone;  // outermost loop of which iterations lie in it
    double first = 0, last = 0;
  };
  struct Moment {
    std::uint32_t region = reader::kNone;
    double iteration = -1;  // -1: not known
    double ns = 0;
    double duration_ns = 0;
    std::string text;
  };

  // `process`: index of TraceDefinitions::processes, whose marks are wanted; kNone: the one that has the first mark.
  explicit NestSink(std::uint32_t process) : process_(process) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  // After finish().
  std::uint32_t process() const { return process_; }
  std::uint32_t location() const { return location_; }
  const std::map<std::uint32_t, Loop>& loops() const { return loops_; }  // by region
  const std::vector<Gap>& gaps() const { return gaps_; }                 // by begin
  const std::vector<Moment>& breaks() const { return breaks_; }
  const std::vector<Moment>& slow() const { return slow_; }

 private:
  struct Open {
    std::uint32_t region;
    double begin_ns;
    double number;
    IterationState state;
    bool complete;
  };
  struct Visit {
    std::uint32_t region = reader::kNone;
    Bar bar;
    double base = 0;  // iterations of earlier visits
  };

  void begin_iteration(const reader::TraceEvent& event);
  void end_iteration(const reader::TraceEvent& event);
  void begin_visit(std::size_t depth, std::uint32_t region, double ns);
  void end_visits(std::size_t depth);
  void add_bar(Loop& loop, const Bar& bar);
  void gap_ends(double ns);
  void keep_longest();
  void name_gap(const Moment& suspended);
  void take_markers();
  std::uint32_t region_of(const std::string& text, std::string& rest) const;
  void explain();

  std::uint32_t process_;
  std::uint32_t location_ = reader::kNone;  // that has the marks
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::optional<analysis::MarkAttributes> attributes_;
  std::vector<Open> open_;
  std::vector<Visit> visits_;                 // by depth
  std::map<std::uint32_t, double> numbered_;  // by region: iterations of finished visits
  std::map<std::uint32_t, Loop> loops_;
  std::vector<Gap> gaps_;
  std::optional<double> off_since_;
  std::vector<Moment> breaks_, slow_;
};

}  // namespace refrain::report
