#include "analysis/report/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "analysis/profile/run_profile.h"
#include "analysis/report/event_blocks.h"
#include "analysis/report/flow_blocks.h"
#include "base/texts.h"
#include "base/thread_use.h"

namespace refrain::report {
namespace {

using json = nlohmann::ordered_json;

const char* kind_name(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kCause:
      return "cause";
    case Finding::Kind::kWait:
      return "wait";
    case Finding::Kind::kImbalance:
      return "imbalance";
    case Finding::Kind::kOverhead:
      return "overhead";
    case Finding::Kind::kEfficiency:
      return "efficiency";
    case Finding::Kind::kDetection:
      return "detection";
    case Finding::Kind::kLoss:
      return "loss";
  }
  return "";
}

json value_of(const Finding& finding, double all_seconds) {
  const bool costs = finding.seconds && all_seconds > 0;
  return {{"kind", kind_name(finding.kind)},
          {"what", finding.what},
          {"text", finding.text},
          {"hint", finding.hint},
          {"seconds", finding.seconds ? json(*finding.seconds) : json()},
          {"share",
           costs ? json(finding.share.value_or(*finding.seconds / all_seconds)) : json()},
          {"evidence", finding.evidence}};
}

}  // namespace

json ranked(std::vector<Finding> findings, double all_seconds, double least_share,
            std::size_t most) {
  const auto facts = std::ranges::stable_partition(
      findings, [](const Finding& finding) { return finding.seconds.has_value(); });
  const auto costing = std::ranges::subrange(findings.begin(), facts.begin());
  std::ranges::stable_sort(costing, [](const Finding& a, const Finding& b) {
    const bool cause = a.kind == Finding::Kind::kCause;
    if (cause != (b.kind == Finding::Kind::kCause)) return cause;
    return *a.seconds > *b.seconds;
  });
  json out = json::array();
  for (const Finding& finding : costing)
    if (out.size() < most && *finding.seconds >= least_share * all_seconds)
      out.push_back(value_of(finding, all_seconds));
  for (const Finding& finding : facts) out.push_back(value_of(finding, all_seconds));
  return out;
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  if (percent >= 9.95) return fmt::format("{:.0f} %", percent);
  if (percent >= 0.05) return fmt::format("{:.1f} %", percent);
  return percent > 0 ? "less than 0.1 %" : "0 %";
}

std::string time_text(double ns) { return base::duration_text(ns, 3); }

std::string digits_text(double count) {
  const std::string digits = fmt::format("{:.0f}", count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0 && digits.size() > 4) text += ' ';
    text += digits[i];
  }
  return text;
}

std::string count_text(double count, const std::string& one, const std::string& more) {
  const std::string digits = digits_text(count);
  return digits + " " + (digits == "1" ? one : more);
}

std::string place_text(const std::string& file, std::uint32_t line) {
  if (file.empty()) return {};
  const std::string name = std::filesystem::path(file).filename().string();
  return line == 0 ? name : name + ":" + std::to_string(line);
}

}  // namespace refrain::report

namespace refrain::report {
namespace {

using analysis::Account;
using analysis::RootCause;
using analysis::RunProfile;
using analysis::TimeClass;

constexpr double kMinProcedureShare = 0.005;

class ProfileFinder {
 public:
  ProfileFinder(const analysis::Conclusions& conclusions, const RunProfile& profile,
                const analysis::ProfileTotals& totals)
      : conclusions_(conclusions), profile_(profile), totals_(totals) {}

  std::vector<Finding> find() {
    for (const RootCause& cause : conclusions_.causes) add_cause(cause);
    if (!analysis::has_cause(conclusions_, Account::kCores))
      note("Too few cores", conclusions_.cores, conclusions_.cores_hint);
    note("Killed", conclusions_.killed);
    note("Ended by exit()", conclusions_.exited);
    note("Time in the kernel", conclusions_.kernel);
    note("Memory that grows", conclusions_.memory);
    note("Time of tracing", conclusions_.tracing);
    note("Unknown time", conclusions_.unknown);
    management();
    well();
    return std::move(out_);
  }

 private:
  double share(double ns) const { return totals_.time_ns > 0 ? ns / totals_.time_ns : 0; }
  void note(const char* what, const std::string& text, const std::string& hint = {}) {
    if (!text.empty())
      out_.push_back({.kind = Finding::Kind::kEfficiency,
                      .what = what,
                      .text = text + ".",
                      .hint = hint,
                      .seconds = std::nullopt,
                      .evidence = {}});
  }
  void add_cause(const RootCause& cause) {
    std::string text = cause.text;
    if (!cause.origin.empty()) text += ' ' + cause.origin;
    if (!cause.evidence.empty()) text += ' ' + analysis::evidence_text(cause);
    if (!cause.gain.empty()) text += ' ' + cause.gain;
    out_.push_back({.kind = Finding::Kind::kCause,
                    .what = cause.what,
                    .text = std::move(text),
                    .hint = cause.hint,
                    .seconds = cause.lost_ns / 1e9,
                    .share = cause.share,
                    .evidence = evidence(cause)});
  }

