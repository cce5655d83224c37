// Archives whose definitions and events contradict each other, or have dangling references:
// every reader of archives returns, with an error or without.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/archive_info.h"
#include "analysis/comparison/comparison.h"
#include "analysis/profile/event_summary.h"
#include "analysis/profile/message_calls.h"
#include "analysis/profile/run_profile.h"
#include "base/notes.h"
#include "convert/convert.h"
#include "reader/archive_stream.h"
#include "reader/foreign_archive.h"
#include "summary/run_summary.h"
#include "test/support/files.h"
#include "test/support/leaks.h"
#include "tools/report/report_run.h"
#include "waits/estimates.h"
#include "waits/wait_analysis.h"

namespace refrain::archives_test {
namespace {

bool one_line(const std::string& error) { return error.find('\n') == std::string::npos; }

// Number of seeds: REFRAIN_TEST_SEEDS, by default for some seconds.
std::uint32_t seeds() {
  const char* wanted = std::getenv("REFRAIN_TEST_SEEDS");
  return wanted == nullptr ? 300
                           : static_cast<std::uint32_t>(std::strtoul(wanted, nullptr, 10));
}

std::uint64_t calls(const std::vector<analysis::MessageTables::Row>& rows) {
  std::uint64_t sum = 0;
  for (const analysis::MessageTables::Row& row : rows) sum += row.calls;
  return sum;
}

// Nothing is counted twice, and of all that is in the archive the estimates are what was seen.
bool waits_fit_together(const waits::WaitAnalysis& waited) {
  const auto estimates = waits::estimate_waits(waited, waits::calls_of(waited, waited));
  for (const waits::WaitAnalysis::Estimate& each : estimates)
    if (!std::isfinite(each.whole) || each.least > each.whole || each.whole > each.most)
      return false;
  return true;
}

}  // namespace

TEST_CASE("Hostile archives: wrong definitions - read, or refused in one line") {
  std::uint32_t converted = 0;
  std::uint32_t profiled = 0;
  std::uint32_t summarized = 0;
  std::uint32_t with_messages = 0;
  std::uint32_t analyzed = 0;
  std::uint32_t lacking = 0;  // that have locations whose events cannot be read, and say so
  for (std::uint32_t seed = 1; seed <= seeds(); ++seed) {
    CAPTURE(seed);
    const test::TemporaryFolder folder;
    reader::write_foreign_archive(folder / "archive", {.more_enters = 5, .lies = seed});
    const test::LibraryMayLeak archive_that_cannot_be_opened;
    CHECK(one_line(analysis::read_archive_info((folder / "archive").string()).error()));
    for (const auto format : {convert::Format::kCsv, convert::Format::kChrome,
                              convert::Format::kParaver, convert::Format::kPerfetto}) {
      convert::ConvertOptions options;
      options.archive = folder / "archive";
      options.format = format;
      options.overwrite = true;
      const auto result = convert::convert_archive(options);
      CHECK(one_line(result.error()));
      converted += result.ok();
    }
    const auto profile = analysis::read_trace_profile((folder / "archive").string());
    CHECK(one_line(profile.error()));
    profiled += profile.ok();
    const auto events = analysis::summarize_events((folder / "archive").string());
    CHECK(one_line(events.error()));
    if (events) {
      const analysis::RunProfile merged = analysis::merge_summaries(events->processes);
      CHECK(analysis::total(merged).paths.size() == merged.paths.size());
      const analysis::MessageTables messages = analysis::message_tables(events->messages);
      CHECK(calls(messages.by_size) == calls(messages.by_signature));
      CHECK(calls(messages.by_partner) == calls(messages.by_signature));
      with_messages += messages.by_signature.empty() ? 0 : 1;
    }
    base::take_notes();
    const auto waited = waits::analyze_archive((folder / "archive").string());
    const auto notes = base::take_notes();
    CHECK(std::ranges::all_of(notes, one_line));
    lacking += std::ranges::any_of(notes, [](const std::string& line) {
      return line.find(" can be read") != std::string::npos;
    });
    CHECK(one_line(waited.error()));
    if (waited) {
      CHECK(waited->overcharged == 0);
      CHECK(waits_fit_together(*waited));
    }
    analyzed += waited.ok();
    summarized += events.ok();
    if (seed % 10 != 0) continue;
    report::Blocks blocks;
    CHECK(one_line(
        tools::report_run((folder / "archive").string(), "a", blocks, {}).error()));
  }
  // One in eight references is wrong: neither always fatal nor always harmless.
  CHECK(converted > seeds() / 4);
  CHECK(profiled > seeds() / 10);
  CHECK(summarized > seeds() / 10);
  CHECK(with_messages > seeds() / 10);
  CHECK(analyzed > seeds() / 10);
  CHECK(lacking > seeds() / 10);
  CHECK(lacking < seeds());
}

// A pipe makes its reader wait for ever, and /dev/zero has no end.
TEST_CASE(
    "Hostile archives: pipes and devices in the place of files - refused in one line") {
  const std::string name = GENERATE("traces.otf2", "traces.def", "traces.marker", "events");
  const bool device = GENERATE(false, true);
  CAPTURE(name, device);
  const test::TemporaryFolder folder;
  const std::filesystem::path archive = folder / "archive";
  reader::write_foreign_archive(archive, {.more_enters = 5});
  std::filesystem::path file = archive / name;
  if (name == "events")
    for (const auto& entry : std::filesystem::directory_iterator(archive / "traces"))
      if (entry.path().extension() == ".evt") file = entry.path();
  std::filesystem::remove(file);
  if (device)
    std::filesystem::create_symlink("/dev/zero", file);
  else
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  const std::string wanted =
      "not read, because " + file.string() + " is not a regular file";
  const auto refused = [&](const std::string& error) {
    INFO(error);
    CHECK(error.find(wanted) != std::string::npos);
    CHECK(one_line(error));
  };
  refused(analysis::read_archive_info(archive.string()).error());
  refused(analysis::summarize_events(archive.string()).error());
  refused(analysis::read_trace_profile(archive.string()).error());
  convert::ConvertOptions options;
  options.archive = archive.string();
  options.overwrite = true;
  refused(convert::convert_archive(options).error());
}

TEST_CASE("Hostile archives: a summary that is a pipe - is left out, with one line") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "summary");
  REQUIRE(mkfifo((folder / "summary/process-0.json").c_str(), 0600) == 0);
  base::take_notes();
  const auto read = summary::read_summaries(folder.path().string());
  REQUIRE(read.ok());
  CHECK(read->empty());
  const auto notes = base::take_notes();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("is not a regular file") != std::string::npos);
}

