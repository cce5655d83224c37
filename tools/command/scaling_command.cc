// `refrain scaling RUN RUN ...`: why a program does not scale.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "analysis/scaling/scaling.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/output/scaling_output.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

class ScalingCommand final : public Subcommand {
 public:
  const char* name() const override { return "scaling"; }
  const char* help() const override {
    return "print why a program does not scale, of runs of different sizes";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::vector<std::string> archives_;
  analysis::ScalingOptions options_;
  bool weak_ = false;
  bool strong_ = false;
  bool json_ = false;
  bool csv_ = false;
  bool all_ = false;
  bool quiet_ = false;
};

}  // namespace

void ScalingCommand::add_options(CLI::App& app) {
  app.add_option("run", archives_,
                 "archives, one a run; the one with fewest threads is the base")
      ->required()
      ->expected(2, 1024);
  auto* whole = app.add_flag("--whole", options_.whole,
                             "factors of the whole runs, without start and end of MPI");
  app.add_option("--loop", options_.loop,
                 "factors of this outermost loop, by a part of its place")
      ->type_name("NAME")
      ->excludes(whole);
  auto* weak =
      app.add_flag("--weak", weak_, "the problem grows with the number of threads");
  app.add_flag("--strong", strong_, "the problem is the same in all runs")->excludes(weak);
  app.add_option("--at", options_.at, "extrapolate models to so many threads")
      ->type_name("N")
      ->check(CLI::Range(1.0, 1e9));
  app.add_flag("--all", all_, "all places, not only those that lose 1 %");
  auto* json = app.add_flag("--json", json_, "everything, as JSON");
  app.add_flag("--csv", csv_, "a line for each place or factor, run and metric, as CSV")
      ->excludes(json);
  app.add_flag("--quiet", quiet_, "print no progress");
}

int ScalingCommand::run() {
  if (weak_ || strong_) options_.weak = weak_;
  std::vector<analysis::Scale> runs;
  ProgressBar bar("reading", "runs");
  for (const std::string& archive : archives_) {
    if (!quiet_) bar.show(runs.size(), archives_.size());
    auto run = read_scale(archive);
    if (!run) {
      bar.remove();
      return fail(run.error());
    }
    runs.push_back(*std::move(run));
  }
  bar.remove();
  const auto scaling = analysis::scaling_of(std::move(runs), options_);
  if (!scaling) return fail(scaling.error());
  if (json_)
    print(scaling_json(*scaling));
  else if (csv_)
    print(scaling_csv(*scaling));
  else
    print_lines(scaling_screen(*scaling, terminal_size().columns, all_));
  return kDone;
}

std::unique_ptr<Subcommand> make_scaling_command() {
  return std::make_unique<ScalingCommand>();
}

}  // namespace refrain::tools
