// What is on disk after an archive was written, refused, interrupted, or met a full disk.
#include <signal.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "test/support/trace_checks.h"
#include "writer/archive_writer.h"
#include "writer/testing/ten_iterations.h"

namespace refrain::writer::publication_test {
namespace {

namespace fs = std::filesystem;
using spool::SpoolBuilder;

TEST_CASE("Archive: refusal - nothing overwritten, nothing incomplete left") {
  const test::TemporaryFolder folder;
  WriteOptions options;
  options.archive = folder.path().string();
  SECTION("no spool") {
    const auto result = write_archive(options);
    CHECK_FALSE(result);
    CHECK_THAT(result.error(), Catch::Contains("/spool: No such file"));
  }
  SECTION("an archive exists") {
    ten_iterations(2).write(folder.path());
    std::ofstream(folder / "traces.otf2") << "precious";
    const auto result = write_archive(options);
    CHECK_THAT(result.error(), Catch::Contains("has an archive already"));
    CHECK(test::read_file(folder / "traces.otf2") == "precious");
    options.overwrite = true;
    options.keep_spool = true;
    CHECK(write_archive(options));
    CHECK(fs::exists(folder / "spool"));
    CHECK(write_archive(options));
  }
  SECTION("files with names of an archive's, without an anchor") {
    ten_iterations(2).write(folder.path());
    std::ofstream(folder / "traces.def") << "precious";
    CHECK_THAT(write_archive(options).error(), Catch::Contains("has an archive already"));
    CHECK(test::read_file(folder / "traces.def") == "precious");
  }
  SECTION("a filter with a mistake") {
    ten_iterations(2).write(folder.path());
    options.filter = "EXCLUDE everything";
    CHECK_THAT(write_archive(options).error(), Catch::Contains("filter: line 1"));
  }
  CHECK_FALSE(fs::exists(folder / ".traces-being-written"));
}

TEST_CASE("Archive: a process that died while moving one to its place - recovered") {
  // Files are moved in this order.
  const std::vector<std::string> files = {"traces", "traces.def", "traces.marker",
                                          "traces.otf2"};
  for (std::size_t moved = 0; moved <= files.size(); ++moved) {
    INFO("files moved: " << moved);
    const test::TemporaryFolder folder;
    ten_iterations(2).write(folder.path());
    WriteOptions options;
    options.archive = folder.path().string();
    options.keep_spool = true;
    REQUIRE(write_archive(options));
    const fs::path work = folder / ".traces-being-written";
    fs::create_directory(work);
    for (std::size_t i = moved; i < files.size(); ++i)
      fs::rename(folder / files[i], work / files[i]);
    const auto again = write_archive(options);
    CHECK(again.ok() == (moved < files.size()));  // all moved: it is an archive
    CHECK(fs::exists(folder / "traces.otf2"));
    CHECK_FALSE(fs::exists(work));
  }
}

// As if the disk were full after so many bytes of a file.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_CASE("Archive: full disk - at any point, success is never reported") {
  std::size_t failed = 0;
  for (rlim_t bytes = 1;; bytes += 61) {
    const test::TemporaryFolder folder;
    ten_iterations(2).write(folder.path());
    WriteOptions options;
    options.archive = folder.path().string();
    base::Result<WriteResult> result = base::Failure{"not written"};
    {
      const FullDisk full(bytes);
      result = write_archive(options);
    }
    INFO(bytes);
    REQUIRE(fs::exists(folder / "traces.otf2") == result.ok());
    REQUIRE(fs::exists(folder / "spool") != result.ok());
    if (result) {
      CHECK(test::text(test::check_all(test::read_trace(folder.path()))) == "");
      CHECK(test::text(test::check_otf2_print(folder.path())) == "");
      break;
    }
    ++failed;
  }
  CHECK(failed > 15);
}

TEST_CASE("Archive: full disk - the spool is kept, the archive removed") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  for (std::uint64_t i = 0; i < 3000; ++i)
    builder.region(i + 1, 1000 + 100 * i, 1080 + 100 * i, 0x5000);
  builder.write(folder.path());
  WriteOptions options;
  options.archive = folder.path().string();
  base::Result<WriteResult> result = base::Failure{"not written"};
  {
    const FullDisk full(20'000);
    result = write_archive(options);
  }
  CHECK_FALSE(result);
  CHECK_FALSE(result.error().empty());
  CHECK(fs::exists(folder / "spool" / "process-0" / "location-1.spool"));
  CHECK_FALSE(fs::exists(folder / "traces.otf2"));
  CHECK_FALSE(fs::exists(folder / "traces"));
  CHECK_FALSE(fs::exists(folder / ".traces-being-written"));
  CHECK(write_archive(options));
}

}  // namespace
}  // namespace refrain::writer::publication_test
