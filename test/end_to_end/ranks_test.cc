// `refrain run --ranks representatives`: events of some ranks of each cluster of ranks with equal event
// flow graphs, the summary of all.
#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "summary/merged_flow.h"
#include "summary/run_summary.h"
#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/summary_checks.h"
#include "test/support/test_length.h"

namespace refrain::test::ranks_test {
namespace {

namespace fs = std::filesystem;

// Nothing that depends on time decides what is written.
MpiJob job_of(const std::string& program, const std::string& graph = "call") {
  MpiJob job{.program = program, .ranks = 4};
  if (program.starts_with("hybrid")) job.threads = 2;
  job.settings = {{"LIMIT", "3"}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}, {"GRAPH", graph}};
  return job;
}

std::string property(const Trace& trace, const std::string& name) {
  const auto found = trace.properties.find("REFRAIN::" + name);
  return found == trace.properties.end() ? std::string() : found->second;
}

// A rank's number is that of its process.
int rank_of(const Location& location) { return static_cast<int>(location.group); }

bool is_program(const Region& region) {
  return region.role == OTF2_REGION_ROLE_ARTIFICIAL &&
         region.paradigm == OTF2_PARADIGM_MEASUREMENT_SYSTEM;
}

// What a location did, without times: enters and leaves by name, marks of iterations, cuts.
std::vector<std::string> course_of(const Trace& trace, const Location& location) {
  std::vector<std::string> course;
  for (const Event& event : location.events) {
    const bool region = event.type == EventType::kEnter || event.type == EventType::kLeave;
    if (region) {
      course.push_back(event_name(event.type) +
                       (" " + trace.regions.at(event.reference).name));
    } else if (event.type == EventType::kMeasurementOn ||
               event.type == EventType::kMeasurementOff) {
      course.push_back(event_name(event.type));
    } else if (event.type == EventType::kParameterInt) {
      course.push_back("iteration " + std::to_string(event.value));
    }
  }
  return course;
}

// One gap from the start to the end, with nothing in it but marks of iterations.
void check_frame(const Trace& trace, const Location& location) {
  INFO(location.name);
  int on_off = 0;
  for (const Event& event : location.events) {
    switch (event.type) {
      case EventType::kMeasurementOn:
      case EventType::kMeasurementOff:
        ++on_off;
        break;
      case EventType::kProgramBegin:
      case EventType::kProgramEnd:
      case EventType::kParameterInt:
        break;
      case EventType::kEnter:
      case EventType::kLeave:
        CHECK((is_phase(trace, event) || is_program(trace.regions.at(event.reference))));
        break;
      default:
        FAIL_CHECK(event_name(event.type));
    }
  }
  CHECK(on_off == 2);
  REQUIRE(gaps(location).size() == 1);
  CHECK(location.properties.at("REFRAIN::EVENTS_WRITTEN") == "0");
}

// The marks of a process' iterations, by loop.
std::map<std::string, std::vector<std::int64_t>> marks_of(const Trace& trace, int rank,
                                                          bool outermost) {
  std::map<std::string, std::vector<std::int64_t>> marks;
  for (const Iteration& iteration : iterations(trace))
    if (rank_of(trace.locations[iteration.location]) == rank &&
        (!outermost || iteration.depth == 0))
      marks[trace.regions.at(iteration.region).name].push_back(iteration.number);
  return marks;
}

std::uintmax_t event_bytes(const fs::path& archive) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(archive))
    if (entry.path().extension() == ".evt") bytes += entry.file_size();
  return bytes;
}

// What all ranks did by call path, without times: of each node its path, visits, bytes.
using Counts = std::multiset<
    std::tuple<std::uint32_t, std::string, std::uint64_t, std::uint64_t, std::uint64_t>>;
Counts counts_of(const fs::path& archive) {
  Counts counts;
  for (const summary::RunSummary& summary : *summary::read_summaries(archive)) {
    std::vector<std::string> paths;
    for (const summary::RunSummary::Node& node : summary.nodes) {
      std::string path =
          node.parent == summary::RunSummary::kNone ? "" : paths[node.parent] + " / ";
      if (node.region != summary::RunSummary::kNone)
        path += summary.regions[node.region].name;
      paths.push_back(path + std::to_string(static_cast<int>(node.kind)));
    }
    for (const summary::RunSummary::Location& location : summary.locations)
      for (std::size_t i = 0; i < paths.size(); ++i)
        counts.emplace(summary.rank, paths[i], location.sums[i].visits,
                       location.sums[i].bytes_sent, location.sums[i].bytes_received);
  }
  return counts;
}

}  // namespace

