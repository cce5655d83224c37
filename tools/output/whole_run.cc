#include "tools/output/whole_run.h"

#include <exception>

#include "analysis/comparison/skip_plan.h"
#include "analysis/comparison/skipping_sink.h"
#include "base/archive_files.h"
#include "summary/run_summary.h"
#include "waits/wait_experiment.h"

namespace refrain::tools {
namespace {

class Nothing final : public reader::TraceSink {
 public:
  std::string begin(const reader::TraceDefinitions&) override { return {}; }
  void event(const reader::TraceEvent&) override {}
  std::string error() const override { return {}; }
  std::string finish(std::uint64_t) override { return {}; }
};

}  // namespace

std::string experiment_of_waits(const std::string& archive,
                                const waits::WaitAnalysis& analysis,
                                cube::Experiment& out) {
  try {
    const auto summaries = summary::read_summaries(base::archive_folder(archive));
    if (!summaries) return archive + ": " + summaries.error();
    out = waits::experiment_of(analysis, *summaries);
  } catch (const std::exception& problem) {
    return archive + ": " + problem.what();
  }
  return {};
}

std::string estimate_whole_run(const std::string& archive, waits::WaitAnalysis& written) {
  try {
    const auto summaries = summary::read_summaries(base::archive_folder(archive));
    if (!summaries) return archive + ": " + summaries.error();
    if (!summaries->empty())
      written.estimates =
          waits::estimate_waits(written, waits::calls_of(written, *summaries));
  } catch (const std::exception& problem) {
    return archive + ": " + problem.what();
  }
  return {};
}

std::string estimate_limited(const std::string& archive, std::uint64_t limit,
                             waits::WaitAnalysis& full, const waits::MorePatterns& more) {
  analysis::PlanSink planner({.limit = limit});
  reader::ArchiveStream stream;
  std::string error = stream.open(archive);
  if (error.empty()) error = stream.run(planner);
  if (!error.empty()) return error;
  if (!planner.marks_seen())
    return archive + ": it has no marks of iterations, so there are none to leave out" +
           " (Refrain marks the iterations of loops that it detects)";
  const analysis::SkipPlan plan = analysis::written_by_all(planner.take());
  analysis::WrittenMessages messages;
  Nothing nothing;
  analysis::SkippingSink learning(plan, nothing, &messages);
  reader::ArchiveStream again;
  error = again.open(archive);
  if (error.empty()) error = again.run(learning);
  if (!error.empty()) return error;
  messages.finish();
  const waits::Between skipping = [&](reader::TraceSink& sink) {
    return std::make_unique<analysis::SkippingSink>(plan, sink, &messages);
  };
  const waits::WaitAnalysis written = waits::analyze_archive(archive, {}, skipping, more);
  if (!written.error.empty()) return written.error;
  full.estimates = waits::estimate_waits(written, waits::calls_of(written, full));
  return {};
}

}  // namespace refrain::tools
