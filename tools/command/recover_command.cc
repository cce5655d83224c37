// `refrain recover ARCHIVE`: makes the archive of a process that was killed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_totals.h"
#include "base/folder.h"
#include "base/texts.h"
#include "base/version.h"
#include "convert/convert.h"
#include "spool/spool_folder.h"
#include "spool/spool_place.h"
#include "tools/command/subcommand.h"
#include "tools/output/info_screen.h"
#include "tools/output/left_recording.h"
#include "tools/output/standard_output.h"
#include "writer/archive_writer.h"
#include "writer/summary.h"

namespace refrain::tools {
namespace {

class RecoverCommand final : public Subcommand {
 public:
  const char* name() const override { return "recover"; }
  const char* help() const override { return "make the archive of a run that was killed"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  int collect();

  std::string archive_;
  std::string filter_;
  std::string clock_ = "offsets";
  std::string format_ = "otf2";
  bool overwrite_ = false;
  bool collect_ = false;
  bool incomplete_ = false;
  std::vector<std::string> spool_dirs_;
  bool keep_spool_ = false;
  bool quiet_ = false;
};

}  // namespace

namespace fs = std::filesystem;

void RecoverCommand::add_options(CLI::App& app) {
  app.add_option("archive", archive_, "the archive's directory, with a spool in it")
      ->required();
  app.add_option("--filter", filter_, "filter file (default: that of the run)")
      ->type_name("FILE");
  app.add_option(
         "--clock", clock_,
         "offsets: as measured (default); logical: corrected so that no message arrives before "
         "it was sent")
      ->check(CLI::IsMember({"offsets", "logical"}));
  app.add_option(
         "--format", format_,
         "otf2: the archive; paraver: .prv, .pcf and .row instead; otf2,paraver: both")
      ->check(CLI::IsMember({"otf2", "paraver", "otf2,paraver", "paraver,otf2"}));
  app.add_option("--spool-dir", spool_dirs_,
                 "directory with spools (refrain-spool-...) that were moved or copied")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_flag("--collect", collect_,
               "only move the spools on this host into the archive's directory (after "
               "--spool-dir; once on each node)");
  app.add_flag("--incomplete", incomplete_,
               "do without spools on other hosts; keeps the spool");
  app.add_flag("--overwrite", overwrite_, "replace an existing archive");
  app.add_flag("--keep-spool", keep_spool_, "keep the raw trace data");
  app.add_flag("--quiet", quiet_, "print only errors");
}

int RecoverCommand::collect() {
  const auto collected = spool::collect_spools(archive_);
  if (!collected) return fail(collected.error());
  if (quiet_) return kDone;
  const auto distant = spool::distant_spools(archive_);
  print("{} {} moved into '{}'; {}\n", *collected, *collected == 1 ? "spool" : "spools",
        archive_,
        distant.empty()
            ? "'refrain recover " + base::shell_word(archive_) + "' makes the archive"
            : "those of " + spool::places_text(distant));
  return kDone;
}

int RecoverCommand::run() {
  std::error_code error;
  if (const std::string why = why_no_recording(archive_, spool_dirs_); !why.empty())
    return fail(why + (spool::remove_empty_recording(archive_) ? "; it was removed" : ""));
  if (!fs::is_directory(archive_, error))
    return fail("'" + archive_ + "' is not a directory");
  if (const std::string whole = spool::archive_of_place(archive_);
      !whole.empty() && fs::exists(fs::path(whole) / "spool", error))
    return fail(
        fmt::format("'{}' is the spool of one process of '{}': 'refrain recover {}'",
                    archive_, whole, whole));
  if (!fs::exists(fs::path(archive_) / "spool", error)) {
    if (fs::exists(fs::path(archive_) / "traces.otf2", error))
      return fail("'" + archive_ +
                  "' has its archive already; there is nothing to recover");
    return fail("'" + archive_ + "' has no spool of Refrain");
  }
  if (const long pid = spool::recording_process(archive_); pid != 0)
    return fail(fmt::format("process {} still writes to '{}'", pid, archive_));
  for (const std::string& folder : spool_dirs_) {
    if (!fs::is_directory(folder, error))
      return fail("'" + folder + "' is not a directory");
    spool::find_moved_spools(archive_, folder);
  }
  if (collect_) return collect();
  if (const auto distant = spool::distant_spools(archive_);
      !distant.empty() && !incomplete_)
    return fail(fmt::format(
        "the spools of {}, not visible from here: 'refrain recover --collect {}' on each of these hosts moves them; --spool-dir names another place; --incomplete does without them",
        spool::places_text(distant), archive_));
  writer::WriteOptions options;
  options.archive = archive_;
  options.incomplete = incomplete_;
  options.recovered = true;
  options.overwrite = overwrite_;
  options.keep_spool = keep_spool_;
  options.version = kVersion;
  options.logical_clock = clock_ == "logical";
  options.filter_of_run = filter_.empty();
  const std::string others = other_parts(archive_);
  if (!filter_.empty()) {
    auto text = base::small_text(filter_);
    if (!text) return fail("'" + filter_ + "' " + text.error());
    options.filter = *std::move(text);
  }
  const auto result = writer::write_archive(options);
  if (!result) return fail(result.error());
  for (const std::string& line : writer::loss_lines(*result)) fail(line);
  if (!others.empty()) fail(others);
  const convert::FormatsResult formats = convert::write_formats(archive_, format_);
  for (const std::string& line : formats.warnings) fail(line);
  if (!quiet_) {
    std::vector<std::string> lines = writer::summary_lines(*result, archive_);
    // None where only another format was asked for.
    const auto read = analysis::read_run_totals(archive_);
    const std::string totals = read ? totals_text(*read) : std::string();
    if (!totals.empty()) lines.insert(lines.end() - 1, "whole run: " + totals);
    for (const std::string& line : lines) print("{}\n", line);
  }
  if (!quiet_ && !formats.files.empty()) print("for Paraver: {}\n", formats.files.front());
  return kDone;
}

std::unique_ptr<Subcommand> make_recover_command() {
  return std::make_unique<RecoverCommand>();
}

}  // namespace refrain::tools