TEST_CASE("Ranks: representatives - their events as without the setting, totals of all") {
  const std::string program =
      GENERATE("halo_gcc", "ring_clang", "allreduce_gcc", "hybrid_clang", "onesided_gcc");
  const std::string limit = GENERATE("0", "3");
  static SomeCases few;
  if (!few.runs_next()) return;
  // Those at the ends of a row put to one neighbour only.
  const bool alike = !program.starts_with("onesided");
  const std::set<int> chosen = alike ? std::set{0} : std::set{0, 1};
  CAPTURE(program, limit);
  TemporaryFolder folder;
  MpiJob job = job_of(program);
  job.settings["LIMIT"] = limit;
  const Traced all = recorded(job, MpiWay::kOutside, folder / "all");
  job.settings["RANKS"] = "representatives";
  const Traced some = recorded(job, MpiWay::kOutside, folder / "some");
  CHECK(property(all.trace, "RANKS::POLICY").empty());
  CHECK(property(all.trace, "RANKS::WRITTEN").empty());
  CHECK(property(some.trace, "RANKS::POLICY") == "representatives=1");
  CHECK(property(some.trace, "RANKS::WRITTEN") == (alike ? "0" : "0-1"));
  CHECK(property(some.trace, "RANKS::CLUSTERS") == (alike ? "0: 0-3" : "0: 0,3\n1: 1-2"));
  CHECK(property(some.trace, "RANKS::WHY") ==
        (alike
             ? "events of 1 of 4 ranks: 0 (as 0-3: equal event flow graphs)"
             : "events of 2 of 4 ranks: 0 (as 0,3: equal event flow graphs), 1 (as 1-2)"));
  CHECK(some.result.output == all.result.output);

  REQUIRE(some.trace.locations.size() == all.trace.locations.size());
  for (std::size_t i = 0; i < all.trace.locations.size(); ++i) {
    const Location& location = some.trace.locations[i];
    CAPTURE(location.name);
    if (!chosen.contains(rank_of(location))) {
      check_frame(some.trace, location);
      continue;
    }
    const auto course = course_of(some.trace, location);
    CHECK(course.size() > 20);
    // Which thread does what in a team is not the same twice.
    if (job.threads == 1) CHECK(course == course_of(all.trace, all.trace.locations[i]));
  }
  // Iterations are marked on all ranks, those inside of others where these are written.
  for (int rank = 0; rank < 4; ++rank) {
    const bool outermost = !chosen.contains(rank);
    const auto marks = marks_of(some.trace, rank, outermost);
    CHECK_FALSE(marks.empty());
    CHECK(marks == marks_of(all.trace, rank, outermost));
  }
  CHECK(counts_of(folder / "some") == counts_of(folder / "all"));
  CHECK(counts_of(folder / "some").size() >= 20);
  if (limit == "0")
    CHECK(text(check_summary(all.trace, *summary::read_summaries(folder / "some"),
                             SummaryOf::kOtherRun)) == "");
  CHECK(event_bytes(folder / "some") < event_bytes(folder / "all"));
  if (!alike) return;
  // Messages have no other end; the calls stay.
  CHECK(property_number(some.trace, "MESSAGES") == 0);
  CHECK(replay(some.trace).pairs() == 0);
  const Location& full = all.trace.locations.front();
  REQUIRE(rank_of(full) == 0);
  CHECK(some.trace.locations.front().properties.at("REFRAIN::SENDS_DROPPED") ==
        full.properties.at("REFRAIN::SENDS"));
}

TEST_CASE("Ranks: representatives - archives no longer grow with the ranks") {
  TemporaryFolder folder;
  MpiJob job = job_of("halo_gcc");
  job.arguments = {"400"};
  job.settings["LIMIT"] = "0";
  recorded(job, MpiWay::kOutside, folder / "all");
  job.settings["RANKS"] = "representatives";
  recorded(job, MpiWay::kOutside, folder / "some");
  CHECK(2 * event_bytes(folder / "some") < event_bytes(folder / "all"));
}

