// Adds up the marks of iterations, location by location and loop by loop.
//
// Place in the flow: private to archive_info.h, after reader::ArchiveStream::run_in_turn().
// Thread-safety: none. Ownership: plain values; refers to the definitions.
// Units: ticks of the location's clock. Errors: none; unmatched begins and ends
// are left out. Cost: O(1) an event; memory for the loops and the open iterations of a location.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/mark_attributes.h"
#include "reader/trace_sink.h"

namespace refrain::analysis {

// Sums of the marks of a loop's complete iterations on one location.
struct MarkSums {
  std::uint64_t iterations = 0;
  std::uint64_t written = 0;  // whole
  std::uint64_t partial = 0;
  double ticks = 0;
  double squares = 0;  // of ticks
  std::uint64_t least_ticks = 0;
  std::uint64_t greatest_ticks = 0;
};

class MarkSumsSink final : public reader::TraceSink {
 public:
  // Called for each location that has marks, when all of them are known, with its index and
  // the region's index of each loop that has begun there.
  using Take = std::function<void(std::uint32_t location, std::uint32_t region,
                                  const MarkSums& sums)>;
  explicit MarkSumsSink(Take take) : take_(std::move(take)) {}

  std::string begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  std::string finish(std::uint64_t end_ns) override;

 private:
  struct Open {
    std::uint32_t region;
    std::uint64_t ticks;
    bool written;
    bool partial;
    bool complete;
  };
  void begin_iteration(const reader::TraceEvent& event);
  void end_iteration(const reader::TraceEvent& event);
  void hand_over();

  Take take_;
  std::optional<MarkAttributes> attributes_;
  std::uint32_t location_ = reader::kNone;  // whose marks come
  std::vector<Open> open_;
  std::map<std::uint32_t, MarkSums> sums_;  // by region
};

}  // namespace refrain::analysis
