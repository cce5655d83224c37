// What `refrain info` says of an archive, as lines that fit a terminal.
//
// Place in the flow: ARCHITECTURE.md, stage 6, after analysis/archive_info.h.
// By default no more than a screen: the run, what was written and why, what is missing, and the nest
// of loops as an indented tree, of those that have at least a hundredth of the time. Several ranks
// are one row a loop; where they differ, a row has the range.
// Pure. Thread-safety: none needed. Units: widths in columns; UTF-8 beyond ASCII is not used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/archive_info.h"

namespace refrain::tools {

// Columns of the labels at the left.
inline constexpr std::size_t kLabel = 13;

struct ScreenOptions {
  std::size_t width = 100;
  std::size_t height = 30;  // lines, at most, unless `all`
  bool all = false;
  bool bodies = false;  // the events of each loop's iteration
};

std::vector<std::string> info_screen(const analysis::ArchiveInfo& info,
                                     const std::string& archive,
                                     const ScreenOptions& options);

// Call paths that allocate: those that had most at the high-water marks, that have most at the end, that were called most.
std::vector<std::string> allocation_lines(const analysis::RunTotals::Allocations& from,
                                          std::size_t width);

// What the whole run did, in a sentence; empty where no process has a summary.
std::string totals_text(const analysis::RunTotals& totals);

// "1 rank", "2 ranks".
std::string counted(std::uint64_t number, const char* one, const char* more);

// "12.5 %".
std::string percent_text(double part, double whole = 1);

// `text` in at most `width` columns: without its middle if it is longer. `text` may be cut within
// a word, not within a character of UTF-8.
std::string fitted(const std::string& text, std::size_t width);

}  // namespace refrain::tools
