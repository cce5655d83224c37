// Measures the nested detector and its policy on artificial programs, a line a kind.
//
//     program_report [SEEDS]
//
// Prints, with limit 10 and as means over seeds (default 20): the share of events that could
// be skipped if the source were known, the shares skipped with nested=once and nested=each,
// the minimum share skipped with nested=once as part of the best, and nanoseconds an event.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "filters/nested_policy.h"
#include "periodicity/nested/nested_detector.h"
#include "test/support/loop_record.h"
#include "test/support/program_streams.h"

namespace refrain {
namespace {

double skipped_share(const test::LoopRecord& record, filters::Nested nested,
                     std::size_t events) {
  filters::SkippedIntervals intervals;
  filters::NestedPolicy policy({.limit = 10, .nested = nested}, intervals);
  for (const auto& event : record.events) policy.on_loop_event(event);
  intervals.finish(events);
  return static_cast<double>(intervals.skipped_events()) / static_cast<double>(events);
}

struct Sums {
  double best = 0;
  double once = 0;
  double each = 0;
  double least = 1;
  double nanoseconds = 0;

  void add(const Sums& other) {
    best += other.best;
    once += other.once;
    each += other.each;
    least = std::min(least, other.least);
    nanoseconds += other.nanoseconds;
  }
  void print(const char* name, double count) const {
    std::printf("%-16s best %5.1f once %5.1f each %5.1f least %5.1f %5.1f ns\n", name,
                100 * best / count, 100 * once / count, 100 * each / count, 100 * least,
                nanoseconds / count);
  }
};

Sums measure(const test::ProgramStream& program) {
  using Clock = std::chrono::steady_clock;
  test::LoopRecord record;
  periodicity::NestedDetector detector;
  record.events.reserve(program.symbols.size());
  const auto start = Clock::now();
  for (const auto symbol : program.symbols) detector.push(symbol, 0, record);
  const std::chrono::duration<double, std::nano> time = Clock::now() - start;
  detector.finish(record);
  const std::size_t events = program.symbols.size();
  Sums result{.best = program.best(10),
              .once = skipped_share(record, filters::Nested::kOnce, events),
              .each = skipped_share(record, filters::Nested::kEach, events),
              .nanoseconds = time.count() / static_cast<double>(events)};
  result.least = result.once / result.best;
  return result;
}

int run(std::uint64_t seeds) {
  Sums all;
  for (const auto& kind : test::program_kinds()) {
    Sums sums;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      sums.add(measure(test::program_stream(kind, seed)));
    }
    sums.print(kind.c_str(), static_cast<double>(seeds));
    all.add(sums);
  }
  all.print("mean", static_cast<double>(seeds * test::program_kinds().size()));
  return 0;
}

}  // namespace
}  // namespace refrain

int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20;
  if (seeds == 0) {
    std::fprintf(stderr, "usage: program_report [SEEDS]\n");
    return 2;
  }
  return refrain::run(seeds);
}
