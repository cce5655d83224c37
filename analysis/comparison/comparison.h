// Two profiles side by side.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after trace_profile.h; `refrain compare`
// prints it. Pure. Thread-safety: plain values.
// A row is one figure of both. Its difference is relative to the first trace's figure; that
// of efficiencies is b - a.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/comparison/trace_profile.h"

namespace refrain::analysis {

enum class Unit : std::uint8_t { kNumber, kNanoseconds, kBytes, kShare, kEfficiency };

struct Row {
  std::string subject;  // a region, a loop, "messages", "threads", "MPI"
  std::string figure;   // "share of time", "calls", ...
  Unit unit = Unit::kNumber;
  double a = 0;
  double b = 0;
  bool a_estimated = false;  // not counted
  bool b_estimated = false;
  // Infinite where only b has any.
  double difference() const noexcept;
};

struct Section {
  std::string title;
  std::vector<Row> rows;
};

struct Comparison {
  std::vector<Section> sections;
  // Relevant regions that only one of the two has.
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;
  double greatest_difference() const noexcept;  // of all rows, without sign
};

// `least_share`: regions and loops that have less of the time in both are left out.
Comparison compare(const TraceProfile& a, const TraceProfile& b, double least_share);

}  // namespace refrain::analysis
