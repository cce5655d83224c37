// `refrain scaling RUN RUN ...`: why a program does not scale. With --record it makes the runs first.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/scaling/scaling.h"
#include "base/result.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/output/ensemble_output.h"
#include "tools/output/scaling_output.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kRepeats = 3;
constexpr auto kShort = std::chrono::minutes(1);

class ScalingCommand final : public Subcommand {
 public:
  const char* name() const override { return "scaling"; }
  const char* help() const override {
    return "find why a program does not scale, from runs of different sizes";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  base::Result<> record();
  base::Result<> record_one(const std::string& archive, const std::string& scale);

  std::vector<std::string>
      runs_;  // archives and directories of them; with --record: scales
  std::string command_;
  std::string folder_ = "scaling";
  unsigned repeat_ = 0;  // 0: kRepeats, if that is short
  bool summary_only_ = false;
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
  app.add_option(
         "run", runs_,
         "archives (one per run) or directories of archives; the one with the fewest threads is the base. With --record: numbers of ranks or threads")
      ->required()
      ->expected(1, 4096);
  auto* record =
      app.add_option("--record", command_,
                     "record the runs first, with each number in place of {}: 'mpirun -n "
                     "{} ./app' or 'OMP_NUM_THREADS={} ./app'")
          ->type_name("COMMAND");
  app.add_option("-o,--output", folder_,
                 "directory of the recorded archives, NUMBER-REPEAT")
      ->type_name("DIR")
      ->needs(record)
      ->capture_default_str();
  app.add_option(
         "--repeat", repeat_,
         "runs of each number; the median time counts (default: 3, or 1 if a run takes a minute)")
      ->type_name("K")
      ->needs(record)
      ->check(CLI::Range(1U, 1000U));
  app.add_flag("--summary-only", summary_only_,
               "record no events; serialization and transfer are then unknown")
      ->needs(record);
  auto* whole = app.add_flag("--whole", options_.whole,
                             "factors of the whole runs, without MPI start and end");
  app.add_option("--loop", options_.loop,
                 "factors of this outermost loop; a part of its place is enough")
      ->type_name("NAME")
      ->excludes(whole);
  auto* weak = app.add_flag("--weak", weak_,
                            "weak scaling: the problem grows with the number of "
                            "threads");
  app.add_flag("--strong", strong_, "strong scaling: the problem is the same in all runs")
      ->excludes(weak);
  app.add_option("--at", options_.at, "extrapolate models to this number of threads")
      ->type_name("N")
      ->check(CLI::Range(1.0, 1e9));
  app.add_flag("--all", all_, "all places (default: those that lose 1 % or more)");
  auto* json = app.add_flag("--json", json_, "everything, as JSON");
  app.add_flag("--csv", csv_, "CSV: a row for each place or factor, run and metric")
      ->excludes(json);
  app.add_flag("--quiet", quiet_, "print no progress");
}

// As `refrain run` does it. The program's output goes to standard error.
base::Result<> ScalingCommand::record_one(const std::string& archive,
                                          const std::string& scale) {
  std::error_code error;
  const std::string self = fs::read_symlink("/proc/self/exe", error).string();
  std::vector<std::string> words = {self, "run", "-o", archive};
  if (summary_only_) words.emplace_back("--summary-only");
  words.emplace_back("--");
  const std::size_t program = words.size();
  std::vector<std::string> variables;
  for (std::string word : CLI::detail::split_up(command_)) {
    for (std::size_t at; (at = word.find("{}")) != std::string::npos;)
      word.replace(at, 2, scale);
    const std::size_t sign = word.find('=');
    const bool is_variable = words.size() == program && sign != std::string::npos &&
                             word.find('/') > sign && !word.starts_with('-');
    (is_variable ? variables : words).push_back(std::move(word));
  }
  if (words.size() == program) return base::Failure{"--record: there is no program"};
  std::vector<char*> arguments, environment;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view whole = *each;
    const std::string_view name = whole.substr(0, whole.find('=') + 1);
    const bool is_set = std::ranges::any_of(variables, [&](const std::string& variable) {
      return !name.empty() && variable.starts_with(name);
    });
    if (!is_set) environment.push_back(*each);
  }
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int failed = posix_spawn(&child, self.c_str(), &actions, nullptr, arguments.data(),
                                 environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return base::Failure{"cannot start '" + self + "'"};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return base::Failure{"the run on " + scale + " failed: what was recorded is in " +
                         folder_};
  return {};
}

base::Result<> ScalingCommand::record() {
  if (command_.find("{}") == std::string::npos)
    return base::Failure{"--record: '" + command_ +
                         "' has no {} where the number of ranks or threads should be"};
  std::vector<std::string> scales;
  for (const std::string& words : runs_)
    for (const std::string& scale : CLI::detail::split(words, ',')) {
      if (scale.empty() || scale.size() > 7 || scale[0] == '0' ||
          scale.find_first_not_of("0123456789") != std::string::npos)
        return base::Failure{"--record: '" + scale +
                             "' is not a number of ranks or threads"};
      scales.push_back(scale);
    }
  if (scales.size() < 2) return base::Failure{"--record: give at least two numbers"};
  std::error_code error;
  if (fs::exists(folder_, error) && !fs::is_empty(folder_, error))
    return base::Failure{
        "'" + folder_ +
        "' exists: name another directory with --output, or read what is in it "
        "with: refrain scaling " +
        folder_};
  fs::create_directories(folder_, error);
  runs_.clear();
  for (const std::string& scale : scales) {
    const unsigned repeats = repeat_ == 0 ? kRepeats : repeat_;
    for (unsigned i = 1; i <= repeats; ++i) {
      runs_.push_back((fs::path(folder_) / (scale + "-" + std::to_string(i))).string());
      const auto begin = std::chrono::steady_clock::now();
      if (const auto done = record_one(runs_.back(), scale); !done) return done;
      if (repeat_ == 0 && std::chrono::steady_clock::now() - begin > kShort) break;
    }
  }
  return {};
}

int ScalingCommand::run() {
  if (weak_ || strong_) options_.weak = weak_;
  if (!command_.empty())
    if (const auto done = record(); !done) return fail(done.error());
  const std::vector<std::string> found = archives_in(runs_);
  if (found.size() < 2) {
    const auto one = read_scale(found.front());
    return fail(one ? "give at least two runs: '" + found.front() + "' is one"
                    : one.error());
  }
  ProgressBar bar("reading", "runs");
  reader::Progress progress;
  if (!quiet_)
    progress = [&bar](std::uint64_t done, std::uint64_t of) { bar.show(done, of); };
  if (are_of_one_size(found)) {
    const auto ensemble = read_ensemble(found, progress);
    bar.remove();
    if (!ensemble) return fail(ensemble.error());
    if (json_)
      print(ensemble_json(*ensemble));
    else if (csv_)
      print(ensemble_csv(*ensemble));
    else
      print_lines(ensemble_screen(*ensemble, terminal_size().columns, all_));
    return kDone;
  }
  const auto scaling = read_scaling(found, options_, progress);
  bar.remove();
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