TEST_CASE("Ranks: clusters - are those of the graph, each has its representatives") {
  TemporaryFolder folder;
  MpiJob job = job_of("halo_clang", "site,callers,partner,size");
  job.settings["RANKS"] = "representatives";
  const Traced run = recorded(job, MpiWay::kInside, folder / "archive");
  // Those at the ends have one neighbour each.
  CHECK(property(run.trace, "RANKS::WRITTEN") == "0-1,3");
  CHECK(property(run.trace, "RANKS::CLUSTERS") == "0: 0\n1: 1-2\n3: 3");
  const auto merged = *summary::read_merged_flow(folder / "archive");
  REQUIRE(merged.has_value());
  REQUIRE(merged->clusters.size() == 3);
  CHECK(merged->clusters[1].ranks.text() == "1-2");
  for (const Location& location : run.trace.locations)
    if (rank_of(location) == 2) check_frame(run.trace, location);
  // Messages of 0 and 1 have both ends, those with 2 have none.
  const Replay messages = replay(run.trace);
  CHECK(messages.pairs() > 0);
  CHECK(messages.unmatched() == 0);
  for (const auto& [channel, queue] : messages.channels)
    if (!queue.sends.empty()) CHECK(channel.source + channel.destination == 1);
  CHECK(property_number(run.trace, "SENDS_DROPPED") > 0);
  const Result info = run_refrain({"info", folder / "archive"});
  CHECK(info.exit_status == 0);
  CHECK(info.output.find(
            "Ranks        events of 3 of 4 ranks: 0, 1 (as 1-2: equal event flow "
            "graphs), 3") != std::string::npos);
}

TEST_CASE("Ranks: any program - each rank is a representative, or has no events") {
  const char* program = GENERATE("icollective_gcc", "persistent_clang", "sweep_gcc",
                                 "threaded_clang", "rowcol_cg_gcc", "phases_gcc",
                                 "anysource_clang", "workers_gcc", "ring_f08_gfortran");
  const std::string each = GENERATE("1", "2");
  static SomeCases few;
  if (!few.runs_next()) return;
  CAPTURE(program, each);
  TemporaryFolder folder;
  MpiJob job = job_of(program);
  if (std::string(program).starts_with("threaded")) job.threads = 2;
  job.settings["RANKS"] = "representatives=" + each;
  const Traced run = recorded(job, MpiWay::kInside, folder / "archive");
  const auto merged = *summary::read_merged_flow(folder / "archive");
  REQUIRE(merged.has_value());
  std::set<int> chosen;
  for (const auto& cluster : merged->clusters)
    for (const std::uint32_t rank : cluster.ranks.lowest(std::stoul(each)))
      chosen.insert(static_cast<int>(rank));
  for (const Location& location : run.trace.locations)
    if (!chosen.contains(rank_of(location)))
      check_frame(run.trace, location);
    else if (location.properties.contains("REFRAIN::PRIMARY"))
      CHECK(location.properties.at("REFRAIN::EVENTS_WRITTEN") != "0");
  CHECK(replay(run.trace).unmatched() == 0);
  if (chosen.size() == 4) CHECK(property(run.trace, "RANKS::WRITTEN") == "all");
}

// A rank that can open no file: then process 0 writes the archive alone.
TEST_CASE("Ranks: process 0 writes alone - the same ranks") {
  TemporaryFolder folder;
  MpiJob job = job_of("ring_gcc");
  job.arguments = {"20", "100", "4", "-1", "0", "0", "0", "2"};
  job.settings["RANKS"] = "representatives=2";
  job.settings["LIMIT"] = "0";
  const Traced run = recorded(job, MpiWay::kOutside, folder / "archive");
  CHECK(run.result.errors.find("process 0 writes it alone") != std::string::npos);
  CHECK(property(run.trace, "RANKS::WRITTEN") == "0-1");
  CHECK(property(run.trace, "RANKS::CLUSTERS") == "0-1: 0-3");
  CHECK(replay(run.trace).pairs() == 40);
  for (const Location& location : run.trace.locations)
    if (rank_of(location) > 1) check_frame(run.trace, location);
}

