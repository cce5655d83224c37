// Why most of a run is written despite the limit, and what would help: one sentence for the
// end of a run and for `refrain info`.
//
// Place in the flow: ARCHITECTURE.md, stage 5, once everything is counted. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::writer {

struct LimitFacts {
  struct Loop {  // an outermost one
    std::string name;
    std::uint64_t visits = 0;
    std::uint64_t iterations = 0;
    std::uint64_t written = 0;  // of these, whole or in part
    double total_ns = 0;
  };
  std::uint64_t limit = 0;  // 0: none
  std::uint64_t events_seen = 0;
  std::uint64_t events_written = 0;
  double duration_ns = 0;
  double min_gap_ns = 0;
  std::vector<Loop> loops;
};

// Empty where less than half of the events is written, or where everything was asked for.
std::string limit_reason(const LimitFacts& facts);

// How the budget was met, a sentence; empty without one, and where everything fits.
// `limit`: the limit that keeps it.
std::string budget_line(const std::string& budget, std::uint64_t budget_bytes,
                        std::uint64_t limit, std::uint64_t archive_bytes);

}  // namespace refrain::writer
