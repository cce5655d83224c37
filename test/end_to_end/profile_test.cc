// `refrain profile` of real runs: what it says of all events, against what counting tools and the
// archive's own events say.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "test/end_to_end/counts.h"
#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/read_trace.h"

namespace refrain::test::profile_test {
namespace {

using nlohmann::json;

json profile_of(const std::filesystem::path& archive, const std::string& more = "--quiet") {
  const Result result = run_refrain({"profile", archive, "--json", more});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  CHECK(result.errors.empty());
  return json::parse(result.output);
}

// Own times, and what belongs to none, are all of each location's time, to the tick.
void check_exact(const json& profile) {
  REQUIRE(!profile["locations"].empty());
  for (const json& location : profile["locations"]) {
    const auto number = location["location"].get<std::uint32_t>();
    INFO("location " << number);
    auto sum = location["outside_ticks"].get<std::int64_t>() +
               location["elsewhere_ticks"].get<std::int64_t>();
    for (const json& path : profile["paths"])
      for (const json& each : path["locations"]) {
        if (each["location"] != number) continue;
        CHECK(each["own_ticks"].get<std::int64_t>() >= 0);
        CHECK(each["management_ticks"].get<std::int64_t>() >= 0);
        sum += each["own_ticks"].get<std::int64_t>() +
               each["management_ticks"].get<std::int64_t>() +
               each["elsewhere_ticks"].get<std::int64_t>();
      }
    CHECK(location["outside_ticks"].get<std::int64_t>() >= 0);
    CHECK(sum == location["time_ticks"].get<std::int64_t>());
    CHECK(sum > 0);
  }
  double classes = 0;
  for (const auto& [name, ns] : profile["classes"].items()) classes += ns.get<double>();
  CHECK(classes == Approx(profile["time_ns"].get<double>()));
}

// Visits of regions whose names begin so.
std::uint64_t visits(const json& profile, const std::string& begin) {
  std::uint64_t sum = 0;
  for (const json& path : profile["paths"])
    if (path["name"].get<std::string>().starts_with(begin))
      sum += path["visits"].get<std::uint64_t>();
  return sum;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '"')
      cells.back() += c;
  }
  return cells;
}

// Columns of the CSV by name; their sums over rows with a path, by class of those without.
struct Csv {
  std::vector<std::map<std::string, std::string>> rows;

  explicit Csv(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    REQUIRE(std::getline(lines, line));
    const std::vector<std::string> titles = cells_of(line);
    while (std::getline(lines, line)) {
      const std::vector<std::string> cells = cells_of(line);
      REQUIRE(cells.size() == titles.size());
      auto& row = rows.emplace_back();
      for (std::size_t i = 0; i < cells.size(); ++i) row[titles[i]] = cells[i];
    }
  }
  double sum(const std::string& column, const std::string& path) const {
    double total = 0;
    for (const auto& row : rows)
      if (row.at("path") == path && !row.at(column).empty())
        total += std::stod(row.at(column));
    return total;
  }
};

// Text, JSON and CSV of one archive say the same.
void check_outputs(const std::filesystem::path& archive, const json& profile) {
  const Result csv_result = run_refrain({"profile", archive, "--csv"});
  REQUIRE(csv_result.exit_status == 0);
  const Csv csv(csv_result.output);
  std::size_t rows = profile["locations"].size();
  double own = csv.sum("own_ns", "");
  for (const json& path : profile["paths"]) {
    rows += path["locations"].size();
    const std::string number = std::to_string(path["path"].get<std::uint32_t>());
    INFO("path " << number);
    for (const char* column : {"visits", "bytes_sent", "bytes_received", "messages_sent"})
      CHECK(csv.sum(column, number) == path[column].get<double>());
    for (const char* column : {"time_ns", "own_ns", "management_ns"})
      CHECK(csv.sum(column, number) == Approx(path[column].get<double>()).margin(0.01));
    own += csv.sum("own_ns", number) + csv.sum("management_ns", number) +
           csv.sum("elsewhere_ns", number);
  }
  CHECK(csv.rows.size() == rows);
  CHECK(own == Approx(profile["time_ns"].get<double>()));

  const Result text = run_refrain({"profile", archive, "--all"});
  REQUIRE(text.exit_status == 0);
  INFO(text.output);
  std::istringstream lines(text.output);
  std::map<std::string, std::vector<std::string>> seen;  // by a row's first word
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    for (std::string word; words >> word;) seen[first].push_back(word);
  }
  for (const json& procedure : profile["mpi"]) {
    const auto& words = seen[procedure["name"].get<std::string>()];
    const std::string calls = std::to_string(procedure["calls"].get<std::uint64_t>());
    CHECK(std::count(words.begin(), words.end(), calls) >= 1);
  }
  char parallel[32];
  std::snprintf(parallel, sizeof parallel, "parallel %.1f %%",
                100 * profile["efficiencies"]["parallel"].get<double>());
  CHECK(text.output.find(parallel) != std::string::npos);
}

