#include "tools/output/whole_run.h"

#include <exception>
#include <filesystem>
#include <utility>

#include "analysis/comparison/skipping_sink.h"
#include "base/archive_files.h"
#include "base/notes.h"
#include "reader/archive_stream.h"
#include "summary/run_summary.h"
#include "waits/wait_experiment.h"

namespace refrain::tools {
namespace {

class Nothing final : public reader::TraceSink {
 public:
  base::Result<> begin(const reader::TraceDefinitions&) override { return {}; }
  void event(const reader::TraceEvent&) override {}
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t) override { return {}; }
};

// A summary may be all that there is.
std::string openmp_note_of(const std::string& archive) {
  reader::ArchiveStream stream;
  if (!stream.open_anchor(archive)) return {};
  note_unrecorded(archive, stream.definitions().properties);
  return reader::openmp_note(stream.definitions().properties);
}

}  // namespace

void note_unrecorded(const std::string& archive,
                     const std::map<std::string, std::string>& properties) {
  if (const std::string note = reader::unrecorded_note(properties); !note.empty())
    base::note(archive + ": " + note);
}

base::Result<cube::Experiment> experiment_of_waits(const std::string& archive,
                                                   const waits::WaitAnalysis& analysis) {
  try {
    const auto summaries =
        summary::read_summaries(base::archive_folder(archive), summary::Iterations::kLeave);
    if (!summaries) return base::Failure{archive + ": " + summaries.error()};
    return waits::experiment_of(analysis, *summaries);
  } catch (const std::exception& problem) {
    return base::Failure{archive + ": " + problem.what()};
  }
}

std::unique_ptr<analysis::EventSummaries> summaries_of_events(const std::string& archive) {
  std::error_code none;
  if (std::filesystem::exists(base::archive_folder(archive) + "/summary", none))
    return nullptr;
  return std::make_unique<analysis::EventSummaries>();
}

base::Result<analysis::Conclusions> conclude_run(const std::string& archive,
                                                 std::size_t threads,
                                                 analysis::EventSummaries* read) {
  try {
    auto summaries =
        summary::read_summaries(base::archive_folder(archive), summary::Iterations::kRead);
    if (!summaries) return base::Failure{archive + ": " + summaries.error()};
    std::optional<analysis::EventSummary> events;
    if (read != nullptr) events = read->take();
    if (events) {
      summaries = std::move(events->processes);
    } else if (summaries->empty()) {
      auto again =
          analysis::summarize_events(archive, {.messages = false, .threads = threads});
      if (!again) return again.failure();
      summaries = std::move(again->processes);
    }
    analysis::Conclusions conclusions = analysis::conclude(*summaries);
    conclusions.openmp = openmp_note_of(archive);
    return conclusions;
  } catch (const std::exception& problem) {
    return base::Failure{archive + ": " + problem.what()};
  }
}

std::optional<analysis::Conclusions> conclude_summaries(const std::string& archive) {
  try {
    const auto summaries =
        summary::read_summaries(base::archive_folder(archive), summary::Iterations::kRead);
    if (summaries && !summaries->empty()) return analysis::conclude(*summaries);
  } catch (const std::exception&) {  // what reads the archive says what is wrong with it
  }
  return std::nullopt;
}

bool has_only_summary(const std::string& archive) {
  reader::ArchiveStream stream;
  return stream.open_anchor(archive) && stream.definitions().summary_only();
}

base::Result<> estimate_whole_run(const std::string& archive,
                                  waits::WaitAnalysis& written) {
  try {
    const auto summaries = summary::read_summaries(base::archive_folder(archive));
    if (!summaries) return base::Failure{archive + ": " + summaries.error()};
    if (!summaries->empty())
      written.estimates =
          waits::estimate_waits(written, waits::calls_of(written, *summaries));
  } catch (const std::exception& problem) {
    return base::Failure{archive + ": " + problem.what()};
  }
  return {};
}

base::Result<> estimate_limited(const std::string& archive, std::uint64_t limit,
                                waits::WaitAnalysis& full,
                                const waits::MorePatterns& more) {
  analysis::PlanSink planner({.limit = limit});
  reader::ArchiveStream stream;
  base::Result<> done = stream.open(archive);
  if (done) done = stream.run(planner);
  if (!done) return done;
  if (!planner.marks_seen())
    return base::Failure{archive +
                         ": it has no marks of iterations, so there are none to leave out" +
                         " (Refrain marks the iterations of loops that it detects)"};
  const analysis::SkipPlan plan = analysis::written_by_all(planner.take());
  analysis::WrittenMessages messages;
  Nothing nothing;
  analysis::SkippingSink learning(plan, nothing, &messages);
  reader::ArchiveStream again;
  done = again.open(archive);
  if (done) done = again.run(learning);
  if (!done) return done;
  messages.finish();
  const waits::Between skipping = [&](reader::TraceSink& sink) {
    return std::make_unique<analysis::SkippingSink>(plan, sink, &messages);
  };
  const auto written = waits::analyze_archive(archive, {}, skipping, more);
  if (!written) return written.failure();
  full.estimates = waits::estimate_waits(*written, waits::calls_of(*written, full));
  return {};
}

}  // namespace refrain::tools
