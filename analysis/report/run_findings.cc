#include "analysis/report/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/report/nest_blocks.h"

namespace refrain::report {
namespace {

using analysis::ArchiveInfo;
using analysis::PhaseInfo;

class RunFinder {
 public:
  RunFinder(const ArchiveInfo& info, std::uint32_t marks_of, const EventViews* views,
            std::size_t threads)
      : info_(info), marks_of_(marks_of), views_(views), threads_(threads) {}

  std::vector<Finding> find() {
    if (views_ != nullptr)
      for (const auto& [region, loop] : views_->nest().loops()) {
        const PhaseInfo* const phase = phase_of(loop.name);
        if (phase == nullptr || !loop.outermost) continue;
        slow_iterations(*phase, loop.series);
        trend(*phase, loop.series);
        changes(*phase, region);
      }
    left_out();
    losses();
    return std::move(out_);
  }

 private:
  const PhaseInfo* phase_of(const std::string& name) const {
    for (const PhaseInfo& phase : info_.phases)
      if (phase.name == name && phase.process == marks_of_) return &phase;
    return nullptr;
  }
  double of_all_threads(double ns) const {
    return ns / 1e9 * static_cast<double>(threads_);
  }
  void fact(Finding::Kind kind, const char* what, std::string text, std::string hint,
            nlohmann::ordered_json evidence = {}) {
    out_.push_back({.kind = kind,
                    .what = what,
                    .text = std::move(text),
                    .hint = std::move(hint),
                    .seconds = std::nullopt,
                    .evidence = std::move(evidence)});
  }

  // Longer than half as much again as the median.
  void slow_iterations(const PhaseInfo& phase, const IterationSeries& series) {
    constexpr double kMuch = 1.5;
    if (series.iterations() < 10) return;
    const double median = series.median_ns();
    double excess = 0;
    std::uint64_t number = 0;
    for (const SeriesRow& row : series.rows()) {
      if (median <= 0 || row.max_ns < kMuch * median) continue;
      // Of merged rows one is known.
      excess += row.max_ns - median;
      ++number;
    }
    if (number == 0) return;
    // Where every third one is, that is how the loop is.
    if (static_cast<double>(number) > 0.3 * static_cast<double>(series.rows().size()))
      return;
    const IterationSeries::Slow most = series.slowest().front();
    out_.push_back(
        {.kind = Finding::Kind::kDetection,
         .what = "Slow iterations",
         .text = fmt::format(
             "{} of {} in {} {} more than half as much again as the median of {}; together "
             "they cost {} of the run. The slowest is iteration {:.0f}, {:.1f} times the median.",
             number,
             count_text(static_cast<double>(series.iterations()), "iteration",
                        "iterations"),
             loop_title(phase), number == 1 ? "takes" : "take", time_text(median),
             time_text(excess), most.number, most.ns / median),
         .hint =
             "Look at what the slowest ones do that others do not: they are in the time line.",
         .seconds = of_all_threads(excess),
         .evidence = {{"view", "iterations"},
                      {"loop", phase.id},
                      {"first", most.number},
                      {"last", most.number},
                      {"begin_ns", most.begin_ns},
                      {"end_ns", most.begin_ns + most.ns}}});
  }

  static double mean_of(std::span<const SeriesRow> rows) {
    double sum = 0, count = 0;
    for (const SeriesRow& row : rows) {
      sum += row.sum_ns;
      count += static_cast<double>(row.count);
    }
    return count > 0 ? sum / count : 0;
  }

