// `refrain profile ARCHIVE`: where the time of a run went.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/new_file.h"
#include "cube/write_cube.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/output/left_recording.h"
#include "tools/output/message_output.h"
#include "tools/output/profile_data.h"
#include "tools/output/profile_iterations.h"
#include "tools/output/profile_screen.h"
#include "tools/output/profile_source.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

class ProfileCommand final : public Subcommand {
 public:
  const char* name() const override { return "profile"; }
  const char* help() const override { return "print where the time of a run went"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  int run_iterations();
  void print_run(const ProfiledRun& run) const;

  std::string archive_;
  bool json_ = false;
  bool csv_ = false;
  bool all_ = false;
  bool from_events_ = false;
  std::string cube_file_;  // empty: none
  bool overwrite_ = false;
  bool iterations_ = false;
  bool messages_ = false;
  bool quiet_ = false;
};

// Archives name processes, not programs: their call paths begin with one program all the same.
std::vector<summary::RunSummary> cube_summaries(ProfiledRun& run) {
  std::vector<summary::RunSummary> out = std::move(run.summaries);
  const std::string program = run.command.substr(0, run.command.find(' '));
  for (summary::RunSummary& summary : out)
    if (run.from_events) summary.program = program.empty() ? "program" : program;
  return out;
}

}  // namespace

void ProfileCommand::add_options(CLI::App& app) {
  app.add_option("archive", archive_, "the archive: its directory or its traces.otf2")
      ->required();
  app.add_flag("--all", all_, "all call paths, parallel regions and MPI procedures");
  auto* json = app.add_flag("--json", json_, "everything, as JSON");
  auto* csv = app.add_flag("--csv", csv_, "CSV: a row for each call path and thread")
                  ->excludes(json);
  auto* cube = app.add_option("--cube", cube_file_, "write a Cube profile (.cubex)")
                   ->type_name("FILE")
                   ->excludes(json)
                   ->excludes(csv);
  app.add_flag("--overwrite", overwrite_, "replace an existing file");
  auto* events =
      app.add_flag("--events", from_events_, "use events even if a summary exists");
  app.add_flag("--iterations", iterations_,
               "time by class for the iterations of each outermost loop; "
               "with --json and --csv for each thread")
      ->excludes(events)
      ->excludes(cube);
  app.add_flag("--messages", messages_,
               "MPI by message size and partner; with --json and --csv also by process")
      ->excludes("--iterations")
      ->excludes(cube);
  app.add_flag("--quiet", quiet_, "print no progress");
}

int ProfileCommand::run_iterations() {
  constexpr std::size_t kMaxParts = 12;
  const auto read = read_iterations(archive_, kMaxParts);
  if (!read) return fail(read.error());
  const ProfiledIterations& run = *read;
  if (json_)
    print(iterations_json(run));
  else if (csv_)
    print(iterations_csv(run));
  else
    print_lines(iterations_screen(run, terminal_size().columns, all_));
  return kDone;
}

void ProfileCommand::print_run(const ProfiledRun& run) const {
  const auto put = [](std::string_view text) { print(text); };
  if (json_) return messages_ ? put(messages_json(run)) : put_profile_json(run, put);
  if (csv_) return messages_ ? put(messages_csv(run)) : put_profile_csv(run, put);
  print_lines(profile_screen(
      run, {.width = terminal_size().columns, .all = all_, .messages = messages_}));
}

int ProfileCommand::run() {
  if (const auto may = base::may_place(
          cube_file_, overwrite_ ? base::Existing::kReplace : base::Existing::kKeep);
      !may)
    return fail(may.error());
  if (const std::string why = why_no_archive(archive_); !why.empty()) return fail(why);
  if (iterations_) return run_iterations();
  ProgressBar bar("reading " + archive_, "events");
  reader::Progress progress;
  if (!quiet_)
    progress = [&bar](std::uint64_t done, std::uint64_t of) { bar.show(done, of); };
  auto profiled = read_profiled_run(archive_, from_events_, progress);
  // What the summary does not say is counted in the events, if there are any.
  if (messages_ && profiled && !profiled->messages.complete() && !profiled->summary_only)
    profiled = read_profiled_run(archive_, true, progress);
  bar.remove();
  if (!profiled) return fail(profiled.error());
  if (!cube_file_.empty()) {
    const auto done = cube::write_cube(cube_summaries(*profiled), cube_file_);
    return done.ok() ? kDone : fail(done.error());
  }
  print_run(*profiled);
  return kDone;
}

std::unique_ptr<Subcommand> make_profile_command() {
  return std::make_unique<ProfileCommand>();
}

}  // namespace refrain::tools
