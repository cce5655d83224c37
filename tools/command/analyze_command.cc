// `refrain analyze ARCHIVE`: what made the program wait.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/new_file.h"
#include "base/notes.h"
#include "cube/cubex_file.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/job/job.h"
#include "tools/output/analyze_output.h"
#include "tools/output/left_recording.h"
#include "tools/output/standard_output.h"
#include "tools/output/whole_run.h"
#include "waits/modules/pattern_modules.h"
#include "waits/parallel/shared_analysis.h"
#include "waits/wait_analysis.h"
#include "waits/wait_experiment.h"

namespace refrain::tools {
namespace {

class AnalyzeCommand final : public Subcommand {
 public:
  const char* name() const override { return "analyze"; }
  const char* help() const override { return "find root causes and wait states"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string cube_file() const;
  int run_first(Job* job);
  base::Result<> check() const;
  base::Result<waits::WaitAnalysis> analyze(Job* job, const waits::MorePatterns& more,
                                            reader::ShareSinks* sinks) const;
  int print_causes() const;
  int print_and_write(const waits::WaitAnalysis& analysis,
                      const analysis::Conclusions& conclusions) const;

  std::string archive_;
  std::vector<std::string> modules_;  // of patterns
  std::string cube_file_;             // empty: next to the trace
  std::uint64_t limit_ = 0;
  std::size_t threads_ = 0;  // 0: one for each core, up to a number
  bool no_cube_ = false;
  bool overwrite_ = false;
  bool json_ = false;
  bool all_ = false;
  bool metrics_ = false;
  bool quiet_ = false;
};

}  // namespace

void AnalyzeCommand::add_options(CLI::App& app) {
  app.add_option("archive", archive_, "the archive: its directory or its traces.otf2")
      ->required();
  app.add_flag("--all", all_, "all findings and all metrics");
  app.add_flag("--metrics", metrics_, "also the table of metrics");
  app.add_flag("--json", json_, "metrics and findings, as JSON");
  auto* cube =
      app.add_option(
             "--cube", cube_file_,
             "write severities to FILE, for Cube (.cubex; default: analysis.cubex in the "
             "archive, replaced if it exists)")
          ->type_name("FILE");
  app.add_flag("--no-cube", no_cube_, "do not write analysis.cubex")->excludes(cube);
  app.add_flag("--overwrite", overwrite_, "replace the existing file of --cube")
      ->needs(cube);
  app.add_option("-n,--limit", limit_,
                 "check estimates: drop iterations after the first N and compare with the "
                 "measured waits")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50))
      ->excludes(cube);
  app.add_option(
         "--threads", threads_,
         "number of threads (does not change the result; default: one per core, at most 4)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{4096}));
  app.add_option(
         "--patterns", modules_,
         "additional patterns, from a shared object (docs/reference/patterns.md); can be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_flag("--quiet", quiet_, "print no progress");
}

std::string AnalyzeCommand::cube_file() const {
  if (no_cube_ || !cube_file_.empty()) return cube_file_;
  const std::filesystem::path path(archive_);
  std::error_code error;
  const auto folder =
      std::filesystem::is_directory(path, error) ? path : path.parent_path();
  return folder / waits::kAnalysisName;
}

namespace {

// Threads, where the user does not say: each has its own definitions of the archive, and half of it is lost with four.
constexpr unsigned kMostThreads = 4;

}  // namespace

int AnalyzeCommand::run() {
  std::unique_ptr<Job> job;
  bool first = true;
  if (const auto done = Job::join(job, first); !done)
    return first ? fail(done.error()) : kWrongUse;
  if (job == nullptr) return run_first(nullptr);
  // Patterns of users are not made for several readers: the first one works alone.
  if (!modules_.empty()) return job->leave(first ? run_first(nullptr) : kDone);
  // The others print nothing, and end as the first one does. What locations lack they say, unless the first one reads all events
  // once more.
  if (first) return job->leave(run_first(job.get()));
  (void)waits::analyze_in_job(archive_, *job);
  if (summaries_of_events(archive_) != nullptr) base::take_notes();
  return job->leave(kDone);
}

base::Result<> AnalyzeCommand::check() const {
  if (const std::string why = why_no_archive(archive_); !why.empty())
    return base::Failure{why};
  return base::may_place(cube_file_,
                         overwrite_ ? base::Existing::kReplace : base::Existing::kKeep);
}

base::Result<waits::WaitAnalysis> AnalyzeCommand::analyze(Job* job,
                                                          const waits::MorePatterns& more,
                                                          reader::ShareSinks* sinks) const {
  ProgressBar bar("reading " + archive_, "events");
  reader::Progress progress;
  if (!quiet_)
    progress = [&bar](std::uint64_t done, std::uint64_t of) { bar.show(done, of); };
  // Patterns of users are not made for several readers.
  if (more) {
    auto analysis =
        waits::analyze_archive(archive_, progress, waits::with_sinks(sinks), more);
    bar.remove();
    return analysis;
  }
  const std::size_t threads =
      threads_ != 0 ? threads_
                    : std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  auto analysis = job != nullptr
                      ? waits::analyze_in_job(archive_, *job, progress)
                      : waits::analyze_in_threads(archive_, threads, progress, sinks);
  bar.remove();
  return analysis;
}

// The only process, or the first one of a job.
int AnalyzeCommand::run_first(Job* job) {
  base::Result<> done = check();
  if (!done) {
    if (job != nullptr) waits::stop_readers(*job, job->size() - 1);
    return fail(done.error());
  }
  waits::PatternModules modules;
  for (const std::string& file : modules_)
    if (done = modules.load(file); !done) return fail(done.error());
  waits::MorePatterns more;
  if (!modules.empty()) more = [&modules] { return modules.make(); };
  // Of a job each process has the events of some ranks only.
  const auto read = job == nullptr ? summaries_of_events(archive_) : nullptr;
  auto analysis = analyze(job, more, read.get());
  if (!analysis)
    return has_only_summary(archive_) ? print_causes() : fail(analysis.error());
  if (limit_ != 0)
    done = estimate_limited(archive_, limit_, *analysis, more);
  else if (analysis->problems.gaps != 0)
    done = estimate_whole_run(archive_, *analysis);
  if (!done) return fail(done.error());
  auto conclusions = conclude_run(archive_, threads_, read.get());
  if (!conclusions) return fail(conclusions.error());
  add_what_events_say(*conclusions, archive_, *analysis);
  return print_and_write(*analysis, *conclusions);
}

// Of a run without events.
int AnalyzeCommand::print_causes() const {
  const auto conclusions = conclude_run(archive_, threads_);
  if (!conclusions) return fail(conclusions.error());
  if (json_) {
    print(causes_json(*conclusions));
    return kDone;
  }
  print_lines(conclusions_screen(
      *conclusions, {.width = terminal_size().columns, .all = all_, .metrics = metrics_}));
  print_lines({"", "Waits are unknown: recorded without events (--summary-only)."});
  return kDone;
}

int AnalyzeCommand::print_and_write(const waits::WaitAnalysis& analysis,
                                    const analysis::Conclusions& conclusions) const {
  if (json_) {
    put_analysis_json(analysis, &conclusions, [](std::string_view text) { print(text); });
  } else {
    print_lines(findings_screen(
        analysis, conclusions,
        {.width = terminal_size().columns, .all = all_, .metrics = metrics_}));
  }
  const std::string file = cube_file();
  if (file.empty() || limit_ != 0) return kDone;
  const auto experiment = experiment_of_waits(archive_, analysis);
  if (!experiment) return fail(experiment.error());
  const auto done = cube::write_cubex(*experiment, file);
  if (done) return kDone;
  if (!cube_file_.empty()) return fail(done.error());
  // Archives of others are often read-only.
  std::fprintf(stderr, "refrain: %s; --cube writes it elsewhere\n", done.error().c_str());
  return kDone;
}

std::unique_ptr<Subcommand> make_analyze_command() {
  return std::make_unique<AnalyzeCommand>();
}

}  // namespace refrain::tools
