#include "waits/parallel/synthetic_shares.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "exchange/mailboxes.h"
#include "waits/findings.h"
#include "waits/parallel/shared_analysis.h"

namespace refrain::waits {
namespace {

class SyntheticSource final : public EventSource {
 public:
  SyntheticSource(const reader::TraceDefinitions& definitions,
                  const std::vector<reader::TraceEvent>& events, std::uint64_t fails_after)
      : definitions_(definitions), events_(events), fails_after_(fails_after) {}

  base::Result<> open() override { return {}; }
  const reader::TraceDefinitions& definitions() const override { return definitions_; }
  base::Result<std::uint64_t> choose(const std::vector<LocationId>& locations) override {
    chosen_.resize(definitions_.locations.size());
    for (const LocationId each : locations) chosen_[each] = true;
    return definitions_.base_ticks;
  }
  // As the merge of an archive's locations does: of the same time, by location.
  base::Result<> run(std::uint64_t, reader::TraceSink& sink,
                     const reader::Progress&) override {
    if (const auto done = sink.begin(definitions_); !done) return done;
    for (const reader::TraceEvent& event : events_) {
      if (!chosen_[event.location]) continue;
      if (std::string error = sink.error(); !error.empty()) return base::Failure{error};
      if (fails_after_ != 0 && handed_over_ == fails_after_) {
        if (fails_after_ % 2 == 0) throw std::runtime_error("made up");
        return base::Failure{"a made-up error"};
      }
      sink.event(event);
      ++handed_over_;
    }
    return sink.finish(0);
  }
  std::uint64_t events() const override { return handed_over_; }

 private:
  const reader::TraceDefinitions& definitions_;
  const std::vector<reader::TraceEvent>& events_;
  std::uint64_t fails_after_;
  std::uint64_t handed_over_ = 0;
  std::vector<bool> chosen_;
};

}  // namespace

base::Result<WaitAnalysis> analyze_shared(const reader::TraceDefinitions& definitions,
                                          const std::vector<reader::TraceEvent>& events,
                                          const SyntheticShares& how) {
  const auto readers = static_cast<std::uint32_t>(how.readers);
  exchange::Mailboxes boxes(readers);
  const auto read = [&](std::uint32_t rank) {
    SyntheticSource source(definitions, events, rank + 1 == how.fails ? how.after : 0);
    return analyze_share(*boxes.of(rank), source, {.folder = {}, .batch = how.batch});
  };
  std::vector<std::jthread> others;
  for (std::uint32_t rank = 1; rank < readers; ++rank)
    others.emplace_back([&, rank] { (void)read(rank); });
  base::Result<WaitAnalysis> result = read(0);
  others.clear();
  if (boxes.pending() != 0) return base::Failure{result.error() + " messages are left"};
  return result;
}

std::string difference(const WaitAnalysis& a, const WaitAnalysis& b) {
  const auto paths = [](const WaitAnalysis::Path& x, const WaitAnalysis::Path& y) {
    return std::tie(x.parent, x.region, x.site) == std::tie(y.parent, y.region, y.site);
  };
  if (!std::ranges::equal(a.paths, b.paths, paths)) return "call paths";
  const auto processes = [](const WaitAnalysis::Process& x,
                            const WaitAnalysis::Process& y) {
    return std::tie(x.name, x.rank, x.begin, x.end) ==
           std::tie(y.name, y.rank, y.begin, y.end);
  };
  if (!std::ranges::equal(a.processes, b.processes, processes)) return "processes";
  for (std::uint32_t metric = 0; metric < a.tree.metrics.size(); ++metric) {
    if (a.values[metric] != b.values[metric]) return a.tree.metrics[metric].name;
    if (metric < a.products.size() && a.products[metric] != b.products[metric])
      return "products of " + a.tree.metrics[metric].name;
    if (metric < a.squares.size() && a.squares[metric] != b.squares[metric])
      return "squares of " + a.tree.metrics[metric].name;
  }
  if (a.calls != b.calls) return "calls";
  const auto causes = [](const WaitAnalysis::Cause& x, const WaitAnalysis::Cause& y) {
    return std::tie(x.kind, x.path, x.causer, x.causer_path, x.ticks) ==
           std::tie(y.kind, y.path, y.causer, y.causer_path, y.ticks);
  };
  if (!std::ranges::equal(a.causes, b.causes, causes)) return "causes";
  const auto findings = [](const Finding& x, const Finding& y) {
    return std::tie(x.metric, x.path, x.seconds, x.idle_seconds) ==
           std::tie(y.metric, y.path, y.seconds, y.idle_seconds);
  };
  if (!std::ranges::equal(findings_of(a, 0), findings_of(b, 0), findings))
    return "findings";
  if (a.problems.lines(1) != b.problems.lines(1) || a.problems.gaps != b.problems.gaps)
    return "problems";
  if (a.overcharged != b.overcharged || a.paths_error != b.paths_error)
    return "what is wrong";
  return {};
}

}  // namespace refrain::waits
