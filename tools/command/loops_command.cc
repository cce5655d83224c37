// `refrain loops ARCHIVE`: the loops of a program that was sampled while it was traced; `refrain loops --exact --
// program arguments`: as they run, counted exactly (docs/reference/loops.md); `refrain loops FILE ...` joins what such runs
// have written.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analysis/archive_info.h"
#include "base/archive_files.h"
#include "base/new_file.h"
#include "code_profile/loop_profile.h"
#include "code_profile/loop_text.h"
#include "code_profile/raw_profile.h"
#include "code_profile/samples/sample_file.h"
#include "tools/command/subcommand.h"
#include "tools/graph/control_flow_drawing.h"
#include "tools/graph/drawing.h"
#include "tools/output/sampled_loops.h"
#include "tools/programs/valgrind_run.h"

namespace refrain::tools {
namespace {

class LoopsCommand final : public Subcommand {
 public:
  const char* name() const override { return "loops"; }
  const char* help() const override {
    return "print the loops of the source: how often and how long";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  int run_exact();
  // What went wrong, or nothing.
  base::Result<> print_exact(const std::vector<std::string>& files);
  base::Result<> print_samples(const std::string& archive);
  base::Result<> print(const code_profile::LoopProfile& profile) const;
  base::Result<std::string> text_of(const code_profile::LoopProfile& profile) const;

  std::vector<std::string> words_;  // an archive, files, or the program and its arguments
  bool exact_ = false;
  bool json_ = false;
  bool overwrite_ = false;
  std::string format_;
  std::string output_ = "-";
  std::string raw_;
  std::string ranks_;
  double share_ = 1;
};

// Programs that start others: not what was to be counted, if anything else ran.
bool starts_others(const std::string& command) {
  const std::string program =
      std::filesystem::path(command.substr(0, command.find(' '))).filename().string();
  return program.starts_with("mpirun") || program.starts_with("mpiexec") ||
         program.starts_with("hydra_");
}

base::Result<code_profile::LoopProfile> profile_of(const std::vector<std::string>& files) {
  code_profile::ProfileBuilder builder;
  std::vector<code_profile::RawProfile> launchers;
  std::size_t added = 0;
  for (const std::string& file : files) {
    auto raw = code_profile::read_raw_profile(file);
    if (!raw) return raw.failure();
    if (starts_others(raw->command)) {
      launchers.push_back(*std::move(raw));
      continue;
    }
    builder.add_process(*raw);
    ++added;
  }
  if (added == 0)
    for (const code_profile::RawProfile& raw : launchers) builder.add_process(raw);
  return builder.finish();
}

bool is_archive(const std::string& path) {
  std::error_code error;
  return path.ends_with(".otf2") || std::filesystem::is_directory(path, error);
}

// Of these processes alone.
base::Result<> choose(std::vector<code_profile::PlacedSamples>& processes,
                      const std::string& ranks) {
  const auto wanted = parse_number_list(ranks);
  if (!wanted)
    return base::Failure{"'" + ranks + "' is not a list of ranks, such as 0-3,7"};
  for (const NumberRange& range : *wanted)
    if (std::ranges::none_of(processes, [&](const code_profile::PlacedSamples& process) {
          return process.process >= range.first && process.process <= range.last;
        }))
      return base::Failure{"there are no samples of rank " + std::to_string(range.first)};
  std::erase_if(processes, [&](const code_profile::PlacedSamples& process) {
    return std::ranges::none_of(*wanted, [&](const NumberRange& range) {
      return process.process >= range.first && process.process <= range.last;
    });
  });
  return {};
}

}  // namespace

void LoopsCommand::add_options(CLI::App& app) {
  app.add_option(
         "archive", words_,
         "an archive recorded with 'refrain run --loops'; with --exact the program and its "
         "arguments, after --; or files written by --raw")
      ->required();
  app.add_flag("--exact", exact_,
               "run the program in valgrind and count each loop's entries and iterations");
  app.add_flag("--json", json_, "print JSON (docs/reference/loops.md)");
  app.add_option("--to", format_, "the loop call graph; svg: a picture, by Graphviz")
      ->check(CLI::IsMember({"dot", "svg", "graphml", "json"}));
  app.add_option("--share", share_,
                 "minimum share of instructions or samples to print, in percent")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_option(
         "--raw", raw_,
         "keep the counts of each process in PREFIX.PID.N, for 'refrain loops PREFIX.*'")
      ->type_name("PREFIX");
  app.add_option("--ranks", ranks_, "from an archive: only these processes, e.g. 0-3,7")
      ->type_name("LIST");
  app.add_option("-o,--output", output_, "file to write (default: -, stdout)")
      ->type_name("FILE");
  app.add_flag("--overwrite", overwrite_, "replace an existing file");
}

int LoopsCommand::run() {
  if (json_ && !format_.empty())
    return fail("--json prints the profile, --to the graph: choose one");
  const base::Existing existing =
      overwrite_ ? base::Existing::kReplace : base::Existing::kKeep;
  if (const auto may = base::may_place(output_, existing); output_ != "-" && !may)
    return fail(may.error());
  const bool archive = !exact_ && words_.size() == 1 && is_archive(words_.front());
  if (!ranks_.empty() && !archive) return fail("--ranks is for archives");
  if (exact_) return run_exact();
  if (!raw_.empty()) return fail("--raw is for --exact");
  const auto done = archive ? print_samples(words_.front()) : print_exact(words_);
  return done ? kDone : fail(done.error());
}

int LoopsCommand::run_exact() {
  ValgrindRun valgrind;
  base::Result<> done = valgrind.run(words_, raw_);
  if (done) done = print_exact(valgrind.files());
  if (!done) return fail(done.error());
  // The program's own, as if it had run alone.
  return valgrind.status();
}

base::Result<> LoopsCommand::print_exact(const std::vector<std::string>& files) {
  const auto profile = profile_of(files);
  return profile ? print(*profile) : profile.failure();
}

base::Result<> LoopsCommand::print_samples(const std::string& archive) {
  const std::string folder = base::archive_folder(archive);
  auto processes = code_profile::read_sample_files(folder);
  if (!processes) return processes.failure();
  if (processes->empty())
    return base::Failure{base::holds_archive(folder)
                             ? "'" + archive +
                                   "' was not sampled; 'refrain run --loops' samples"
                             : "'" + archive + "' is not an archive"};
  if (!ranks_.empty())
    if (const auto done = choose(*processes, ranks_); !done) return done;
  // Samples can be read without the archive around them.
  std::error_code error;
  const bool whole = std::filesystem::exists(folder + "/traces.otf2", error);
  const auto profile = sampled_loops(
      *processes, whole ? analysis::read_archive_info(archive) : analysis::ArchiveInfo());
  return profile ? print(*profile) : profile.failure();
}

base::Result<> LoopsCommand::print(const code_profile::LoopProfile& profile) const {
  for (const std::string& complaint : profile.complaints)
    std::fprintf(stderr, "refrain: %s\n", complaint.c_str());
  const auto text = text_of(profile);
  if (!text) return text.failure();
  return write_text(*text, output_,
                    overwrite_ ? base::Existing::kReplace : base::Existing::kKeep);
}

base::Result<std::string> LoopsCommand::text_of(
    const code_profile::LoopProfile& profile) const {
  if (json_) return code_profile::profile_json(profile, share_ / 100);
  if (format_.empty()) return code_profile::flat_text(profile, share_ / 100);
  return tools::text_of(loop_drawing(profile, share_ / 100), format_);
}

std::unique_ptr<Subcommand> make_loops_command() {
  return std::make_unique<LoopsCommand>();
}

}  // namespace refrain::tools