TEST_CASE("Ranks: representatives=2 - two of a cluster, with their messages") {
  TemporaryFolder folder;
  MpiJob job = job_of("ring_gcc");
  job.settings["RANKS"] = "representatives=2";
  job.settings["LIMIT"] = "0";
  const Traced run = recorded(job, MpiWay::kOutside, folder / "archive");
  CHECK(property(run.trace, "RANKS::POLICY") == "representatives=2");
  CHECK(property(run.trace, "RANKS::WRITTEN") == "0-1");
  CHECK(property(run.trace, "RANKS::CLUSTERS") == "0-1: 0-3");
  // One to the right, one to the left, in each of 20 iterations.
  const Replay messages = replay(run.trace);
  CHECK(messages.pairs() == 40);
  CHECK(messages.unmatched() == 0);
  CHECK(property_number(run.trace, "MESSAGES") == 40);
  CHECK(property_number(run.trace, "SENDS_DROPPED") == 40);
  CHECK(property_number(run.trace, "RECEIVES_DROPPED") == 40);
}

TEST_CASE("Ranks: nothing to leave out - all ranks are written, and why") {
  TemporaryFolder folder;
  MpiJob job = job_of("ring_gcc");
  job.settings["RANKS"] = "representatives";
  std::string why;
  SECTION("no graph") {
    job.settings["GRAPH"] = "none";
    why = "there are no event flow graphs to compare";
  }
  SECTION("no summary") {
    job.settings["SUMMARY_MEMORY"] = "0";
    why = "there are no event flow graphs to compare";
  }
  SECTION("as many as there are") {
    job.settings["RANKS"] = "representatives=4";
    why = "no more than 4 of them have equal event flow graphs";
  }
  const Traced run = recorded(job, MpiWay::kOutside, folder / "archive");
  CHECK(property(run.trace, "RANKS::WRITTEN") == "all");
  CHECK(property(run.trace, "RANKS::WHY") == "events of all 4 ranks: " + why);
  for (const Location& location : run.trace.locations)
    CHECK(location.properties.at("REFRAIN::EVENTS_WRITTEN") != "0");
}

TEST_CASE("Ranks: the line at the end - and what other commands make of the archive",
          "[alone]") {
  TemporaryFolder folder;
  const std::string archive = folder / "some";
  const auto record = [](const std::string& to, std::vector<std::string> options) {
    std::vector<std::string> words = {"run", "-n", "0", "--graph", "call", "-o", to};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "mpirun.mpich", "-n", "4",
                               data_file("test/programs/mpi/ring_gcc")});
    return run_refrain(words);
  };
  const std::string some = "events of 1 of 4 ranks: 0 (as 0-3: equal event flow graphs)";
  const Result run = record(archive, {"--ranks", "representatives"});
  CHECK(run.exit_status == 0);
  CHECK(run.errors.find("refrain: " + some + "\n") != std::string::npos);
  const Result own = record(folder / "own", {"--ranks", "representatives=4"});
  CHECK(own.errors.find("refrain: events of all 4 ranks: no more than 4 of them have equal "
                        "event flow graphs\n") != std::string::npos);
  REQUIRE(record(folder / "all", {}).exit_status == 0);
  CHECK(run_refrain({"info", archive}).output.find("Ranks        " + some) !=
        std::string::npos);
  // Totals are those of all ranks.
  const Result compared =
      run_refrain({"compare", "--json", "--min-share", "0", folder / "all", archive});
  REQUIRE(compared.exit_status == 0);
  int regions = 0;
  const auto json = nlohmann::json::parse(compared.output);
  for (const auto& row : json.at("rows")) {
    if (row.at("figure") != "calls") continue;
    CAPTURE(row.dump());
    CHECK(row.at("a") == row.at("b"));
    CHECK(row.at("b_estimated") == false);
    ++regions;
  }
  CHECK(regions > 5);
  for (const auto& [to, file] :
       std::map<std::string, std::string>{{"paraver", "a.prv"},
                                          {"perfetto", "a.pftrace"},
                                          {"chrome", "a.json"},
                                          {"csv", "a.csv"}}) {
    const Result converted =
        run_refrain({"convert", archive, "--to", to, "-o", folder / file});
    CAPTURE(to, converted.errors);
    CHECK(converted.exit_status == 0);
  }
  CHECK(run_refrain({"profile", "--events", archive}).exit_status == 0);
}

