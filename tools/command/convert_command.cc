// `refrain convert ARCHIVE --to FORMAT`: an OTF2 archive of any tool in another format.
#include <fmt/format.h>
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "convert/convert.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/output/left_recording.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

class ConvertCommand final : public Subcommand {
 public:
  const char* name() const override { return "convert"; }
  const char* help() const override {
    return "convert an archive to Paraver, Perfetto, Chrome's trace format or CSV";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string archive_;
  std::string format_;
  std::string output_;
  bool overwrite_ = false;
  bool quiet_ = false;
};

}  // namespace

void ConvertCommand::add_options(CLI::App& app) {
  app.add_option("archive", archive_, "the archive: its directory or its traces.otf2")
      ->required();
  app.add_option(
         "--to", format_,
         "paraver: .prv, .pcf and .row; perfetto: for ui.perfetto.dev; chrome: JSON for "
         "speedscope; csv: one row per event")
      ->required()
      ->check(CLI::IsMember({"paraver", "perfetto", "chrome", "csv"}));
  app.add_option("-o,--output", output_,
                 "file to write, - for stdout; default: traces.prv, traces.pftrace, "
                 "traces.json or traces.csv in the archive")
      ->type_name("FILE");
  app.add_flag("--overwrite", overwrite_, "replace existing files");
  app.add_flag("--quiet", quiet_, "print only errors");
}

// Empty: there is no memory.
std::string deflated(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(text.data()), text.size(),
                Z_DEFAULT_COMPRESSION) != Z_OK)
    return {};
  out.resize(size);
  return out;
}

int ConvertCommand::run() {
  if (const std::string why = why_no_archive(archive_); !why.empty()) return fail(why);
  const auto format = convert::parse_format(format_);
  if (!format) return fail(format.error());
  convert::ConvertOptions options;
  options.archive = archive_;
  options.format = *format;
  options.output = output_;
  options.overwrite = overwrite_;
  options.compress = deflated;
  ProgressBar bar("converting", "events");
  if (!quiet_)
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
      bar.show(done, total);
    };
  const auto result = convert::convert_archive(options);
  bar.remove();
  if (!result) return fail(result.error());
  for (const std::string& note : result->notes) fail(note);
  if (!quiet_ && output_ != "-") print("{} events: {}\n", result->events, result->files[0]);
  return kDone;
}

std::unique_ptr<Subcommand> make_convert_command() {
  return std::make_unique<ConvertCommand>();
}

}  // namespace refrain::tools
