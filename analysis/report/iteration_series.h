// The iterations of one loop, one after the other, in memory of fixed size: where there are too many, neighbours are
// merged two by two.
//
// Place in the flow: private to nest_sink.h. Thread-safety: none. Units: ns since the begin of the run.
// Cost: O(1) an iteration, amortised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace refrain::report {

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
  static constexpr std::size_t kMost = 200'000;
  static constexpr std::size_t kSlowest = 20;

  explicit IterationSeries(std::size_t most = kMost) : most_(most) {}

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

}  // namespace refrain::report