  // The last tenth beside the first one, as far as most iterations in between follow.
  void trend(const PhaseInfo& phase, const IterationSeries& series) {
    const std::span<const SeriesRow> rows(series.rows());
    if (rows.size() < 50) return;
    const std::size_t tenth = rows.size() / 10;
    double before = 0;
    bool rises = true;
    for (std::size_t part = 0; part < 5; ++part) {
      const double mean = mean_of(rows.subspan(part * rows.size() / 5, rows.size() / 5));
      rises = rises && mean > 1.02 * before;
      before = mean;
    }
    if (!rises) return;
    const double first = mean_of(rows.first(tenth)), last = mean_of(rows.last(tenth));
    double excess = 0;
    for (const SeriesRow& row : rows)
      excess += std::max(0.0, row.sum_ns - first * static_cast<double>(row.count));
    out_.push_back(
        {.kind = Finding::Kind::kDetection,
         .what = "A loop gets slower",
         .text =
             fmt::format("Iterations of {} get longer in the course of the run: the last "
                         "tenth takes {} more than the first ({} beside {}).",
                         loop_title(phase), percent_text(last / first - 1), time_text(last),
                         time_text(first)),
         .hint =
             "Data that grows or is scattered more and more, or cores that become slower.",
         .seconds = of_all_threads(excess),
         .evidence = {{"view", "iterations"}, {"loop", phase.id}}});
  }

  void changes(const PhaseInfo& phase, std::uint32_t region) {
    std::vector<const NestSink::Moment*> found;
    for (const NestSink::Moment& moment : views_->nest().breaks())
      if (moment.region == region) found.push_back(&moment);
    if (found.empty()) return;
    std::string at;
    for (std::size_t i = 0; i < found.size() && i < 5; ++i)
      if (found[i]->iteration >= 0)
        at += fmt::format("{}{:.0f}", at.empty() ? " (iteration " : ", ",
                          found[i]->iteration);
    if (!at.empty()) at += found.size() > 5 ? ", ...)" : ")";
    fact(Finding::Kind::kDetection, "The pattern changes",
         fmt::format(
             "What an iteration of {} consists of changed {}{}; the iterations before "
             "and in each change are in the archive.",
             loop_title(phase),
             count_text(static_cast<double>(found.size()), "time", "times"), at),
         "",
         {{"view", "run"},
          {"loop", phase.id},
          {"begin_ns", found.front()->ns},
          {"end_ns", found.back()->ns}});
  }

  void left_out() {
    if (info_.events_seen == 0 || info_.events_written >= info_.events_seen) return;
    const double share =
        static_cast<double>(info_.events_written) / static_cast<double>(info_.events_seen);
    fact(Finding::Kind::kDetection, "What is in the archive",
         fmt::format(
             "The archive has {} of the run's events ({} of {}): the first iterations "
             "of each loop, slow ones, and those at changes. Profile and iterations are "
             "exact for the whole run; the time line and waits show what was written.",
             percent_text(share), digits_text(static_cast<double>(info_.events_written)),
             count_text(static_cast<double>(info_.events_seen), "event", "events")),
         "To write all events: refrain run -n 0.", {{"view", "run"}});
  }

  void losses() {
    for (const auto& [cause, number] : info_.lost)
      if (number != 0)
        fact(Finding::Kind::kLoss, "Events were lost",
             fmt::format("{} could not be recorded ({}).",
                         count_text(static_cast<double>(number), "event", "events"), cause),
             "What depends on them is missing here.");
    if (info_.recovered)
      fact(
          Finding::Kind::kLoss, "The program was killed",
          "The archive was recovered from what a process left that died: it ends where that "
          "died.",
          "");
    const std::uint64_t dropped = info_.mpi.sends_dropped + info_.mpi.receives_dropped +
                                  info_.mpi.collectives_dropped +
                                  info_.mpi.one_sided_dropped;
    if (dropped != 0)
      fact(Finding::Kind::kLoss, "Messages without both ends",
           fmt::format(
               "{} left out of the archive, because only one side of them was written.",
               count_text(static_cast<double>(dropped), "record of MPI was",
                          "records of MPI were")),
           info_.events_written < info_.events_seen
               ? "To keep all: refrain run -n 0."
               : "Nothing was skipped: their requests were freed (MPI_Request_free), their "
                 "calls failed, or MPI_Finalize completed them.");
  }

  const ArchiveInfo& info_;
  const std::uint32_t marks_of_;
  const EventViews* const views_;
  const std::size_t threads_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> run_findings(const ArchiveInfo& info, std::uint32_t marks_of,
                                  const EventViews* views, std::size_t threads) {
  return RunFinder(info, marks_of, views, threads).find();
}

}  // namespace refrain::report
