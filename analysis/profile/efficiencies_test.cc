// Efficiencies of threads made by hand.
#include "analysis/profile/efficiencies.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace refrain::analysis::efficiencies_test {
namespace {

// On paper: two ranks of two threads, 100 ns.
const std::vector<ThreadTimes> kHybrid = {
    {.process = 0, .primary = true, .useful = 70, .mpi = 10, .openmp = 20},
    {.process = 0, .useful = 50, .idle = 20, .openmp = 30},
    {.process = 1, .primary = true, .useful = 40, .mpi = 50, .openmp = 10},
    {.process = 1, .useful = 40, .idle = 50, .openmp = 10}};

}  // namespace

TEST_CASE("Efficiencies: a hybrid run - as POP has them") {
  const RunEfficiencies e = efficiencies_of(kHybrid, 100);
  CHECK(e.parallel == Approx(0.5));
  CHECK(e.load_balance == Approx(50.0 / 70));
  CHECK(e.communication == Approx(0.7));
  REQUIRE(e.has_mpi);
  // Outside of MPI: 90 and 50.
  CHECK(e.mpi == Approx(0.7));
  CHECK(e.mpi_load_balance == Approx(70.0 / 90));
  CHECK(e.mpi_communication == Approx(0.9));
  CHECK(e.openmp == Approx(0.5 / 0.7));
  CHECK(e.openmp_load_balance == Approx(50.0 / 70 / (70.0 / 90)));
  CHECK(e.openmp_communication == Approx(0.7 / 0.9));
  CHECK(e.lost_mpi == Approx(0.3));
  CHECK(e.lost_serial == Approx(10.0 / 400));
  CHECK(e.lost_openmp == Approx(70.0 / 400));
  CHECK(e.lost_other == Approx(0).margin(1e-12));
}

TEST_CASE("Efficiencies: MPI on another thread, or other threads compute meanwhile") {
  // The second thread communicates for 80 of 100 ns, the first computes.
  RunEfficiencies e =
      efficiencies_of({{.primary = true, .useful = 100}, {.useful = 20, .mpi = 80}}, 100);
  CHECK(e.parallel == Approx(0.6));
  CHECK(e.mpi == Approx(0.6));
  CHECK(e.openmp == Approx(1));
  // The other way round.
  e = efficiencies_of({{.primary = true, .useful = 20, .mpi = 80}, {.useful = 100}}, 100);
  CHECK(e.openmp == Approx(1));
  CHECK(e.mpi == Approx(0.6));
}

TEST_CASE("Efficiencies: different numbers of threads - processes count by them") {
  // One thread waits for four that compute.
  std::vector<ThreadTimes> threads = {{.process = 0, .primary = true, .mpi = 100}};
  for (int i = 0; i < 4; ++i)
    threads.push_back({.process = 1, .primary = i == 0, .useful = 100});
  const RunEfficiencies e = efficiencies_of(threads, 100);
  CHECK(e.parallel == Approx(0.8));
  CHECK(e.mpi == Approx(0.8));
  CHECK(e.openmp == Approx(1));
}

TEST_CASE("Efficiencies: any threads - none above 1, and losses add up") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(0, 1);
  for (std::uint32_t round = 0; round < 2000; ++round) {
    std::vector<ThreadTimes> threads;
    for (std::uint32_t process = 0; process <= round % 4; ++process)
      for (int thread = 0; thread < 1 + static_cast<int>(4 * any(random)); ++thread)
        threads.push_back({.process = process,
                           .primary = thread == 0,
                           .useful = any(random),
                           .mpi = round % 3 == 0 ? 0 : any(random),
                           .idle = thread == 0 ? 0 : any(random),
                           .openmp = any(random),
                           .other = any(random) / 9});
    const RunEfficiencies e = efficiencies_of(threads, any(random));
    for (const double each : {e.parallel, e.load_balance, e.communication, e.mpi,
                              e.mpi_load_balance, e.mpi_communication, e.openmp}) {
      CHECK(each > 0);
      CHECK(each <= 1 + 1e-12);
    }
    CHECK(e.parallel == Approx(e.mpi * e.openmp));
    CHECK(e.parallel ==
          Approx(1 - e.lost_mpi - e.lost_serial - e.lost_openmp - e.lost_other));
    CHECK(e.lost_other > -1e-12);
  }
}

TEST_CASE("Efficiencies: too much of the time is unknown - there are none") {
  const auto with = [](double unknown) {
    return efficiencies_of({{.primary = true, .useful = 100 - unknown, .unknown = unknown},
                            {.process = 1, .primary = true, .useful = 100}},
                           100);
  };
  CHECK(with(97).unknown == Approx(0.485));
  CHECK_FALSE(with(97).known());
  CHECK_FALSE(with(11).known());
  CHECK(with(9).known());
  CHECK(with(0).unknown == 0);
}

TEST_CASE("Efficiencies: nothing at all") {
  CHECK(efficiencies_of({}, 100).parallel == 0);
  CHECK(efficiencies_of({{.process = 0}}, 0).parallel == 0);
}

}  // namespace refrain::analysis::efficiencies_test
