// `refrain report ARCHIVE [ARCHIVE ...]`: one page that tells what a run did, what differs in two, why many do not scale, or which of many are
// slow.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "analysis/report/blocks.h"
#include "analysis/scaling/scaling.h"
#include "base/archive_files.h"
#include "base/new_file.h"
#include "base/notes.h"
#include "base/version.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/output/ensemble_output.h"
#include "tools/output/left_recording.h"
#include "tools/output/scaling_output.h"
#include "tools/report/report_run.h"

namespace refrain::tools {
namespace {

constexpr double kMinLoss = 0.001;  // of a place, of the time of all threads

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
  base::Result<> add_runs(report::Blocks& blocks);
  base::Result<> add_scaling(report::Blocks& blocks);
  base::Result<> add_ensemble(report::Blocks& blocks);
  void take_notes();

  std::vector<std::string> archives_;
  nlohmann::ordered_json about_;  // the block `report`
  std::string output_ = "report.html";
  bool overwrite_ = false;
  bool quiet_ = false;
};

}  // namespace

using Json = nlohmann::ordered_json;

void ReportCommand::add_options(CLI::App& app) {
  app.add_option(
         "archive", archives_,
         "the archive: its directory or its traces.otf2; a second one for comparison; "
         "more, or a directory of archives: runs of different sizes, or of one size, as for "
         "refrain scaling")
      ->required()
      ->expected(1, 4096);
  app.add_option("-o,--output", output_, "the file to write")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--overwrite", overwrite_, "replace an existing file");
  app.add_flag("--quiet", quiet_, "print no progress");
}

base::Result<> ReportCommand::check() const {
  for (const std::string& archive : archives_)
    if (const std::string why = why_no_archive(archive); !why.empty())
      return base::Failure{why};
  return base::may_place(output_,
                         overwrite_ ? base::Existing::kReplace : base::Existing::kKeep);
}

// To the page, and to who waits for it.
void ReportCommand::take_notes() {
  for (const std::string& note : base::take_notes()) {
    about_["limits"].push_back(note);
    fail(note);
  }
}

// One run, or two and what differs.
base::Result<> ReportCommand::add_runs(report::Blocks& blocks) {
  const char* const keys[] = {"a", "b"};
  std::set<std::size_t> sizes;
  for (std::size_t i = 0; i < archives_.size(); ++i) {
    ProgressBar bar("reading " + archives_[i], "events");
    reader::Progress progress;
    if (!quiet_)
      progress = [&bar](std::uint64_t done, std::uint64_t of) { bar.show(done, of); };
    const auto run = report_run(archives_[i], keys[i], blocks, progress);
    bar.remove();
    if (!run) return run.failure();
    about_["runs"].push_back(run->facts());
    sizes.insert(run->locations);
    for (const std::string& limit : run->limits) about_["limits"].push_back(limit);
    take_notes();
  }
  if (archives_.size() == 1) return {};
  const auto comparison = report_comparison(archives_[0], archives_[1], {});
  if (!comparison) return comparison.failure();
  blocks.add("compare", *comparison);
  if (sizes.size() == 1) return {};
  if (const auto scaling = read_scaling(archives_, {}, {}))  // else: of another program
    blocks.add("scaling", scaling_value(*scaling));
  return {};
}

// Many runs: what is of all of them, so that the page does not grow with their sizes.
base::Result<> ReportCommand::add_scaling(report::Blocks& blocks) {
  ProgressBar bar("reading", "runs");
  reader::Progress progress;
  if (!quiet_)
    progress = [&bar](std::uint64_t done, std::uint64_t of) { bar.show(done, of); };
  auto scaling = read_scaling(archives_, {}, progress);
  bar.remove();
  if (!scaling) return scaling.failure();
  take_notes();
  const std::size_t all = scaling->losses.size();
  std::erase_if(scaling->losses, [&](const analysis::PlaceLoss& loss) {
    return loss.lost_ns.back() < kMinLoss * scaling->all_ns.back();
  });
  if (scaling->losses.size() != all)
    about_["limits"].push_back(
        std::to_string(all - scaling->losses.size()) +
        " places are left out that lose less than 0.1 % of the largest run");
  about_["program"] = std::filesystem::path(scaling->program).filename().string();
  about_["archives"] = archives_.size();
  blocks.add("scaling", scaling_value(*scaling));
  return {};
}

// Many runs of one size. Their own reports, where there are any, are links.
base::Result<> ReportCommand::add_ensemble(report::Blocks& blocks) {
  ProgressBar bar("reading", "runs");
  reader::Progress progress;
  if (!quiet_)
    progress = [&bar](std::uint64_t done, std::uint64_t of) { bar.show(done, of); };
  const auto ensemble = read_ensemble(archives_, progress);
  bar.remove();
  if (!ensemble) return ensemble.failure();
  take_notes();
  about_["program"] = std::filesystem::path(ensemble->program).filename().string();
  about_["archives"] = archives_.size();
  Json value = ensemble_value(*ensemble);
  const std::filesystem::path here =
      std::filesystem::absolute(output_).lexically_normal().parent_path();
  for (Json& member : value["members"]) {
    const std::filesystem::path page =
        std::filesystem::path(base::archive_folder(member["archive"].get<std::string>())) /
        "report.html";
    std::error_code error;
    member["report"] =
        std::filesystem::exists(page, error)
            ? Json(std::filesystem::absolute(page).lexically_normal().lexically_relative(
                  here))
            : Json();
  }
  blocks.add("ensemble", value);
  return {};
}

int ReportCommand::run() {
  archives_ = archives_in(archives_);
  if (const auto done = check(); !done) return fail(done.error());
  about_ = {{"version", 1},
            {"made_by", std::string("refrain ") + kVersion},
            {"runs", Json::array()},
            {"limits", Json::array()}};
  report::Blocks blocks;
  const auto added = are_of_one_size(archives_) ? add_ensemble(blocks)
                     : archives_.size() > 2     ? add_scaling(blocks)
                                                : add_runs(blocks);
  if (!added) return fail(added.error());
  blocks.add("report", about_);
  const auto done = report::write_report(output_, report::page_text(), blocks, overwrite_);
  return done.ok() ? kDone : fail(done.error());
}

std::unique_ptr<Subcommand> make_report_command() {
  return std::make_unique<ReportCommand>();
}

}  // namespace refrain::tools
