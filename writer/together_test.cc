// Archives that the processes of a job make together: the same as one process makes.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "writer/testing/archive_text.h"
#include "writer/testing/forked_job.h"
#include "writer/testing/spool_builder.h"

namespace refrain::writer::together_test {
namespace {

using namespace spool;  // NOLINT: names of test builders

// A rank of a ring with several threads, loops, gaps, communicators, offsets of clocks.
SpoolBuilder hybrid_rank(std::uint32_t rank, std::uint32_t size) {
  SpoolBuilder builder(1 + rank % 3);
  builder.mpi(rank, size);
  const std::uint32_t pair = rank / 2;
  if (rank + 1 < size || rank % 2 == 1)
    builder.comm(2, kMpiCommIntra, rank % 2, 0xb001 + 2 * pair,
                 rank % 2 == 0 ? std::vector<std::uint32_t>{rank, rank + 1}
                               : std::vector<std::uint32_t>{},
                 {}, 0xa000);
  if (rank != 0) {
    builder.journal().add(kClockOffset, 1, 3, 10 * rank);
    builder.journal().add(kClockOffset, 5001, 3, 20 * rank);
  }
  RecordBuilder& log = builder.location(0);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t t = 3000 + 200 * i;
    log.enter_mpi(t, kTestSend, kSite + 16 * (rank % 2), 100 + 3 * i)
        .message(kMpiSend, t + 1,
                 {.peer = (rank + 1) % size, .tag = 1, .number = i, .bytes = 100 + i})
        .leave_mpi(t + 5, kTestSend, kSite + 16 * (rank % 2))
        .enter_mpi(t + 20, kTestRecv, kSite, 101 + 3 * i)
        .message(
            kMpiRecv, t + 39,
            {.peer = (rank + size - 1) % size, .tag = 1, .number = i, .bytes = 100 + i})
        .leave_mpi(t + 40, kTestRecv, kSite);
    allreduce(builder, 102 + 3 * i, t + 50, static_cast<std::uint32_t>(i));
  }
  return builder;
}

}  // namespace

TEST_CASE("Together: ranks with threads and communicators - the same as by one process") {
  for (const std::uint32_t size : {2U, 3U, 5U, 8U}) {
    const test::TemporaryFolder folder;
    std::vector<SpoolBuilder> ranks;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      ranks.push_back(hybrid_rank(rank, size));
      // Regions at different places and at common ones.
      if (ranks.back().locations() > 1)
        ranks.back().region(1, 1000, 2000, 0x9000 + rank % 2);
    }
    const Written written = write_and_check(ranks, folder);  // both ways
    CHECK(written.trace.location_groups.size() == size);
    CHECK(written.trace.properties.at("REFRAIN::MESSAGES") == std::to_string(4 * size));
  }
}

TEST_CASE("Together: a missing rank - has an empty entry") {
  const test::TemporaryFolder folder;
  std::vector<SpoolBuilder> ranks;
  for (std::uint32_t rank = 0; rank < 3; ++rank) ranks.push_back(hybrid_rank(rank, 4));
  const Written written = write_and_check(ranks, folder);
  CHECK(written.trace.location_groups.size() == 4);
}

TEST_CASE("Together: a rank that cannot write - all fail, the spool is unchanged") {
  constexpr std::uint32_t kRanks = 4;
  for (std::uint32_t failing = 0; failing < kRanks; ++failing) {
    const test::TemporaryFolder folder;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      hybrid_rank(rank, kRanks).write(folder.path(), rank);
    WriteOptions options;
    options.archive = folder.path().string();
    options.representatives = failing % 2;  // a round more
    const std::uintmax_t before = test::folder_bytes(folder / "spool");
    const std::vector<std::string> errors =
        write_in_processes(options, kRanks, [failing](std::uint32_t rank) {
          if (rank != failing) return;
          std::signal(SIGXFSZ, SIG_IGN);
          const rlimit none{0, 0};
          ::setrlimit(RLIMIT_FSIZE, &none);
        });
    for (const std::string& error : errors) CHECK(error.starts_with("failed: "));
    CHECK(test::folder_bytes(folder / "spool") == before);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      CHECK(entry.path().filename() == "spool");
    // One process can do it afterwards.
    CHECK(write_archive(options));
    CHECK_FALSE(std::filesystem::exists(folder / "spool"));
  }
}

TEST_CASE("Together: a rank that cannot read its spool - another one may") {
  const test::TemporaryFolder folder;
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    hybrid_rank(rank, 3).write(folder.path(), rank);
  WriteOptions options;
  options.archive = folder.path().string();
  const std::vector<std::string> errors =
      write_in_processes(options, 3, [](std::uint32_t rank) {
        const rlimit none{0, 0};
        if (rank == 1) ::setrlimit(RLIMIT_NOFILE, &none);
      });
  for (const std::string& error : errors) CHECK(error.starts_with("failed: "));
  CHECK(write_archive(options));
}

TEST_CASE("Together: no spool - all fail") {
  const test::TemporaryFolder folder;
  WriteOptions options;
  options.archive = (folder / "nowhere").string();
  for (const std::string& error : write_in_processes(options, 3))
    CHECK(error.starts_with("failed: "));
}

}  // namespace refrain::writer::together_test