// The names, places and call sites of a path.
std::string key_of(const json& profile, const json& path) {
  std::string key;
  for (json at = path;; at = profile["paths"][at["parent"].get<std::size_t>()]) {
    key += at["name"].get<std::string>() + '\n' + at["file"].get<std::string>() + '\n' +
           std::to_string(at["line"].get<int>()) + '\n' + at["site"].get<std::string>() +
           '\n';
    if (at["parent"].is_null()) return key;
  }
}

// Path by path; `margin_ns`: of one visit's duration.
void check_same(const json& profile, const json& events, double margin_ns) {
  std::map<std::string, json> others;
  for (const json& path : events["paths"]) others[key_of(events, path)] = path;
  REQUIRE(others.size() == profile["paths"].size());
  for (const json& path : profile["paths"]) {
    const std::string key = key_of(profile, path);
    INFO(key);
    REQUIRE(others.count(key) == 1);
    const json& other = others[key];
    for (const char* exact : {"visits", "bytes_sent", "bytes_received", "messages_sent",
                              "messages_received", "class"})
      CHECK(path[exact] == other[exact]);
    for (const char* of_visit : {"minimum_ns", "maximum_ns"})
      CHECK(path[of_visit].get<double>() ==
            Approx(other[of_visit].get<double>()).margin(margin_ns).epsilon(1e-5));
    CHECK(path["time_ns"].get<double>() ==
          Approx(other["time_ns"].get<double>())
              .margin(margin_ns * path["visits"].get<double>())
              .epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("Profile: OpenMP, most events skipped - counts of all, times to the tick") {
  TemporaryFolder folder;
  const Job job{.program = "cg_clang", .settings = {{"LIMIT", "10"}, {"SLOW_FACTOR", "0"}}};
  recorded(job, folder / "a");
  const Counts counts(job);
  const json profile = profile_of(folder / "a");
  CHECK(profile["source"] == "summary");
  CHECK(profile["events_written"].get<long>() < profile["events_seen"].get<long>() / 2);
  check_exact(profile);
  check_outputs(folder / "a", profile);
  CHECK(visits(profile, "!$omp parallel") == counts.of("implicit_task.implicit.begin"));
  CHECK(visits(profile, "!$omp for") == counts.sum("work.loop", ".begin"));
  CHECK(visits(profile, "!$omp implicit barrier") ==
        counts.sum("sync_region.barrier_implicit", ".begin"));
  std::uint64_t forks = 0;
  for (const json& region : profile["parallel_regions"])
    forks += region["forks"].get<std::uint64_t>();
  CHECK(forks == counts.sum("parallel_begin."));
  CHECK(forks > 1000);
  // Of both threads, from fork to join.
  for (const json& region : profile["parallel_regions"]) {
    INFO(region["name"]);
    CHECK(region["time_ns"].get<double>() ==
          Approx(2 * region["fork_ns"].get<double>()).epsilon(1e-6));
  }

  // From the events there are fewer; the time of the gaps is in no region.
  const json events = profile_of(folder / "a", "--events");
  check_exact(events);
  CHECK(events["intervals_not_written"].get<long>() > 0);
  CHECK(visits(events, "!$omp") < visits(profile, "!$omp") / 2);
  CHECK(profile["classes"]["unknown_ns"] == 0);
  CHECK(events["classes"]["unknown_ns"].get<double>() >
        0.05 * events["time_ns"].get<double>());
  CHECK(events["classes"]["useful_ns"].get<double>() <
        profile["classes"]["useful_ns"].get<double>());
}

TEST_CASE("Profile: everything written - the archive's events say the same") {
  TemporaryFolder folder;
  const Job job{.program = "cg_clang", .settings = {{"LIMIT", "0"}}};
  const Traced traced = recorded(job, folder / "a");
  const json profile = profile_of(folder / "a");
  // By the test's own reader: enters, and time from enter to leave; the archive may be a tick or
  // two off where one region ends with another.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> found, expected;
  for (const Location& location : traced.trace.locations) {
    std::vector<std::uint64_t> open;
    for (const Event& event : location.events) {
      if (event.type == EventType::kEnter) open.push_back(event.time);
      if (event.type != EventType::kLeave) continue;
      auto& [count, ticks] = expected[traced.trace.regions.at(event.reference).name];
      ++count;
      ticks += event.time - open.back();
      open.pop_back();
    }
  }
  std::erase_if(expected,
                [](const auto& each) { return !each.first.starts_with("!$omp"); });
  for (const json& path : profile["paths"])
    for (const json& each : path["locations"]) {
      auto& [count, ticks] = found[path["name"].get<std::string>()];
      count += each["visits"].get<std::uint64_t>();
      ticks += each["time_ticks"].get<std::uint64_t>();
    }
  REQUIRE(found.size() == expected.size());
  REQUIRE(found.size() > 10);
  for (const auto& [name, sums] : expected) {
    INFO(name);
    CHECK(found[name].first == sums.first);
    CHECK(std::abs(static_cast<double>(found[name].second) -
                   static_cast<double>(sums.second)) <=
          2 * static_cast<double>(sums.first));
  }

  // And so does `refrain profile` itself, from the events.
  const json events = profile_of(folder / "a", "--events");
  CHECK(events["source"] == "events");
  CHECK(events["intervals_not_written"] == 0);
  check_exact(events);
  check_same(profile, events, 2);
  for (const auto& [name, ns] : profile["classes"].items())
    CHECK(events["classes"][name].get<double>() ==
          Approx(ns.get<double>()).margin(0.005 * profile["time_ns"].get<double>()));
}

namespace {

json json_of(const std::vector<std::string>& words) {
  const Result result = run_refrain(words);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return json::parse(result.output);
}

// What commands say of efficiencies and of numbers of iterations is the same.
void check_agreement(const std::string& archive, const json& profile) {
  const json& e = profile["efficiencies"];
  const std::map<std::pair<std::string, std::string>, std::string> names = {
      {{"threads", "parallel efficiency"}, "parallel"},
      {{"threads", "load balance"}, "load_balance"},
      {{"threads", "communication efficiency"}, "communication"},
      {{"MPI", "parallel efficiency"}, "mpi"},
      {{"MPI", "load balance"}, "mpi_load_balance"},
      {{"MPI", "communication efficiency"}, "mpi_communication"}};
  std::map<std::string, std::uint64_t> iterations;  // by place, of the rank with most
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> by_rank;
  const json info = json_of({"info", archive, "--json"});
  const json compared = json_of({"compare", archive, archive, "--json"});
  for (const json& phase : info["phases"]) {
    const std::string name = phase["name"];
    by_rank[{name.substr(name.find("@ ")), phase["process"]}] +=
        phase["iterations"].get<std::uint64_t>();
  }
  for (const auto& [of, count] : by_rank)
    iterations[of.first] = std::max(iterations[of.first], count);
  std::size_t efficiencies = 0, loops = 0;
  for (const json& row : compared["rows"]) {
    INFO(row.dump());
    if (row["unit"] == "efficiency") {
      ++efficiencies;
      CHECK(row["a"] == e[names.at({row["subject"], row["figure"]})]);
      CHECK(row["a"].get<double>() <= 1);
    } else if (row["figure"] == "iterations") {
      ++loops;
      const std::string name = row["subject"];
      CHECK(row["a"] == iterations.at(name.substr(name.find("@ "))));
    }
  }
  CHECK(efficiencies == names.size());
  CHECK(loops > 0);
  const json rows = json_of({"profile", archive, "--iterations", "--json"});
  REQUIRE_FALSE(rows["loops"].empty());
  for (const json& loop : rows["loops"]) {
    const std::string name = loop["name"];
    INFO(name);
    CHECK(loop["iterations"] == iterations.at(name.substr(name.find("@ "))));
  }
}

}  // namespace

TEST_CASE("Profile: two ranks with two threads each - calls of MPI, bytes, efficiencies") {
  TemporaryFolder folder;
  const MpiJob job{.program = "hybrid_clang", .threads = 2, .settings = {{"LIMIT", "2"}}};
  recorded(job, MpiWay::kInside, folder / "a");
  const MpiCounts counts = count_mpi(job);
  const json profile = profile_of(folder / "a");
  check_exact(profile);
  check_outputs(folder / "a", profile);
  CHECK(profile["processes"].size() == 2);
  CHECK(profile["locations"].size() == 4);
  std::map<std::string, std::uint64_t> expected, found;
  for (int rank = 0; rank < 2; ++rank)
    for (const auto& [name, calls] : counts.calls[static_cast<std::size_t>(rank)])
      if (calls != 0) expected[name] += calls;
  std::uint64_t sent = 0, received = 0;
  for (const json& procedure : profile["mpi"]) {
    found[procedure["name"]] = procedure["calls"];
    if (procedure["class"] != "mpi_point_to_point") continue;
    sent += procedure["bytes_sent"].get<std::uint64_t>();
    received += procedure["bytes_received"].get<std::uint64_t>();
  }
  CHECK(found == expected);
  CHECK(sent == received);
  CHECK(sent > 0);
  const json& e = profile["efficiencies"];
  const auto value = [&](const char* name) { return e[name].get<double>(); };
  CHECK(value("parallel") == Approx(value("load_balance") * value("communication")));
  CHECK(value("mpi") == Approx(value("mpi_load_balance") * value("mpi_communication")));
  CHECK(value("parallel") == Approx(value("mpi") * value("openmp")));
  check_agreement((folder / "a").string(), profile);
}

TEST_CASE("Profile: MPI, everything written - the events say the same") {
  TemporaryFolder folder;
  const MpiJob job{.program = "hybrid_clang", .threads = 2, .settings = {{"LIMIT", "0"}}};
  recorded(job, MpiWay::kInside, folder / "a");
  const json profile = profile_of(folder / "a");
  const json events = profile_of(folder / "a", "--events");
  check_exact(events);
  // Ranks' clocks are not the archive's, in which no two events of a thread have the same time.
  const Trace trace = read_trace(folder / "a");
  const double moved_ns =
      trace.ns(std::stoull(trace.properties.at("REFRAIN::MOVED_TICKS")));
  check_same(profile, events, 2 + moved_ns);
  CHECK(profile["mpi"].size() > 5);
}

TEST_CASE("Profile: what cannot be read - one line, exit status 2 or what is left") {
  TemporaryFolder folder;
  recorded({.program = "cg_clang", .arguments = {"2"}}, folder / "a");
  const auto refused = [](const std::string& archive, const std::string& why) {
    const Result result = run_refrain({"profile", archive});
    INFO(archive << ": " << result.errors);
    CHECK(result.exit_status == 2);
    CHECK(result.output.empty());
    CHECK(result.errors.find(why) != std::string::npos);
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
  };
  refused(folder / "none", "does not exist");
  std::filesystem::create_directory(folder / "empty");
  refused(folder / "empty", "no archive");
  const std::filesystem::path summary = folder / "a" / "summary" / "process-0.json";
  std::string text = read_file(summary);
  REQUIRE(text.size() > 100);
  std::ofstream(summary) << text.substr(0, text.size() / 2);
  const auto from_events = [&](const std::string& why) {
    const Result result = run_refrain({"profile", folder / "a"});
    INFO(result.errors);
    CHECK(result.exit_status == 0);
    CHECK(result.output.find("events in the archive, which has no summary") !=
          std::string::npos);
    CHECK(result.errors.find(why) != std::string::npos);
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
  };
  from_events("process-0.json is not a summary");
  const std::string version = "\"version\":";
  REQUIRE(text.find(version) != std::string::npos);
  text.insert(text.find(version) + version.size(), "77");
  std::ofstream(summary) << text;
  from_events("version 77");
  // Without it, the events are read.
  std::filesystem::remove_all(folder / "a" / "summary");
  const Result events = run_refrain({"profile", folder / "a"});
  CHECK(events.exit_status == 0);
  CHECK(events.output.find("which has no summary") != std::string::npos);
}

}  // namespace refrain::test::profile_test
