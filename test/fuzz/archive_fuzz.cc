// Input: the files of an archive: a byte that chooses the name, 4 bytes with the length, the
// contents.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/archive_info.h"
#include "analysis/comparison/comparison.h"
#include "analysis/profile/event_summary.h"
#include "convert/convert.h"
#include "reader/trace_access.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/fuzzed_archives.h"
#include "test/support/files.h"
#include "test/support/leaks.h"
#include "tools/output/analyze_output.h"
#include "waits/estimates.h"
#include "waits/wait_analysis.h"

namespace {

// libotf2 leaks file descriptors of archives that it refuses: after thousands none would be left.
class ForgottenFiles {
 public:
  ForgottenFiles() : first_(dup(STDERR_FILENO)) { close(first_); }
  ~ForgottenFiles() { close_range(static_cast<unsigned>(first_), ~0U, 0); }
  ForgottenFiles(const ForgottenFiles&) = delete;
  ForgottenFiles& operator=(const ForgottenFiles&) = delete;

 private:
  int first_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  namespace fs = std::filesystem;
  fuzz::Bytes bytes(data, size);
  const ForgottenFiles forgotten;
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  fs::create_directories(archive / "traces");
  while (!bytes.empty()) {
    const auto& name = fuzz::kArchiveFiles[bytes.number(1) % fuzz::kArchiveFiles.size()];
    const std::string_view text = bytes.text(bytes.number(4));
    std::ofstream(archive / name, std::ios::binary) << text;
  }
  const test::LibraryMayLeak archive_that_cannot_be_opened;
  const std::string error = analysis::read_archive_info(archive.string()).error();
  fuzz::require(fuzz::one_line(error), "an error is one line", error);
  for (const auto format : {convert::Format::kCsv, convert::Format::kChrome,
                            convert::Format::kParaver, convert::Format::kPerfetto}) {
    convert::ConvertOptions options;
    options.archive = archive.string();
    options.format = format;
    options.overwrite = true;
    const auto result = convert::convert_archive(options);
    fuzz::require(fuzz::one_line(result.error()), "an error is one line", result.error());
    if (!result) continue;
    for (const std::string& file : result->files)
      fuzz::require(fs::exists(file), "what it says that it wrote is there", file);
  }
  const std::string profiled = analysis::read_trace_profile(archive.string()).error();
  fuzz::require(fuzz::one_line(profiled), "an error is one line", profiled);
  const std::string summarized = analysis::summarize_events(archive.string()).error();
  fuzz::require(fuzz::one_line(summarized), "an error is one line", summarized);
  reader::TraceAccess access({.before = 8, .after = 8});
  const auto done = access.open(archive.string());
  fuzz::require(fuzz::one_line(done.error()), "an error is one line", done.error());
  while (const reader::StatefulEvent* event = access.next())
    fuzz::require(access.open_regions(*event).size() ==
                      (event->in_region ? event->region.depth + 1 : 0),
                  "the stack of an event is as deep as it says");
  fuzz::require(fuzz::one_line(access.error()), "an error is one line", access.error());
  const auto analyzed = waits::analyze_archive(archive.string());
  fuzz::require(fuzz::one_line(analyzed.error()), "an error is one line", analyzed.error());
  if (analyzed) {
    const waits::WaitAnalysis& waited = *analyzed;
    fuzz::require(waited.overcharged == 0, "no wait is more than what contains it");
    for (const auto& each : waits::estimate_waits(waited, waits::calls_of(waited, waited)))
      fuzz::require(each.least <= each.whole && each.whole <= each.most,
                    "bounds contain the estimate");
    fuzz::require(!tools::analysis_screen(waited, {.width = 80, .all = true}).empty(),
                  "text of an analysis");
    fuzz::require(nlohmann::json::accept(tools::analysis_json(waited, nullptr)),
                  "JSON of an analysis");
  }
  for (const auto& entry : fs::directory_iterator(folder.path()))
    fuzz::require(entry.path().filename().string().starts_with("archive"),
                  "nothing is written anywhere else", entry.path().string());
  return 0;
}