TEST_CASE("Ranks: one process - the setting has no effect") {
  TemporaryFolder folder;
  MpiJob mpi = job_of("ring_gcc");
  mpi.ranks = 1;
  mpi.settings["RANKS"] = "representatives";
  const Traced rank = recorded(mpi, MpiWay::kOutside, folder / "rank");
  const Traced threads = recorded({.program = "cg_clang",
                                   .arguments = {"2"},
                                   .settings = {{"RANKS", "representatives"}}},
                                  folder / "threads");
  for (const Trace* each : {&rank.trace, &threads.trace}) {
    CHECK(property(*each, "RANKS::WHY").empty());
    CHECK(property(*each, "SETTING::RANKS") == "representatives");
    CHECK(property_number(*each, "EVENTS_WRITTEN") > 0);
  }
}

TEST_CASE("Ranks: summary only - no events of any rank, and no choice") {
  TemporaryFolder folder;
  MpiJob job = job_of("ring_gcc");
  job.settings["RANKS"] = "representatives";
  job.settings["SUMMARY_ONLY"] = "yes";
  const Traced run = recorded(job, MpiWay::kOutside, folder / "archive");
  CHECK(property(run.trace, "RANKS::WHY").empty());
}

TEST_CASE("Ranks: budget - is for the representatives") {
  TemporaryFolder folder;
  MpiJob job = job_of("halo_gcc");
  job.arguments = {"3000", "4", "4"};
  job.settings.erase("LIMIT");
  job.settings["MARKS"] = "summary";
  job.settings["BUDGET"] = "200K";
  const Traced all = recorded(job, MpiWay::kOutside, folder / "all");
  job.settings["RANKS"] = "representatives";
  const Traced some = recorded(job, MpiWay::kOutside, folder / "some");
  const long limit = property_number(all.trace, "BUDGET_LIMIT");
  REQUIRE(limit > 1);
  const long more = property_number(some.trace, "BUDGET_LIMIT");
  CHECK((more > 2 * limit || more == -1));  // -1: everything fits
}

TEST_CASE("Ranks: killed - recover writes all ranks, and says so", "[alone]") {
  TemporaryFolder folder;
  MpiJob job = job_of("halo_clang");
  job.arguments = {"100000000"};
  job.ranks = 2;
  job.settings["RANKS"] = "representatives";
  job.kill_signal = SIGKILL;
  job.kill_once = have_entered(500, folder / "archive", 2);
  const Result killed = run_mpi(job, MpiWay::kOutside, folder / "archive");
  REQUIRE(killed.signal == SIGKILL);
  const Trace run = recover_job(folder / "archive");
  const std::string why =
      "events of all 2 ranks: a recovered archive has what each rank recorded until the "
      "end";
  CHECK(property(run, "RANKS::WRITTEN") == "all");
  CHECK(property(run, "RANKS::WHY") == why);
  // As wide as the terminal.
  std::string info = run_refrain({"info", folder / "archive"}).output;
  CHECK(info.find("Ranks        events of all 2 ranks: ") != std::string::npos);
  for (const Location& location : run.locations)
    CHECK(location.properties.at("REFRAIN::EVENTS_WRITTEN") != "0");
}

TEST_CASE("Ranks: command line - wrong values") {
  for (const char* wrong :
       {"some", "representatives=", "representatives=0", "representatives=-1",
        "representatives=1.5", "all=2", "representatives=2000000", "representatives 2"}) {
    CAPTURE(wrong);
    const Result result = run_refrain({"run", "--ranks", wrong, "--", "/bin/true"});
    CHECK(result.exit_status == 2);
    CHECK(result.errors == "refrain: --ranks: '" + std::string(wrong) +
                               "' is not a choice (all, representatives or "
                               "representatives=K)\n");
  }
}

}  // namespace refrain::test::ranks_test
