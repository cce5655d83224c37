#include "tools/command/loops_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "loops/profile/loop_text.h"
#include "loops/profile/raw_profile.h"
#include "tools/command/drawing_output.h"
#include "tools/command/valgrind_run.h"
#include "tools/graph/loop_drawing.h"

namespace refrain::tools {
namespace {

// Programs that start others: not what was to be counted, if anything else ran.
bool starts_others(const std::string& command) {
  const std::string program =
      std::filesystem::path(command.substr(0, command.find(' '))).filename().string();
  return program.starts_with("mpirun") || program.starts_with("mpiexec") ||
         program.starts_with("hydra_");
}

loops::LoopProfile profile_of(const std::vector<std::string>& files) {
  loops::ProfileBuilder builder;
  std::vector<loops::RawProfile> launchers;
  std::size_t added = 0;
  for (const std::string& file : files) {
    loops::RawProfile raw = loops::read_raw_profile(file);
    if (starts_others(raw.command)) {
      launchers.push_back(std::move(raw));
      continue;
    }
    builder.add_process(raw);
    ++added;
  }
  if (added == 0)
    for (const loops::RawProfile& raw : launchers) builder.add_process(raw);
  return builder.finish();
}

}  // namespace

void LoopsCommand::add_options(CLI::App& app) {
  app.add_option(
         "words", words_,
         "with --exact the program and its arguments, after --; else files that --raw kept")
      ->required();
  app.add_flag("--exact", exact_,
               "run the program in valgrind and count each loop's entries and iterations");
  app.add_flag("--json", json_, "print JSON (docs/loops.md)");
  app.add_option("--to", format_, "the loop call graph; svg: a picture, by Graphviz")
      ->check(CLI::IsMember({"dot", "svg", "graphml", "json"}));
  app.add_option(
         "--share", share_,
         "print and draw what has this part of all instructions at least, in percent")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_option(
         "--raw", raw_,
         "keep what each process counted, in PREFIX.PID.N, for 'refrain loops PREFIX.*'")
      ->type_name("PREFIX");
  app.add_option("-o,--output", output_, "file to write (default: -, stdout)");
  app.add_flag("--overwrite", overwrite_, "replace an existing file");
}

int LoopsCommand::run() {
  std::error_code error;
  if (json_ && !format_.empty())
    return fail("--json prints the profile, --to the graph: choose one");
  if (output_ != "-" && !overwrite_ && std::filesystem::exists(output_, error))
    return fail("'" + output_ + "' exists; --overwrite replaces it");
  if (exact_) return run_exact();
  if (!raw_.empty()) return fail("--raw is for --exact");
  const std::string problem = print(words_);
  return problem.empty() ? kDone : fail(problem);
}

int LoopsCommand::run_exact() {
  ValgrindRun valgrind;
  std::string problem = valgrind.run(words_, raw_);
  if (problem.empty()) problem = print(valgrind.files());
  if (!problem.empty()) return fail(problem);
  // The program's own, as if it had run alone.
  return valgrind.status();
}

std::string LoopsCommand::print(const std::vector<std::string>& files) {
  try {
    const loops::LoopProfile profile = profile_of(files);
    for (const std::string& complaint : profile.complaints)
      std::fprintf(stderr, "refrain: %s\n", complaint.c_str());
    std::string text;
    if (std::string problem = text_of(profile, text); !problem.empty()) return problem;
    return write_text(text, output_);
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

std::string LoopsCommand::text_of(const loops::LoopProfile& profile,
                                  std::string& text) const {
  if (json_) {
    text = loops::profile_json(profile);
  } else if (format_.empty()) {
    text = loops::flat_text(profile, share_ / 100);
  } else {
    return tools::text_of(loop_drawing(profile, share_ / 100), format_, text);
  }
  return {};
}

}  // namespace refrain::tools
