#include <catch2/catch.hpp>
#include <vector>

#include "writer/agree/job_spools.h"

namespace refrain::writer::job_world_test {
namespace {

// Everything that one flipped bit can damage in one process' journal.
TEST_CASE("Job: size - one wrong journal is outvoted") {
  for (const std::uint32_t size : {1U, 2U, 3U, 64U, 1000U})
    for (int bit = 0; bit < 32; ++bit)
      for (const bool of_comm : {false, true}) {
        std::vector<WorldClaim> claims;
        for (std::uint32_t rank = 0; rank < size; ++rank)
          claims.push_back({rank, size, size});
        (of_comm ? claims[size / 2].comm_size : claims[size / 2].size) ^= 1U << bit;
        CAPTURE(size, bit, of_comm);
        CHECK(agreed_size(claims) == size);
      }
}

TEST_CASE("Job: rank - two of three values agree") {
  CHECK(agreed_rank(3, 3, 3) == 3);
  CHECK(agreed_rank(3, 3, 5) == 3);
  CHECK(agreed_rank(3, 5, 3) == 3);
  CHECK(agreed_rank(5, 3, 3) == 3);
  CHECK(agreed_rank(1, 2, 3) == 1);
}

TEST_CASE("Job: size - of ranks that left nothing") {
  CHECK(agreed_size(std::vector<WorldClaim>{{5, 8, 8}}) == 8);
  CHECK(agreed_size(std::vector<WorldClaim>{{5, 0, 8}, {2, 8, 0}}) == 8);
  CHECK(agreed_size(std::vector<WorldClaim>{{5, 100'000, 100'000}}) == 100'000);
}

TEST_CASE("Job: size - no journal has it") {
  CHECK(agreed_size({}) == 0);
  CHECK(agreed_size(std::vector<WorldClaim>{{5, 0, 0}, {2, 0, 0}}) == 6);
  CHECK(agreed_size(std::vector<WorldClaim>{{5, 3, 5}}) == 6);
  CHECK(agreed_size(std::vector<WorldClaim>{{5, 256, 0}}) == 256);
  CHECK(agreed_size(std::vector<WorldClaim>{{5, 257, 0}}) == 6);
  // A process that claims a high rank gets no empty entries before it.
  CHECK(agreed_size(std::vector<WorldClaim>{{255, 0, 0}}) == 256);
  CHECK(agreed_size(std::vector<WorldClaim>{{5, 0, 0}, {256, 0, 0}}) == 6);
  CHECK(agreed_size(std::vector<WorldClaim>{{100'000, 100'001, 0}, {0, 0, 0}}) == 1);
  CHECK(agreed_size(std::vector<WorldClaim>{{0, 0xffffffff, 0xffffffff}}) == 1);
  CHECK(agreed_size(std::vector<WorldClaim>{{0xffffffff, 2, 2}, {0, 2, 2}}) == 2);
}

}  // namespace
}  // namespace refrain::writer::job_world_test
