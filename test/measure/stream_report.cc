// Measures the nested detector and its policy on the symbol streams of a directory.
//
//     stream_report FOLDER [PART-OF-NAME]
//
// Prints a line a stream (of 1000 events or more): share of events skipped with limit 10,
// nested=once and nested=each, the same for the flat detector
// with M, N = 300, 600 and 1024, 2048, nanoseconds an event,
// longest push, and the detected loops: "number<parent(b=events of body, v=visits,
// i=iterations, m=most in a visit)". Then the means, over streams and over runs (the
// ranks of a job being one run), noise, and, if the directory has an INDEX.tsv, the rows
// whose iterations were counted by hand and are not reproduced.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "filters/nested_policy.h"
#include "periodicity/flat/exact_detector.h"
#include "periodicity/flat/flat_loop_detector.h"
#include "periodicity/nested/nested_detector.h"
#include "test/support/loop_record.h"
#include "test/support/streams.h"

namespace refrain {
namespace {

using periodicity::ExactDetector;
using periodicity::FlatLoopDetector;
using periodicity::LoopDetector;
using periodicity::NestedDetector;
using Clock = std::chrono::steady_clock;

double skipped_share(const test::LoopRecord& record, filters::Nested nested,
                     std::size_t events) {
  filters::SkippedIntervals intervals;
  filters::NestedPolicy policy({.limit = 10, .nested = nested}, intervals);
  for (const auto& event : record.events) policy.on_loop_event(event);
  intervals.finish(events);
  return static_cast<double>(intervals.skipped_events()) / static_cast<double>(events);
}

test::LoopRecord feed(LoopDetector& detector, const test::Stream& stream) {
  test::LoopRecord record;
  for (const auto symbol : stream) detector.push(symbol, 0, record);
  detector.finish(record);
  const std::string complaint = record.complaint(stream.size());
  if (!complaint.empty()) std::printf("!! %s\n", complaint.c_str());
  return record;
}

struct Nothing : periodicity::LoopSink {
  void on_loop_event(const periodicity::LoopEvent&) noexcept override {}
};

double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

struct Times {
  double per_event = 1e9;
  double longest = 0;
};

// The best of several passes, because others use the machine, too.
Times measure(const test::Stream& stream) {
  Times times;
  for (int pass = 0; pass < 5; ++pass) {
    NestedDetector detector;
    Nothing nothing;
    const auto start = Clock::now();
    for (const auto symbol : stream) detector.push(symbol, 0, nothing);
    const double all = nanoseconds(Clock::now() - start);
    times.per_event = std::min(times.per_event, all / static_cast<double>(stream.size()));
  }
  // A push costs the same in every pass; longer times come from the machine.
  std::vector<float> shortest(stream.size(), 1e9f);
  for (int pass = 0; pass < 5; ++pass) {
    NestedDetector detector;
    Nothing nothing;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const auto start = Clock::now();
      detector.push(stream[i], 0, nothing);
      const auto time = static_cast<float>(nanoseconds(Clock::now() - start));
      shortest[i] = std::min(shortest[i], time);
    }
  }
  times.longest = *std::max_element(shortest.begin(), shortest.end());
  return times;
}

constexpr std::array<periodicity::PeriodSettings, 2> kWindows{{{300, 600}, {1024, 2048}}};

struct Row {
  double once = 0;
  double each = 0;
  std::array<double, 2> flat{};  // for kWindows
  double per_event = 0;
  std::map<std::uint32_t, test::LoopSummary> loops;
};

Row report(const test::NamedStream& stream, std::size_t loops_shown) {
  const std::size_t events = stream.symbols.size();
  NestedDetector nested;
  const auto record = feed(nested, stream.symbols);
  std::array<double, 2> flat{};
  for (std::size_t k = 0; k != flat.size(); ++k) {
    FlatLoopDetector detector(std::make_unique<ExactDetector>(kWindows[k]));
    flat[k] = skipped_share(feed(detector, stream.symbols), filters::Nested::kEach, events);
  }
  const Times times = measure(stream.symbols);
  Row row{.once = skipped_share(record, filters::Nested::kOnce, events),
          .each = skipped_share(record, filters::Nested::kEach, events),
          .flat = flat,
          .per_event = times.per_event,
          .loops = record.loops()};
  std::printf(
      "%-42s %7zu once %5.1f each %5.1f flat %5.1f %5.1f %5.1f ns max %5.1f us, %zu",
      stream.name.c_str(), events, 100 * row.once, 100 * row.each, 100 * row.flat[0],
      100 * row.flat[1], row.per_event, times.longest / 1000, record.events.size());
  std::size_t shown = 0;
  for (const auto& [number, loop] : row.loops) {
    if (++shown > loops_shown) break;
    std::printf(" %u", number);
    if (loop.parent != periodicity::kNoLoop) std::printf("<%u", loop.parent);
    std::printf("(b%u v%llu i%llu m%llu)", loop.body_events,
                static_cast<unsigned long long>(loop.visits),
                static_cast<unsigned long long>(loop.iterations),
                static_cast<unsigned long long>(loop.most));
  }
  std::printf(" [%zu]\n", row.loops.size());
  return row;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}

// A count by hand is reproduced if some loop has it, in one visit or in the sum over its
// visits. Programs do a warm-up iteration of the same kind, or a first or last one that
// differs, so that 1 more or less is the same.
bool reproduced(const Row& row, std::uint64_t count) {
  const auto near = [count](std::uint64_t number) {
    return number + 1 >= count && number <= count + 1;
  };
  return std::any_of(row.loops.begin(), row.loops.end(), [&](const auto& loop) {
    return near(loop.second.most) || near(loop.second.iterations);
  });
}

void check_index(const std::string& folder, const std::map<std::string, Row>& rows) {
  std::ifstream index(folder + "/INDEX.tsv");
  std::string line;
  std::size_t hand = 0;
  std::size_t good = 0;
  while (std::getline(index, line)) {
    const auto fields = split(line);
    if (fields.size() < 13 || fields[12] != "hand" || !rows.contains(fields[0])) continue;
    ++hand;
    if (reproduced(rows.at(fields[0]), std::strtoull(fields[5].c_str(), nullptr, 10))) {
      ++good;
    } else {
      std::printf("not reproduced: %s, %s iterations by source\n", fields[0].c_str(),
                  fields[5].c_str());
    }
  }
  if (hand != 0) std::printf("iterations counted by hand: %zu of %zu rows\n", good, hand);
}

void means(const std::map<std::string, Row>& rows,
           const std::map<std::string, std::size_t>& sizes) {
  std::array<double, 4> sum{};
  std::map<std::string, std::pair<std::array<double, 4>, double>> runs;
  std::vector<double> times;
  double count = 0;
  for (const auto& [name, row] : rows) {
    if (sizes.at(name) < 1000) continue;
    auto& [run, ranks] = runs[name.substr(0, name.find(".rank"))];
    const std::array<double, 4> shares{row.once, row.each, row.flat[0], row.flat[1]};
    for (std::size_t k = 0; k < 4; ++k) {
      sum[k] += shares[k];
      run[k] += shares[k];
    }
    ++ranks;
    ++count;
    times.push_back(row.per_event);
  }
  if (times.empty()) return;
  std::array<double, 4> by_run{};
  for (const auto& [name, run] : runs) {
    for (std::size_t k = 0; k < 4; ++k) by_run[k] += run.first[k] / run.second;
  }
  const auto n = static_cast<double>(runs.size());
  std::sort(times.begin(), times.end());
  std::printf("mean over %.0f streams: once %.1f each %.1f flat %.1f %.1f\n", count,
              100 * sum[0] / count, 100 * sum[1] / count, 100 * sum[2] / count,
              100 * sum[3] / count);
  std::printf("mean over %.0f runs:    once %.1f each %.1f flat %.1f %.1f\n", n,
              100 * by_run[0] / n, 100 * by_run[1] / n, 100 * by_run[2] / n,
              100 * by_run[3] / n);
  std::printf("ns an event: median %.1f, most %.1f\n", times[times.size() / 2],
              times.back());
}

int run(const std::string& folder, const std::string& part) {
  std::map<std::string, Row> rows;
  std::map<std::string, std::size_t> sizes;
  for (const auto& stream : test::streams_in(folder)) {
    if (stream.name.find(part) == std::string::npos) continue;
    sizes[stream.name] = stream.symbols.size();
    rows[stream.name] = report(stream, part.empty() ? 6 : 100);
  }
  for (const std::uint64_t symbols : {2, 4, 16, 64}) {
    if (!part.empty()) break;
    report({"random, " + std::to_string(symbols) + " symbols",
            test::random_stream(200000, symbols, symbols)},
           6);
  }
  if (part.empty()) report({"Thue-Morse", test::thue_morse_stream(200000)}, 6);
  means(rows, sizes);
  check_index(folder, rows);
  return rows.empty() ? 1 : 0;
}

}  // namespace
}  // namespace refrain

int main(int argc, char** argv) {
  if (argc < 2 || !std::filesystem::is_directory(argv[1])) {
    std::fprintf(stderr, "usage: stream_report FOLDER [PART-OF-NAME]\n");
    return 2;
  }
  return refrain::run(argv[1], argc > 2 ? argv[2] : "");
}
