// What is kept of a run does not grow with its ranks: many runs of many ranks.
#include <malloc.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/scaling/scaling.h"
#include "reader/small_archive.h"
#include "test/support/files.h"
#include "test/support/test_length.h"
#include "tools/output/scaling_output.h"

namespace refrain::tools::scaling_size_test {
namespace {

// Of another tool: each rank works, sends to the next one, and all meet, in one of several functions.
std::string write(const test::TemporaryFolder& folder, std::uint32_t ranks) {
  const std::string path = (folder / std::to_string(ranks)).string();
  reader::SmallArchive archive(path);
  std::vector<std::uint32_t> functions;
  for (int i = 0; i < 5; ++i) functions.push_back(archive.region("f" + std::to_string(i)));
  const auto send = archive.mpi("MPI_Send"), receive = archive.mpi("MPI_Recv"),
             meet = archive.mpi("MPI_Allreduce", OTF2_REGION_ROLE_COLL_ALL2ALL);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    archive.process();
    std::uint64_t at = 0;
    for (int i = 0; i < 10; ++i) {
      archive.enter(at, functions[static_cast<std::size_t>(i) % 5]);
      archive.send(at + 1000, at + 1100, send, (rank + 1) % ranks);
      archive.receive(at + 1100, at + 1300, receive, (rank + ranks - 1) % ranks);
      archive.enter(at + 2000 - rank % 600, meet);
      OTF2_EvtWriter_MpiCollectiveBegin(archive.writer(), nullptr, at + 2000 - rank % 600);
      OTF2_EvtWriter_MpiCollectiveEnd(archive.writer(), nullptr, at + 2200,
                                      OTF2_COLLECTIVE_OP_ALLREDUCE, 0,
                                      OTF2_UNDEFINED_UINT32, 8, 8);
      archive.leave(at + 2200, meet);
      archive.leave(at + 2300, functions[static_cast<std::size_t>(i) % 5]);
      at += 2400;
    }
  }
  archive.finish(0, 24'000);
  return path;
}

std::size_t in_use() { return mallinfo2().uordblks; }

analysis::Scale read(const std::string& archive) {
  auto run = read_scale(archive);
  INFO(run.error());
  REQUIRE(run.ok());
  CHECK(run->whole.ideal_ns > 0);
  return *std::move(run);
}

}  // namespace

TEST_CASE("Scaling size: what is kept grows with places and runs, not with ranks") {
  const test::TemporaryFolder folder;
  constexpr std::uint32_t many = 1024;
  const std::size_t count = test::test_length() != test::TestLength::kShort ? 100 : 10;
  const std::string small = write(folder, 4), large = write(folder, many);
  read(large);  // so that what is made once is made
  // Each of several: the allocator's own blocks count as in use, too.
  std::vector<analysis::Scale> few_ranks, runs;
  const auto kept_of_each = [count](const std::string& archive,
                                    std::vector<analysis::Scale>& of) {
    of.reserve(count);
    const std::size_t empty = in_use();
    for (std::size_t i = 0; i < count; ++i) {
      of.push_back(read(archive));
      of.back().threads += i;  // so that all of them count
    }
    return (in_use() - empty) / count;
  };
  const std::size_t few = kept_of_each(small, few_ranks);
  const std::size_t each = kept_of_each(large, runs);
  CAPTURE(few, each);
  CHECK(each < few + few / 4 + 2048);
  const auto found = analysis::scaling_of(analysis::medians_of(std::move(runs)), {});
  INFO(found.error());
  REQUIRE(found.ok());
  CHECK(found->factors.size() == count);
}

}  // namespace refrain::tools::scaling_size_test
