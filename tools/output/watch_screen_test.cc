#include "tools/output/watch_screen.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace refrain::tools::watch_screen_test {
namespace {

using analysis::TimeClass;

watch::LocationState location(std::uint32_t number, double useful, double wait,
                              double mpi) {
  watch::LocationState out{.number = number};
  const auto put = [](analysis::ClassTimes& times, TimeClass cls, double ns) {
    times[static_cast<std::size_t>(cls)] = ns;
  };
  put(out.run, TimeClass::kUseful, 1e9 * useful);
  put(out.run, TimeClass::kImbalance, 1e9 * wait);
  put(out.run, TimeClass::kThreadManagement, 0.5e9);
  put(out.run, TimeClass::kMpiCollective, 1e9 * mpi);
  put(out.recent, TimeClass::kUseful, 1e8 * wait);
  put(out.recent, TimeClass::kSynchronization, 1e8 * useful);
  return out;
}

watch::RankState rank(std::uint32_t number, double useful) {
  watch::RankState out;
  out.process = number;
  out.rank = number;
  out.pid = 4000 + number;
  out.alive = out.recording = true;
  out.time_ns = 10e9;
  out.locations = {location(0, useful, 3, 2), location(1, useful, 5, 0)};
  out.regions = 123456;
  out.mpi_calls = 777;
  out.events_seen = 987654 + number;
  out.records_written = 4321;
  out.disk_bytes = 12'000'000;
  out.loops.push_back({.name = "loop 1 @ main solver.c:106-118",
                       .level = 0,
                       .open = true,
                       .number = 4321,
                       .visits = 1,
                       .iterations = 4321,
                       .per_second = 431.7,
                       .latest_ns = 2.4e6,
                       .median_ns = 2.31e6,
                       .slowest_ns = 17.2e6,
                       .total_ns = 9.9e9});
  out.loops.push_back({.name = "loop 2 @ multiply solver.c:37",
                       .level = 1,
                       .visits = 4321,
                       .iterations = 108025,
                       .per_second = 10792,
                       .latest_ns = 51'000,
                       .median_ns = 50'500,
                       .slowest_ns = 3.2e6,
                       .total_ns = 5e9});
  return out;
}

watch::RunState run() {
  watch::RunState out;
  out.archive = "/scratch/run-7";
  out.command = "./solver 30 60000";
  out.job_size = 2;
  out.time_ns = 10.25e9;
  out.ranks = {rank(0, 5), rank(1, 3)};
  out.ranks[1].lost[spool::kLossDiskLimit] = 12;
  out.efficiencies = {.parallel = 0.4, .load_balance = 0.8, .communication = 0.5};
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    const std::size_t end = line.find_last_not_of(' ');
    text += line.substr(0, end == std::string::npos ? 0 : end + 1) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("WatchScreen: a job of two ranks - the first look") {
  CHECK(joined(watch_screen(run(), 100, 0)) == R"(Program      ./solver 30 60000
Run          10.25 s since the start, 2 ranks, 4 threads
Archive      /scratch/run-7
Events       1975309 seen, 8642 records written; 12 lost; 24 MB on disk
Efficiency   parallel 40.0 % = load balance 80.0 % x communication 50.0 %

Loop (* runs)                                   Iterations     Rate     Latest     Median    Slowest
* loop 1 @ main solver.c:106-118                      4321    432/s     2.4 ms    2.31 ms    17.2 ms
    loop 2 @ multiply solver.c:37                   108025  10792/s      51 us    50.5 us     3.2 ms

Share of the run, useful time of ranks: maximum / mean 1.25
Rank       Threads  Iteration     Rate   Useful   OpenMP   Manage      MPI       Events   Lost
0                2       4321    432/s   47.6 %   38.1 %    4.8 %    9.5 %       987654      0
1                2       4321    432/s   35.3 %   47.1 %    5.9 %   11.8 %       987655     12
)");
}

TEST_CASE("WatchScreen: since the last look, one rank ended, events skipped") {
  watch::RunState state = run();
  state.recent_ns = 1.002e9;
  state.ranks[1].recording = false;
  state.ranks[0].suspended = true;
  CHECK(joined(watch_screen(state, 100, 0)) == R"(Program      ./solver 30 60000
Run          10.25 s since the start, 2 ranks, 4 threads; 1 of 2 ranks still recorded
Archive      /scratch/run-7
Events       1975309 seen, 8642 records written, now skipped; 12 lost; 24 MB on disk
Efficiency   parallel 40.0 % = load balance 80.0 % x communication 50.0 %

Loop (* runs)                                   Iterations     Rate     Latest     Median    Slowest
* loop 1 @ main solver.c:106-118                      4321    432/s     2.4 ms    2.31 ms    17.2 ms
    loop 2 @ multiply solver.c:37                   108025  10792/s      51 us    50.5 us     3.2 ms

Share of the last 1.002 s, useful time of ranks: maximum / mean 1.00
Rank       Threads  Iteration     Rate   Useful   OpenMP   Manage      MPI       Events   Lost
0                2       4321    432/s   44.4 %   55.6 %    0.0 %    0.0 %       987654      0
1 ended          2       4321    432/s   57.1 %   42.9 %    0.0 %    0.0 %       987655     12
)");
}

TEST_CASE("WatchScreen: one process without MPI, no loop yet, no events") {
  watch::RunState state = run();
  state.ranks.resize(1);
  state.job_size = 0;
  state.ranks[0].rank.reset();
  state.ranks[0].loops.clear();
  state.summary_only = true;
  CHECK(joined(watch_screen(state, 100, 0)) == R"(Program      ./solver 30 60000
Run          10.25 s since the start, 2 threads
Archive      /scratch/run-7
Events       987654 seen, none written (--summary-only); 0 lost; 12 MB on disk
Efficiency   parallel 40.0 % = load balance 80.0 % x communication 50.0 %

No loop detected yet

Share of the run
Rank       Threads                       Useful   OpenMP   Manage      MPI       Events   Lost
4000             2                       47.6 %   38.1 %    4.8 %    9.5 %       987654      0
)");
}

TEST_CASE("WatchScreen: a small terminal - no line is longer, none too many") {
  watch::RunState state = run();
  for (std::uint32_t i = 2; i < 100; ++i) state.ranks.push_back(rank(i, 4));
  for (int i = 0; i < 50; ++i)
    for (watch::RankState& each : state.ranks) each.loops.push_back(each.loops[1]);
  for (const std::size_t columns : {60, 80, 200})
    for (const std::size_t lines : {24, 40, 60}) {
      INFO(columns << " x " << lines);
      const std::vector<std::string> screen = watch_screen(state, columns, lines);
      CHECK(screen.size() <= lines);
      for (const std::string& line : screen) CHECK(line.size() <= columns);
      CHECK(joined(screen).find("more ranks") != std::string::npos);
      CHECK(joined(screen).find("and 47 more\n") != std::string::npos);
    }
  CHECK(watch_screen(state, 100, 0).size() > 150);
}

TEST_CASE("WatchScreen: a state of nothing - shares and imbalance are zero") {
  const watch::RunState nothing;
  CHECK(watch::imbalance_of(nothing) == 0);
  CHECK(watch::shares_of({}).useful == 0);
  CHECK(joined(watch_screen(nothing, 100, 0)).find("No loop detected yet") !=
        std::string::npos);
  CHECK(nlohmann::json::parse(watch_json(nothing))["ranks"].empty());
}

TEST_CASE("WatchData: JSON - one line with all figures") {
  const std::string text = watch_json(run());
  CHECK(text.find('\n') == std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(text);
  CHECK(json["format"] == "refrain watch");
  CHECK(json["version"] == 1);
  CHECK(json["imbalance"] == Approx(1.25));
  const nlohmann::json& second = json["ranks"][1];
  CHECK(second["rank"] == 1);
  CHECK(second["events_lost"] == 12);
  CHECK(second["lost"]["disk_limit"] == 12);
  CHECK(second["shares"]["mpi"] == Approx(2.0 / 17));
  CHECK_FALSE(second.contains("recent_shares"));
  CHECK(second["threads"][1]["classes"]["imbalance_ns"] == 5e9);
  CHECK(second["loops"][0]["iterations"] == 4321);
  watch::RunState later = run();
  later.recent_ns = 1e9;
  CHECK(nlohmann::json::parse(
            watch_json(later))["ranks"][1]["recent_shares"]["openmp_waits"] ==
        Approx(3.0 * 2 / (2 * 3 + 8)));
}

}  // namespace refrain::tools::watch_screen_test
