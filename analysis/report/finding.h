// A finding of a report: a sentence with numbers and a place, what it costs, and where to see it.
//
// Place in the flow: ARCHITECTURE.md, stage 7: made here and by wait_blocks.h,
// ranked() puts them in order. Thread-safety: plain values. Units: seconds of all threads.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/archive_info.h"
#include "analysis/causes/root_causes.h"
#include "analysis/profile/run_profile.h"
#include "analysis/report/event_views.h"

namespace refrain::report {

struct Finding {
  enum class Kind { kCause, kWait, kImbalance, kOverhead, kEfficiency, kDetection, kLoss };

  Kind kind = Kind::kWait;
  std::string what;  // a title
  std::string text;  // a sentence or two
  std::string hint;
  std::optional<double>
      seconds{};  // lost; nothing: a fact that costs nothing, or of which it is not known
  std::optional<double> share{};  // that its text names; nothing: seconds of all time
  nlohmann::ordered_json
      evidence{};  // view and selection, docs/reference/report-format.md; null: none
};

// Root causes, then what else costs time, each with most time first, at most `most` of both; then facts, in their order. Those of less than
// `least_share` of `all_seconds` are left out.
nlohmann::ordered_json ranked(std::vector<Finding> findings, double all_seconds,
                              double least_share = 0.005, std::size_t most = 40);

// "22 %", "3.1 %", "less than 0.1 %".
std::string percent_text(double share);
// "1.26 s", "3.4 ms"; of nanoseconds.
std::string time_text(double ns);
// "1 thread", "12 400 calls".
std::string count_text(double count, const std::string& one, const std::string& more);
// "12 400".
std::string digits_text(double count);
// "cg.c:48" of a path and a line; empty: not known.
std::string place_text(const std::string& file, std::uint32_t line);

// Findings of a report from the profile of the whole run: root causes, management of MPI, or that little is lost.
//
// Thread-safety: pure. Units: seconds of all threads.

std::vector<Finding> profile_findings(const analysis::Conclusions& conclusions,
                                      const analysis::RunProfile& profile,
                                      const analysis::ProfileTotals& totals);

// Findings of a report from what was detected and recorded: iterations that took longer than others, loops that get
// slower, changes of the pattern, what is not in the archive, and what was lost.
//
// Thread-safety: pure. Units: seconds of all threads: a longer iteration costs its time on each of them.

// `threads`: of the run. `views`: nullptr without events. `marks_of`: as event_blocks.h has it.
std::vector<Finding> run_findings(const analysis::ArchiveInfo& info, std::uint32_t marks_of,
                                  const EventViews* views, std::size_t threads);

}  // namespace refrain::report
