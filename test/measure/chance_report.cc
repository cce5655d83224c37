// Measures the nested detector on the symbol streams of a directory into which chance is injected.
//
//     chance_report FOLDER [PART-OF-NAME]
//
// Prints a row for each kind of chance (test/support/chance.h) and probability: on how many streams
// (of 1000 events or more) the outermost loop has as many iterations as without the calls that depend
// on timing, give or take one, and the mean share of events skipped with a limit of 10 (nested=once).
// In the columns these calls are: completions, which are no symbols; messages, which may have to be
// left out; not marked as either.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "filters/nested_policy.h"
#include "periodicity/nested/nested_detector.h"
#include "test/support/chance.h"
#include "test/support/loop_record.h"
#include "test/support/streams.h"

namespace refrain {
namespace {

struct Answer {
  std::uint64_t iterations = 0;
  double skipped = 0;
};

Answer ask(const test::Stream& stream) {
  periodicity::NestedDetector detector({.messages = true});
  test::LoopRecord record;
  for (const auto symbol : stream) detector.push(symbol, 0, record);
  detector.finish(record);
  const std::string complaint = record.complaint(stream.size());
  if (!complaint.empty()) std::printf("!! %s\n", complaint.c_str());
  Answer answer;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> loops;  // events, most
  std::uint64_t begin = 0;
  filters::SkippedIntervals intervals;
  filters::NestedPolicy policy({.limit = 10, .nested = filters::Nested::kOnce}, intervals);
  for (const auto& event : record.events) {
    policy.on_loop_event(event);
    if (event.level != 0) continue;
    if (event.kind == periodicity::LoopEventKind::kFound) begin = event.position;
    if (event.kind != periodicity::LoopEventKind::kLeft) continue;
    auto& [events, most] = loops[event.loop];
    events += event.position - begin;
    most = std::max(most, event.iteration);
  }
  intervals.finish(stream.size());
  answer.skipped = static_cast<double>(intervals.skipped_events()) /
                   static_cast<double>(std::max<std::size_t>(stream.size(), 1));
  std::uint64_t best = 0;
  for (const auto& [loop, found] : loops) {
    if (found.first <= best) continue;
    best = found.first;
    answer.iterations = found.second;
  }
  return answer;
}

struct Sum {
  int right = 0;
  double skipped = 0;
  void add(const Answer& answer, const Answer& clean) {
    const auto apart =
        static_cast<double>(answer.iterations) - static_cast<double>(clean.iterations);
    right += std::abs(apart) < 1.5 ? 1 : 0;
    skipped += answer.skipped;
  }
};

int run(const std::string& folder, const std::string& part) {
  std::vector<test::NamedStream> streams = test::streams_in(folder);
  std::erase_if(streams, [&](const auto& stream) {
    return stream.symbols.size() < 1000 || stream.name.find(part) == std::string::npos;
  });
  if (streams.empty()) return 1;
  std::printf("of %zu streams   completions    messages       others\n", streams.size());
  for (const auto kind : {test::ChanceKind::kOptional, test::ChanceKind::kSwapped,
                          test::ChanceKind::kRepeated, test::ChanceKind::kMixed})
    for (const double probability : {0.0, 0.02, 0.1, 0.3, 0.5, 0.75, 1.0}) {
      Sum completions;
      Sum left_out;
      Sum others;
      for (std::size_t k = 0; k != streams.size(); ++k) {
        const auto& [name, symbols] = streams[k];
        const std::hash<std::string> hash;
        const test::Chance chance{kind, probability,
                                  hash(name.substr(0, name.find(".rank"))) % 1000,
                                  hash(name) % 1000};
        const test::Stream stream = with_chance(symbols, chance);
        const Answer clean = ask(without_timing(symbols, chance));
        test::Stream messages = stream;
        for (auto& symbol : messages)
          if (depends_on_timing(symbol, chance)) symbol |= periodicity::kMessageSymbol;
        completions.add(ask(without_timing(stream, chance)), clean);
        left_out.add(ask(messages), clean);
        others.add(ask(stream), clean);
      }
      const auto count = static_cast<double>(streams.size());
      std::printf(
          "%-9s %4.2f   %4d  %4.1f %%   %4d  %4.1f %%   %4d  %4.1f %%\n", text(kind),
          probability, completions.right, 100 * completions.skipped / count, left_out.right,
          100 * left_out.skipped / count, others.right, 100 * others.skipped / count);
    }
  return 0;
}

}  // namespace
}  // namespace refrain

int main(int count, char** arguments) {
  if (count < 2) return 2;
  return refrain::run(arguments[1], count > 2 ? arguments[2] : "");
}
