// `refrain report ARCHIVE [ARCHIVE]`: one page that tells what a run did, or two runs, as one file.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/report/blocks.h"
#include "base/new_file.h"
#include "base/notes.h"
#include "base/texts.h"
#include "base/version.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/report/report_run.h"

namespace refrain::tools {
namespace {

class ReportCommand final : public Subcommand {
 public:
  const char* name() const override { return "report"; }
  const char* help() const override {
    return "write an HTML report: findings, timeline, iterations, waits";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  base::Result<> check() const;

  std::vector<std::string> archives_;
  std::string output_ = "report.html";
  bool overwrite_ = false;
  bool quiet_ = false;
};

}  // namespace

using Json = nlohmann::ordered_json;

void ReportCommand::add_options(CLI::App& app) {
  app.add_option(
         "archive", archives_,
         "the archive: its directory or its traces.otf2; a second one for comparison")
      ->required()
      ->expected(1, 2);
  app.add_option("-o,--output", output_, "the file to write")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--overwrite", overwrite_, "replace an existing file");
  app.add_flag("--quiet", quiet_, "print no progress");
}

base::Result<> ReportCommand::check() const {
  std::error_code error;
  for (const std::string& archive : archives_) {
    const std::filesystem::path folder(archive);
    if (std::filesystem::exists(folder / "spool", error) &&
        !std::filesystem::exists(folder / "traces.otf2", error))
      return base::Failure{"'" + archive +
                           "' is a recording without an archive: 'refrain recover " +
                           base::shell_word(archive) + "' makes the archive"};
  }
  return base::may_place(output_,
                         overwrite_ ? base::Existing::kReplace : base::Existing::kKeep);
}

int ReportCommand::run() {
  if (const auto done = check(); !done) return fail(done.error());
  report::Blocks blocks;
  Json runs = Json::array(), limits = Json::array();
  const char* const keys[] = {"a", "b"};
  for (std::size_t i = 0; i < archives_.size(); ++i) {
    ProgressBar bar("reading " + archives_[i], "events");
    reader::Progress progress;
    if (!quiet_)
      progress = [&bar](std::uint64_t done, std::uint64_t of) { bar.show(done, of); };
    const auto run = report_run(archives_[i], keys[i], blocks, progress);
    bar.remove();
    if (!run) return fail(run.error());
    runs.push_back(run->facts());
    for (const std::string& limit : run->limits) limits.push_back(limit);
    for (const std::string& note : base::take_notes()) {
      limits.push_back(note);
      fail(note);
    }
  }
  if (archives_.size() == 2) {
    const auto comparison = report_comparison(archives_[0], archives_[1], {});
    if (!comparison) return fail(comparison.error());
    blocks.add("compare", *comparison);
  }
  blocks.add("report", Json{{"version", 1},
                            {"made_by", std::string("refrain ") + kVersion},
                            {"runs", runs},
                            {"limits", limits}});
  const auto done = report::write_report(output_, report::page_text(), blocks, overwrite_);
  return done.ok() ? kDone : fail(done.error());
}

std::unique_ptr<Subcommand> make_report_command() {
  return std::make_unique<ReportCommand>();
}

}  // namespace refrain::tools
