#include "analysis/causes/rank_clocks.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <random>

namespace refrain::analysis::rank_clocks_test {
namespace {

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// What each process does and is in MPI, by moment; which part of that is in messages.
struct Run {
  ByMoment work, mpi;
  double messages = 1;
  bool apart = false;  // two and two

  RunParts parts() const {
    RunParts out;
    out.threads.assign(work.size(), 1);
    Frame& frame = out.frames.emplace_back();
    const std::size_t cells = work[0].size();
    frame.cells.resize(cells);
    frame.parts.resize(cells * work.size());
    for (std::size_t cell = 0; cell < cells; ++cell) {
      out.moments.push_back({.frame = 0, .cell = cell, .apart = apart && cell % 2 == 0});
      for (std::size_t i = 0; i < work.size(); ++i) {
        Part& part = frame.at(cell, i);
        part.work = work[i][cell];
        part.mpi = part.mpi_all = mpi[i][cell];
        part.messages = messages * part.mpi;
      }
    }
    return out;
  }
};

struct Result {
  double time = 0;
  ByMoment waited;  // by moment, then process
};

Result met(const Run& run) {
  Result out;
  ByMoment left = run.mpi;
  out.time = meet(run.parts(), run.work, left,
                  [&](std::size_t, const std::vector<double>&,
                      const std::vector<double>& waited) { out.waited.push_back(waited); });
  return out;
}

}  // namespace

TEST_CASE("Clocks of ranks: who is ahead waits in its cell, or in the next one") {
  const Result at_end =
      met({.work = {{3, 3, 3}, {5, 5, 5}}, .mpi = {{2, 2, 2}, {0, 0, 0}}});
  CHECK(at_end.time == 15);
  CHECK(at_end.waited == ByMoment{{2, 0}, {2, 0}, {2, 0}});
  const Result at_begin =
      met({.work = {{3, 3, 3, 0}, {5, 5, 5, 0}}, .mpi = {{0, 2, 2, 2}, {0, 0, 0, 0}}});
  CHECK(at_begin.time == 15);
  CHECK(at_begin.waited == ByMoment{{2, 0}, {2, 0}, {2, 0}, {0, 0}});
  // What it is in MPI longer than that is not waiting for others' work.
  CHECK(met({.work = {{3}, {5}}, .mpi = {{9}, {7}}}).waited == ByMoment{{2, 0}});
}

TEST_CASE("Clocks of ranks: what is waited for many cells later") {
  const Result rare = met({.work = {{3, 3, 3, 3, 3}, {5, 5, 5, 5, 5}},
                           .mpi = {{0, 0, 0, 0, 10}, {0, 0, 0, 0, 0}},
                           .messages = 0});
  CHECK(rare.time == 25);
  double waited = 0;
  for (const std::vector<double>& each : rare.waited) {
    CHECK(each[1] == 0);
    waited += each[0];
  }
  CHECK(waited == 10);
}

TEST_CASE("Clocks of ranks: in turn, without waiting meanwhile, they cost nothing") {
  const Result turns =
      met({.work = {{5, 1, 5, 1}, {1, 5, 1, 5}}, .mpi = {{0, 0, 0, 0}, {0, 0, 0, 0}}});
  CHECK(turns.time == 12);
  CHECK(turns.waited.back() == std::vector<double>{0, 0});
  // And where they do wait, each time.
  const Result tight =
      met({.work = {{5, 1, 5, 1}, {1, 5, 1, 5}}, .mpi = {{0, 4, 0, 4}, {4, 0, 4, 0}}});
  CHECK(tight.time == 20);
  CHECK(tight.waited == ByMoment{{0, 4}, {4, 0}, {0, 4}, {4, 0}});
}

TEST_CASE("Clocks of ranks: after a collective operation nobody is ahead") {
  // Which took 1, although rank 0 had 4 less to do: it was not ahead. What is in MPI later is not that.
  const Run run = {.work = {{1, 3, 3, 3, 3}, {5, 3, 3, 3, 3}},
                   .mpi = {{1, 1, 1, 9, 1}, {1, 1, 1, 9, 1}},
                   .messages = 0};
  CHECK(sum(met(run).waited[3]) == 0);
  Run messages = run;
  messages.messages = 1;
  CHECK(sum(met(messages).waited[2]) > 0);
  // Each process' own operations take next to nothing: who is ahead waits where all meet.
  const Run own = {.work = {{1, 1, 1, 1}, {3, 3, 3, 3}},
                   .mpi = {{0.01, 0.01, 0.01, 8.01}, {0.01, 0.01, 0.01, 0.01}},
                   .messages = 0};
  double waited = 0;
  for (const std::vector<double>& cell : met(own).waited) waited += cell[0];
  CHECK(waited == Approx(8).epsilon(0.01));
}

TEST_CASE(
    "Clocks of ranks: a program's run, whatever it does, is not longer than its calls say") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> each(0, 1);
  for (int number = 0; number < 200; ++number) {
    const std::size_t processes = 2 + number % 5, cells = 1 + number % 40;
    Run run = {.work = ByMoment(processes, std::vector<double>(cells)),
               .mpi = ByMoment(processes, std::vector<double>(cells)),
               .messages = number % 2 == 0 ? 0.0 : 1.0};
    // On clocks of their own, which meet in every third cell.
    std::vector<double> clocks(processes);
    for (std::size_t cell = 0; cell < cells; ++cell) {
      for (std::size_t i = 0; i < processes; ++i) {
        run.work[i][cell] = each(random);
        clocks[i] += run.work[i][cell];
      }
      if (cell % 3 != 2 && cell + 1 != cells) continue;
      const double last = std::ranges::max(clocks);
      for (std::size_t i = 0; i < processes; ++i) {
        run.mpi[i][cell] = last - clocks[i];
        clocks[i] = last;
      }
    }
    const Result found = met(run);
    double waited = 0;
    for (const std::vector<double>& cell : found.waited) waited += sum(cell);
    double in_mpi = 0;
    for (const std::vector<double>& process : run.mpi) in_mpi += sum(process);
    CHECK(found.time == Approx(clocks[0]));
    CHECK(waited == Approx(in_mpi));
  }
}

}  // namespace refrain::analysis::rank_clocks_test
