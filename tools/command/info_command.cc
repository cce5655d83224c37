// `refrain info ARCHIVE`: what is in an archive.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "analysis/archive_info.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/output/analyze_output.h"
#include "tools/output/info_data.h"
#include "tools/output/info_screen.h"
#include "tools/output/left_recording.h"
#include "tools/output/standard_output.h"
#include "tools/output/whole_run.h"

namespace refrain::tools {
namespace {

class InfoCommand final : public Subcommand {
 public:
  const char* name() const override { return "info"; }
  const char* help() const override { return "print what is in an archive"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string archive_;
  bool json_ = false;
  bool all_ = false;
  bool bodies_ = false;
  bool allocations_ = false;
};

using analysis::ArchiveInfo;

}  // namespace

void InfoCommand::add_options(CLI::App& app) {
  app.add_option("archive", archive_, "the archive: its directory or its traces.otf2")
      ->required();
  app.add_flag("--all", all_, "all loops (default: those with at least 1 % of the time)");
  app.add_flag("--bodies", bodies_, "also loop bodies: the events of an iteration");
  app.add_flag("--allocations", allocations_,
               "also the call paths that allocate (of refrain run --memory)");
  app.add_flag("--json", json_, "as JSON");
}

int InfoCommand::run() {
  std::error_code error;
  if (const std::string why = why_no_archive(archive_); !why.empty()) return fail(why);
  if (std::filesystem::exists(std::filesystem::path(archive_) / "traces.prv", error) &&
      !std::filesystem::exists(std::filesystem::path(archive_) / "traces.otf2", error))
    return fail("'" + archive_ +
                "' has only a Paraver trace (--format paraver), which refrain info cannot "
                "read: open its traces.prv with Paraver");
  const auto read = analysis::read_archive_info(archive_);
  if (!read) return fail(read.error());
  const ArchiveInfo& info = *read;
  // All else is known without it.
  if (!info.totals) fail(info.totals.error() + "; totals of the whole run are left out");
  if (json_) {
    put_info_json(info, archive_, [](std::string_view text) { print(text); });
    return kDone;
  }
  constexpr std::size_t kMaxLines = 40;
  const TerminalSize size = terminal_size();
  ScreenOptions options{.width = size.columns, .all = all_, .bodies = bodies_};
  if (size.lines > 16) options.height = std::min(kMaxLines, size.lines - 1);
  print_lines(info_screen(info, archive_, options));
  if (const auto conclusions = conclude_summaries(archive_))
    print_lines(first_cause_screen(*conclusions, size.columns));
  if (!allocations_ || !info.totals) return kDone;
  if (info.totals->allocations.processes == 0)
    return fail("no allocations were counted: record with refrain run --memory");
  print("\n");
  print_lines(allocation_lines(info.totals->allocations, size.columns));
  return kDone;
}

std::unique_ptr<Subcommand> make_info_command() { return std::make_unique<InfoCommand>(); }

}  // namespace refrain::tools
