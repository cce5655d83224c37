#include <catch2/catch.hpp>

#include "analysis/archive_info.h"

namespace refrain::analysis::rank_phases_test {
namespace {

PhaseInfo phase(std::uint32_t rank, std::uint32_t line, std::uint64_t iterations,
                double mean, std::uint32_t body = 8) {
  PhaseInfo out;
  out.process = rank;
  out.file = "a.c";
  out.line = line;
  out.iterations = iterations;
  out.mean_ns = out.min_ns = out.max_ns = mean;
  out.body_events = body;
  return out;
}

}  // namespace

TEST_CASE("RankPhases: ranks that agree - one row, with the times of all") {
  ArchiveInfo info;
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    info.phases.push_back(phase(rank, 10, 100, 10 + rank, 8 - rank % 2));
  const auto rows = rank_phases(info);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].phase.iterations == 100);
  CHECK(rows[0].phase.mean_ns == 11.5);
  CHECK(rows[0].phase.min_ns == 10);
  CHECK(rows[0].phase.max_ns == 13);
  CHECK(rows[0].phase.sigma_ns == Approx(1.1180339887));
  CHECK(rows[0].least_body == 7);
  CHECK(rows[0].most_body == 8);
  CHECK(ranks_agree(rows, 4));
  CHECK(ranks_text(rows[0].ranks, 4) == "all");
}

TEST_CASE("RankPhases: ranks that do not agree - a row for each way") {
  ArchiveInfo info;
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    info.phases.push_back(phase(rank, 10, rank == 2 ? 99 : 100, 10));
    if (rank == 5) info.phases.push_back(phase(rank, 10, 100, 10));
  }
  const auto rows = rank_phases(info);
  REQUIRE(rows.size() == 3);
  CHECK(ranks_text(rows[0].ranks, 6) == "0,1,3-5");
  CHECK(ranks_text(rows[1].ranks, 6) == "2");
  CHECK(ranks_text(rows[2].ranks, 6) == "5");  // its second loop of the kind
  CHECK_FALSE(ranks_agree(rows, 6));
}

}  // namespace refrain::analysis::rank_phases_test