// libotf2 trusts the number, and searches that many for minutes.
TEST_CASE("Hostile archives: an anchor file that claims more than it has - refused") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "archive", {.more_enters = 5});
  const std::filesystem::path anchor = folder / "archive" / "traces.otf2";
  CHECK(reader::check_anchor_file(anchor.string()).ok());
  std::string bytes = test::read_file(anchor);
  constexpr std::size_t kTexts = 46;  // three, each with a zero at its end
  std::size_t at = kTexts;
  for (int i = 0; i < 3; ++i) at = bytes.find('\0', at) + 1;
  const auto refused = [&](std::uint32_t properties) {
    for (std::size_t i = 0; i < 4; ++i)
      bytes.at(at + i) = static_cast<char>(properties >> 8 * i);
    std::ofstream(anchor, std::ios::binary) << bytes;
    convert::ConvertOptions options;
    options.archive = folder / "archive";
    options.overwrite = true;
    const std::string error = convert::convert_archive(options).error();
    return error.find("damaged anchor file") != std::string::npos &&
           analysis::read_archive_info((folder / "archive").string())
                   .error()
                   .find("damaged anchor file") != std::string::npos;
  };
  CHECK(refused(1'000'000'000));
  CHECK(refused(100));
  bytes.resize(at + 2);  // in the middle of the number
  std::ofstream(anchor, std::ios::binary) << bytes;
  CHECK(reader::check_anchor_file(anchor.string()).error() == "damaged anchor file");
}

}  // namespace refrain::archives_test