  // Where to see it.
  nlohmann::ordered_json evidence(const RootCause& cause) const {
    const auto of_class = [&](const char* view, TimeClass cls) {
      nlohmann::ordered_json out = {{"view", view}, {"class", analysis::class_name(cls)}};
      if (cause.path != RootCause::kNone) out["path"] = cause.path;
      return out;
    };
    switch (cause.account) {
      case Account::kUnevenThreads:
        return of_class("heat", TimeClass::kImbalance);
      case Account::kSerial:
        return of_class("heat", TimeClass::kLimitedParallelism);
      case Account::kSynchronization:
        return of_class("graph", TimeClass::kSynchronization);
      case Account::kManagement:
        return of_class("graph", TimeClass::kThreadManagement);
      case Account::kFileIo:
        if (cause.path < profile_.paths.size() &&
            profile_.paths[cause.path].cls == TimeClass::kFileIo)
          return of_class("graph", TimeClass::kFileIo);
        [[fallthrough]];
      case Account::kCommunication:
        if (cause.path >= profile_.paths.size()) return {};
        return {{"view", "mpi"},
                {"procedure", profile_.regions[profile_.paths[cause.path].region].name}};
      case Account::kCores:
        return {{"view", "heat"}, {"class", std::string("counter ") + base::kCoreWait}};
      default:
        return of_class("heat", TimeClass::kUseful);
    }
  }
  // Start and end of MPI, and what makes handles.
  void management() {
    for (const analysis::MpiProcedure& procedure : totals_.mpi) {
      if (procedure.cls != TimeClass::kMpiManagement) continue;
      if (share(procedure.time_ns) < kMinProcedureShare) continue;
      out_.push_back(
          {.kind = Finding::Kind::kOverhead,
           .what = "MPI management",
           .text = fmt::format(
               "{} of the time ({}) is spent in {}: {}.",
               percent_text(share(procedure.time_ns)), time_text(procedure.time_ns),
               procedure.name,
               count_text(static_cast<double>(procedure.calls), "call", "calls")),
           .hint =
               "Part of starting and ending MPI, or the program creates MPI objects that "
               "it could reuse.",
           .seconds = procedure.time_ns / 1e9,
           .evidence = {{"view", "mpi"}, {"procedure", procedure.name}}});
    }
  }

  void well() {
    const double useful = totals_.efficiencies.parallel;
    if (useful < 0.95 || !totals_.efficiencies.known()) return;
    out_.push_back(
        {.kind = Finding::Kind::kEfficiency,
         .what = "Little is lost",
         .text = fmt::format(
             "{} of the time of all threads is computation: little can be gained by "
             "distributing work better or communicating less.",
             percent_text(useful)),
         .hint = {},
         .seconds = std::nullopt,
         .evidence = {}});
  }

  const analysis::Conclusions& conclusions_;
  const RunProfile& profile_;
  const analysis::ProfileTotals& totals_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> profile_findings(const analysis::Conclusions& conclusions,
                                      const RunProfile& profile,
                                      const analysis::ProfileTotals& totals) {
  return ProfileFinder(conclusions, profile, totals).find();
}

}  // namespace refrain::report

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
             "{} of {} in {} {} more than 1.5× the median of {}; together "
             "they cost {} of the run. The slowest is iteration {:.0f}, {:.1f} times the median.",
             number,
             count_text(static_cast<double>(series.iterations()), "iteration",
                        "iterations"),
             loop_title(phase), number == 1 ? "takes" : "take", time_text(median),
             time_text(excess), most.number, most.ns / median),
         .hint = "Compare the slowest ones with others in the timeline.",
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

  // The last tenth compared with the first one, as far as most iterations in between follow.
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
         .text = fmt::format("Iterations of {} get longer during the run: the last tenth "
                             "takes {} more than the first ({} instead of {}).",
                             loop_title(phase), percent_text(last / first - 1),
                             time_text(last), time_text(first)),
         .hint = "The data grows or becomes scattered, or cores become slower.",
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
             "The events in an iteration of {} changed {}{}; the iterations before and at "
             "each change are in the archive.",
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
             "exact for the whole run; timeline and waits show the written part.",
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
             "Results that depend on them are missing here.");
    if (info_.recovered && !info_.recovered_after_kill())
      fact(
          Finding::Kind::kLoss, "The program ended by exit()",
          "Not all processes called MPI_Finalize, or they ended while an event was recorded, and "
          "the archive was recovered.",
          "");
    else if (info_.recovered)
      fact(Finding::Kind::kLoss, "The program was killed",
           "A process died and the archive was recovered: it ends where that process died.",
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
