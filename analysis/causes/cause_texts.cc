#include "analysis/causes/cause_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/texts.h"
#include "summary/rank_set.h"

namespace refrain::analysis {
namespace {

// "10th", "22nd"
std::string ordinal(std::uint64_t number) {
  const std::uint64_t last = number % 100 / 10 == 1 ? 0 : number % 10;
  return std::to_string(number) + (last == 1   ? "st"
                                   : last == 2 ? "nd"
                                   : last == 3 ? "rd"
                                               : "th");
}

// Where it gets more or less, but does not end.
std::string change_text(const TimeShape& when) {
  if (when.change == 0) return {};
  const bool less = when.then < when.first;
  return fmt::format(", most {} iteration {}{} ({} instead of {})", less ? "until" : "from",
                     when.change, less ? "" : " on",
                     time_text(std::max(when.first, when.then)),
                     time_text(std::min(when.first, when.then)));
}

}  // namespace

std::string time_text(double ns) { return base::duration_text(ns, 3); }

std::string percent_text(double share) {
  const double percent = 100 * share;
  return percent >= 9.95 ? fmt::format("{:.0f} %", percent)
                         : fmt::format("{:.1f} %", percent);
}

std::string when_text(const RootCause& cause) {
  if (cause.loop.empty())
    return cause.until_ns > 0
               ? fmt::format("between {} and {} of the run", time_text(cause.from_ns),
                             time_text(cause.until_ns))
               : std::string();
  const TimeShape& when = cause.when;
  const std::string loop = loop_place(cause.loop);
  // What is said of the time outside has the others.
  const std::uint64_t known =
      cause.iterations - (cause.outside_ns > 0 ? cause.unknown_iterations : 0);
  const std::string all = known == cause.iterations
                              ? fmt::format("all {} iterations", known)
                              : fmt::format("{} of {} iterations", known, cause.iterations);
  switch (when.kind) {
    case TimeShape::Kind::kAll:
      return fmt::format("in {} of {}", all, loop) + change_text(when);
    case TimeShape::Kind::kSince:
      return fmt::format("from iteration {} on, of {} of {}", when.from, cause.iterations,
                         loop);
    case TimeShape::Kind::kUntil:
      if (known != cause.iterations && cause.unknown_iterations < when.from)
        return fmt::format("in iterations {} to {}, of {} of {}", cause.unknown_iterations,
                           when.from - 1, cause.iterations, loop);
      return fmt::format("until iteration {}, of {} of {}", when.from, cause.iterations,
                         loop);
    case TimeShape::Kind::kBetween:
      return fmt::format("in iterations {} to {}, of {} of {}", when.from, when.until - 1,
                         cause.iterations, loop);
    case TimeShape::Kind::kEvery:
      return fmt::format("in every {} iteration ({}, {}, ...), of {} of {}",
                         ordinal(when.period), when.from, when.from + when.period,
                         cause.iterations, loop);
    case TimeShape::Kind::kGrowing:
      return fmt::format(
          "more and more (from {} to {}), in {} of {}", time_text(when.before),
          time_text(when.after),
          known == cause.iterations ? fmt::format("{} iterations", known) : all, loop);
    case TimeShape::Kind::kSome:
      return fmt::format("in {} of {} iterations of {}, first in {}", when.number,
                         cause.iterations, loop, when.from);
  }
  return {};
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + summary::RankSet::of(ranks).text();
}

std::string lost_text(const RootCause& cause) {
  return fmt::format("{}{}, {} of the time of all threads", time_text(cause.lost_ns),
                     cause.with_idle ? " with idle threads" : "",
                     percent_text(cause.share));
}

std::string gain_text(const RootCause& cause, const std::string& what,
                      const std::string& run) {
  constexpr double kLittle = 0.005;
  if (cause.gain_ns < kLittle * cause.of_ns) return {};
  std::string text =
      fmt::format("{}, {} would take about {} instead of {} ({} less)", what,
                  cause.loop.empty() || cause.outside_ns > 0 ? run : "the loop",
                  time_text(cause.of_ns - cause.gain_ns), time_text(cause.of_ns),
                  percent_text(cause.gain_ns / cause.of_ns));
  constexpr double kOther = 0.1;
  if (cause.shared_gain_ns >= kLittle * cause.of_ns &&
      std::abs(cause.shared_gain_ns - cause.gain_ns) > kOther * cause.gain_ns)
    text +=
        fmt::format("; if {}, about {} ({} less)",
                    cause.ranks.empty()       ? "all threads had as much work"
                    : cause.ranks.size() == 1 ? "what it does more were shared among all"
                                              : "what they do more were shared among all",
                    time_text(cause.of_ns - cause.shared_gain_ns),
                    percent_text(cause.shared_gain_ns / cause.of_ns));
  return text + ".";
}

const char* run_text(const Conclusions& conclusions) {
  return conclusions.ledger[static_cast<std::size_t>(Account::kStart)] > 0
             ? "the run without start and end of MPI"
             : "the run";
}

std::string as_sentence(std::string text) {
  if (!text.empty())
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace refrain::analysis
