// Archives whose definitions and events contradict each other, or refer to what is not there:
// whatever reads archives ends, with an error or without.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "test/support/files.h"
#include "test/support/leaks.h"
#include "writer/archive_info.h"
#include "writer/convert/convert.h"
#include "writer/convert/foreign_archive.h"
#include "writer/profile/trace_profile.h"

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
    convert::write_foreign_archive(folder / "archive", {.more_enters = 5, .lies = seed});
    const test::LibraryMayLeak archive_that_cannot_be_opened;
    CHECK(one_line(writer::read_archive_info((folder / "archive").string()).error));
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
    const profile::ProfileResult profile =
        profile::read_trace_profile((folder / "archive").string());
    CHECK(one_line(profile.error));
    profiled += profile.error.empty();
  }
  // Lies are one in eight: neither always fatal nor always harmless.
  CHECK(converted > seeds() / 4);
  CHECK(profiled > seeds() / 10);
  CHECK(profiled < seeds());
}

}  // namespace refrain
