// Archives whose definitions and events contradict each other, or refer to what is not there:
// whatever reads archives ends, with an error or without.
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "analysis/archive_info.h"
#include "analysis/trace_profile.h"
#include "reader/anchor_file.h"
#include "reader/foreign_archive.h"
#include "test/support/files.h"
#include "test/support/leaks.h"
#include "writer/convert/convert.h"

namespace refrain {
namespace {

bool one_line(const std::string& error) { return error.find('\n') == std::string::npos; }

// How many seeds: REFRAIN_TEST_SEEDS, else what takes some seconds.
std::uint32_t seeds() {
  const char* wanted = std::getenv("REFRAIN_TEST_SEEDS");
  return wanted == nullptr ? 300
                           : static_cast<std::uint32_t>(std::strtoul(wanted, nullptr, 10));
}

}  // namespace

TEST_CASE("Hostile archives: definitions that lie - read or refused, in one line") {
  std::uint32_t converted = 0;
  std::uint32_t profiled = 0;
  for (std::uint32_t seed = 1; seed <= seeds(); ++seed) {
    CAPTURE(seed);
    const test::TemporaryFolder folder;
    reader::write_foreign_archive(folder / "archive", {.more_enters = 5, .lies = seed});
    const test::LibraryMayLeak archive_that_cannot_be_opened;
    CHECK(one_line(analysis::read_archive_info((folder / "archive").string()).error));
    for (const auto format :
         {convert::Format::kCsv, convert::Format::kChrome, convert::Format::kParaver}) {
      convert::ConvertOptions options;
      options.archive = folder / "archive";
      options.format = format;
      options.overwrite = true;
      const convert::ConvertResult result = convert::convert_archive(options);
      CHECK(one_line(result.error));
      converted += result.error.empty();
    }
    const analysis::ProfileResult profile =
        analysis::read_trace_profile((folder / "archive").string());
    CHECK(one_line(profile.error));
    profiled += profile.error.empty();
  }
  // Lies are one in eight: neither always fatal nor always harmless.
  CHECK(converted > seeds() / 4);
  CHECK(profiled > seeds() / 10);
  CHECK(profiled < seeds());
}

// libotf2 believes the number, and looks for that many for minutes.
TEST_CASE("Hostile archives: an anchor file that claims more than it holds - refused") {
  const test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "archive", {.more_enters = 5});
  const std::filesystem::path anchor = folder / "archive" / "traces.otf2";
  CHECK(reader::anchor_complaint(anchor.string()) == "");
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
    const std::string error = convert::convert_archive(options).error;
    return error.find("damaged anchor file") != std::string::npos &&
           analysis::read_archive_info((folder / "archive").string())
                   .error.find("damaged anchor file") != std::string::npos;
  };
  CHECK(refused(1'000'000'000));
  CHECK(refused(100));
  bytes.resize(at + 2);  // in the midst of the number
  std::ofstream(anchor, std::ios::binary) << bytes;
  CHECK(reader::anchor_complaint(anchor.string()) == "damaged anchor file");
}

}  // namespace refrain
