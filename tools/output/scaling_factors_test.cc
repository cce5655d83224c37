// POP's factors of archives as another tool writes them, against a recount by their definitions.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "analysis/scaling/scaling.h"
#include "reader/small_archive.h"
#include "test/support/files.h"
#include "tools/output/scaling_output.h"

namespace refrain::tools::scaling_factors_test {
namespace {

using Ns = std::uint64_t;
constexpr Ns kUs = 1000;
constexpr int kSteps = 20;

// Each step: every rank works; then one after the other they do what is serial, with a message to the next one; then all meet.
struct Program {
  std::vector<Ns> work;  // by rank
  Ns serial = 0;         // of each rank
  Ns message = 0;        // what the network takes for one
  Ns meeting = 0;        // and for a meeting
};

struct Expected {
  double time = 0, ideal = 0, useful = 0, most = 0;
};

// By hand, without any archive: ends of a step of each rank.
Expected expected(const Program& program) {
  Ns time = 0, ideal = 0;
  for (std::size_t rank = 0; rank < program.work.size(); ++rank) {
    const Ns arrives = rank == 0 ? 0 : time + program.message;
    time = std::max(program.work[rank], arrives) + program.serial;
    ideal = std::max(program.work[rank], ideal) + program.serial;
  }
  time = std::max(time, *std::ranges::max_element(program.work)) + program.meeting;
  Expected out;
  const auto ranks = static_cast<double>(program.work.size());
  out.time = kSteps * static_cast<double>(time);
  out.ideal = kSteps * static_cast<double>(ideal);
  out.useful = kSteps * (std::accumulate(program.work.begin(), program.work.end(), 0.) +
                         ranks * static_cast<double>(program.serial));
  out.most = kSteps *
             static_cast<double>(*std::ranges::max_element(program.work) + program.serial);
  return out;
}

std::string write(const test::TemporaryFolder& folder, const std::string& name,
                  const Program& program) {
  const std::string path = (folder / name).string();
  reader::SmallArchive archive(path);
  const auto main = archive.region("main");
  const auto init = archive.mpi("MPI_Init", OTF2_REGION_ROLE_FUNCTION),
             last = archive.mpi("MPI_Finalize", OTF2_REGION_ROLE_FUNCTION);
  const auto send = archive.mpi("MPI_Send"), receive = archive.mpi("MPI_Recv"),
             meet = archive.mpi("MPI_Allreduce");
  const std::size_t ranks = program.work.size();
  std::vector<Ns> sent(ranks);  // since the start of the step
  Ns end = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Ns arrives = rank == 0 ? 0 : sent[rank - 1] + program.message;
    sent[rank] = std::max(program.work[rank], arrives) + program.serial;
    end = std::max(end, sent[rank]);
  }
  end += program.meeting;
  const Ns start = 5000 * kUs;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    archive.process();
    archive.enter(0, main);
    archive.enter(0, init);
    archive.leave(start, init);
    for (int i = 0; i < kSteps; ++i) {
      const Ns at = start + static_cast<Ns>(i) * end;
      if (rank > 0)
        archive.receive(at + program.work[rank], at + sent[rank] - program.serial, receive,
                        static_cast<std::uint32_t>(rank - 1));
      if (rank + 1 < ranks)
        archive.send(at + sent[rank], at + sent[rank], send,
                     static_cast<std::uint32_t>(rank + 1));
      archive.enter(at + sent[rank], meet);
      OTF2_EvtWriter_MpiCollectiveBegin(archive.writer(), nullptr, at + sent[rank]);
      OTF2_EvtWriter_MpiCollectiveEnd(archive.writer(), nullptr, at + end,
                                      OTF2_COLLECTIVE_OP_ALLREDUCE, 0,
                                      OTF2_UNDEFINED_UINT32, 8, 8);
      archive.leave(at + end, meet);
    }
    const Ns done = start + kSteps * end;
    archive.enter(done, last);
    archive.leave(done + 3000 * kUs * (rank + 1), last);
    archive.leave(done + 3000 * kUs * (rank + 1), main);
  }
  archive.finish(0, start + kSteps * end + 3000 * kUs * ranks);
  return path;
}

