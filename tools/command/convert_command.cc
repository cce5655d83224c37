#include "tools/command/convert_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "convert/convert.h"
#include "tools/command/progress_bar.h"

namespace refrain::tools {

void ConvertCommand::add_options(CLI::App& app) {
  app.add_option("archive", archive_, "the archive's folder, or its traces.otf2")
      ->required();
  app.add_option("--to", format_,
                 "paraver: .prv, .pcf and .row; chrome: JSON for Perfetto and speedscope; "
                 "csv: one row an event")
      ->required()
      ->check(CLI::IsMember({"paraver", "chrome", "csv"}));
  app.add_option("-o,--output", output_,
                 "file to write, - for stdout; default: traces.prv, traces.json or "
                 "traces.csv beside traces.otf2")
      ->type_name("FILE");
  app.add_flag("--overwrite", overwrite_, "replace existing files");
  app.add_flag("--quiet", quiet_,
               "print no progress, and nothing unless something is wrong");
}

int ConvertCommand::run() {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::path(archive_) / "spool", error) &&
      !std::filesystem::exists(std::filesystem::path(archive_) / "traces.otf2", error))
    return fail("'" + archive_ + "' is a recording without an archive: 'refrain recover " +
                archive_ + "' makes the archive");
  convert::ConvertOptions options;
  options.archive = archive_;
  convert::parse_format(format_, options.format);
  options.output = output_;
  options.overwrite = overwrite_;
  ProgressBar bar("converting", "events");
  if (!quiet_)
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
      bar.show(done, total);
    };
  const convert::ConvertResult result = convert::convert_archive(options);
  bar.remove();
  if (!result.error.empty()) return fail(result.error);
  for (const std::string& note : result.notes) fail(note);
  if (!quiet_ && output_ != "-")
    fmt::print("{} events: {}\n", result.events, result.files[0]);
  return kDone;
}

}  // namespace refrain::tools
