// Values of the counters of a trace (OTF2's metrics): how much each has counted on a
// location, and between the begin and the end of a region.
//
// Place in the flow: private to trace_profile.h. Thread-safety: none.
// Counters are metrics that accumulate, whatever their values refer to (since the begin, since
// the record before, up to the next), not levels such as a temperature. There is one counter
// per name, in all classes. A record of values belongs to the next event of its location, at
// the same time. Cost: O(values) a record.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "reader/trace_definitions.h"

namespace refrain::analysis {

class CounterTable {
 public:
  struct Member {
    std::uint32_t counter = reader::kNone;  // number; kNone: no counter
    bool since_begin = false;               // else since or up to the neighbouring record
  };

  explicit CounterTable(const reader::TraceDefinitions& definitions);

  const std::vector<std::string>& names() const noexcept { return names_; }
  // Of the class or instance that a record names; nullptr if it is not defined.
  const std::vector<Member>* members(std::uint32_t ref) const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::uint32_t, std::vector<Member>> classes_;
};

// Of one location.
class CounterReadings {
 public:
  void read(const CounterTable& table, const reader::TraceEvent& event);
  // Counted between the first record and the latest; by counter.
  const std::vector<double>& totals() const noexcept { return totals_; }
  // And before the first one, since the begin.
  const std::vector<double>& before() const noexcept { return before_; }
  // Between the two latest records.
  const std::vector<double>& latest() const noexcept { return latest_; }
  bool any() const noexcept { return !totals_.empty(); }

  // The next event of the location: whether the latest record belongs to it.
  bool take(std::uint64_t ns) noexcept {
    const bool belongs = fresh_ && ns == ns_;
    fresh_ = false;
    return belongs;
  }

 private:
  std::vector<double> totals_;
  std::vector<double> before_;
  std::vector<bool> known_;  // there was a record
  std::vector<double> latest_;
  std::vector<std::uint64_t> bits_;  // the latest values
  std::uint64_t ns_ = 0;
  bool fresh_ = false;
};

}  // namespace refrain::analysis