void check(const std::vector<Program>& programs, bool weak) {
  const test::TemporaryFolder folder;
  std::vector<analysis::Scale> runs;
  for (const Program& program : programs) {
    auto run = read_scale(write(folder, std::to_string(program.work.size()), program));
    INFO(run.error());
    REQUIRE(run.ok());
    runs.push_back(*std::move(run));
  }
  analysis::ScalingOptions options;
  options.weak = weak;
  const auto scaling = analysis::scaling_of(std::move(runs), options);
  INFO(scaling.error());
  REQUIRE(scaling.ok());
  const Expected base = expected(programs.front());
  const auto same = [](double a, double b) {
    return std::abs(a - b) < 0.001;
  };  // 0.1 points
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Expected now = expected(programs[i]);
    const auto ranks = static_cast<double>(programs[i].work.size());
    const double grown =
        weak ? ranks / static_cast<double>(programs.front().work.size()) : 1;
    const analysis::Factors& f = scaling->factors[i];
    CAPTURE(ranks, f.time_ns, now.time);
    CHECK(same(f.time_ns / now.time, 1));
    CHECK(same(f.efficiencies.parallel, now.useful / ranks / now.time));
    CHECK(same(f.efficiencies.load_balance, now.useful / ranks / now.most));
    CHECK(same(f.efficiencies.communication, now.most / now.time));
    CHECK(same(f.serialization(), now.most / now.ideal));
    CHECK(same(f.transfer, now.ideal / now.time));
    CHECK(same(f.computation, grown * base.useful / now.useful));
    CHECK(same(f.global, grown * base.useful / ranks / now.time));
    CHECK(same(f.speedup, grown * base.time / now.time));
  }
}

Program even(std::size_t ranks, Ns work) { return {std::vector<Ns>(ranks, work), 0, 0, 0}; }

}  // namespace

TEST_CASE("Scaling factors: load balance alone") {
  check({even(1, 400 * kUs),
         {{100 * kUs, 300 * kUs}},
         {{50 * kUs, 200 * kUs, 100 * kUs, 50 * kUs}}},
        false);
}

TEST_CASE("Scaling factors: serialization alone") {
  Program two = even(2, 100 * kUs), four = even(4, 50 * kUs);
  two.serial = 100 * kUs;
  four.serial = 50 * kUs;
  check({even(1, 400 * kUs), two, four}, false);
}

TEST_CASE("Scaling factors: transfer alone") {
  Program two = even(2, 200 * kUs), four = even(4, 100 * kUs);
  two.meeting = 30 * kUs;
  four.meeting = 60 * kUs;
  check({even(1, 400 * kUs), two, four}, false);
}

TEST_CASE("Scaling factors: computation alone") {
  check({even(1, 400 * kUs), even(2, 250 * kUs), even(4, 160 * kUs)}, false);
  check({even(1, 100 * kUs), even(2, 110 * kUs), even(4, 150 * kUs)}, true);
}

TEST_CASE("Scaling factors: all together") {
  for (const bool weak : {false, true}) {
    check(
        {{{300 * kUs, 340 * kUs}, 20 * kUs, 7 * kUs, 11 * kUs},
         {{150 * kUs, 170 * kUs, 180 * kUs, 140 * kUs}, 15 * kUs, 9 * kUs, 21 * kUs},
         {{90 * kUs, 80 * kUs, 70 * kUs, 75 * kUs, 85 * kUs, 95 * kUs, 60 * kUs, 88 * kUs},
          11 * kUs,
          13 * kUs,
          40 * kUs}},
        weak);
  }
}

}  // namespace refrain::tools::scaling_factors_test
