// A small run, with a gap or without, for several tests of the writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "writer/testing/archive_text.h"

namespace refrain::writer {

using Lines = std::vector<std::string>;

inline constexpr std::uint64_t kAddress = 0x5000;

// Ten iterations of one region, 100 ticks each, from 1000 on; without a gap, all in the log.
inline spool::SpoolBuilder ten_iterations(std::uint32_t locations) {
  spool::SpoolBuilder builder(locations);
  builder.loop(1, 1250, kAddress);
  for (std::uint64_t i = 0; i < 10; ++i) {
    builder.region(i + 1, 1000 + 100 * i, 1080 + 100 * i, kAddress);
    builder.iteration(1, i, 1000 + 100 * i);
  }
  builder.left(1, 10, 1980);
  return builder;
}

// Ten iterations of one region on two locations; region i + 1 runs in [1000 + 100 i, 1080 +
// 100 i). Iterations 3 to 6 (epochs 4 to 7) are skipped.
class TenIterations {
 public:
  explicit TenIterations(bool left = true) : builder_(2) {
    builder_.loop(1, 1250, kAddress);
    for (std::uint64_t i = 0; i < 10; ++i) builder_.iteration(1, i, 1000 + 100 * i);
    if (left) builder_.left(1, 10, 1980);
    builder_.gap(0, 4, 1300);
  }
  // The records of a location's iterations [first, last).
  void run(std::uint32_t location, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) {
      const std::uint64_t begin = 1000 + 100 * i;
      if (location == 0)
        builder_.location(0).region(i + 1, begin, begin + 80, kAddress, 2);
      else
        builder_.location(1).member(i + 1, begin, begin + 80, kAddress, 1, 2);
    }
  }
  void trimmed(std::uint32_t location, std::uint64_t resumed_at) {
    run(location, 0, 3);
    builder_.location(location)
        .add(spool::kSuspend, 1390, 0, 4)
        .add(spool::kResume, 1995, 0, resumed_at);
    run(location, resumed_at - 1, 10);
  }
  spool::SpoolBuilder& builder() { return builder_; }

 private:
  spool::SpoolBuilder builder_;
};

// Begins of the parallel region, in ticks after 1000, and the measurement's switches. Where
// an iteration ends and begins at the same tick, what follows is a tick or two later.
inline Lines outline(const test::Trace& trace, std::size_t location) {
  Lines out;
  for (const std::string& line : lines(trace, location)) {
    const std::string what = line.substr(line.find(' ') + 1);
    if (what == "on" || what == "off" || what.starts_with("enter !$omp parallel"))
      out.push_back(std::to_string(std::stoul(line) - 1000) + " " + what.substr(0, 5));
  }
  return out;
}

inline const Lines kFourSkipped = {"1 enter", "102 enter", "202 enter", "300 off",
                                   "700 on",  "702 enter", "802 enter", "902 enter"};
// The same on a location without marks of iterations.
inline Lines plain(Lines outline) {
  for (std::string& line : outline)
    if (line.ends_with("02 enter")) line.replace(line.size() - 8, 8, "01 enter");
  return outline;
}
inline const Lines kFourSkippedPlain = plain(kFourSkipped);

}  // namespace refrain::writer
