// `refrain watch`: figures of a job while it runs, against its summary at the end; and what it refuses.
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "spool/format.h"
#include "summary/run_summary.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test::watch_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kRanks = 4;
constexpr int kThreads = 2;

// test/programs/mpi/lingering.c, which waits at its end until let_go().
class LingeringJob {
 public:
  LingeringJob(const TemporaryFolder& folder, std::map<std::string, std::string> settings)
      : prefix_((folder / "at").string()), archive_(folder / "archive") {
    MpiJob job{.program = "lingering_clang",
               .arguments = {prefix_, "120", "5"},
               .ranks = kRanks,
               .threads = kThreads,
               .settings = std::move(settings)};
    result_ = std::async(std::launch::async,
                         [=, this] { return run_mpi(job, MpiWay::kInside, archive_); });
  }
  ~LingeringJob() { let_go(); }

  // Until all ranks wait; false: the job has ended without.
  bool wait_until_there() {
    const auto there = [&] {
      for (int rank = 0; rank < kRanks; ++rank)
        if (!fs::exists(prefix_ + "." + std::to_string(rank))) return false;
      return true;
    };
    while (!there())
      if (result_.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready)
        return false;
    return true;
  }
  void let_go() { std::ofstream(prefix_ + ".go").flush(); }
  Result result() { return result_.get(); }
  const fs::path& archive() const { return archive_; }

 private:
  std::string prefix_;
  fs::path archive_;
  std::future<Result> result_;
};

// Of the summary, as `refrain watch` counts.
struct Counts {
  std::uint64_t regions = 0, mpi_calls = 0, sent = 0, received = 0, bytes_sent = 0;
  explicit Counts(const summary::RunSummary& summary) {
    for (const auto& location : summary.locations)
      for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
        const auto& sums = location.sums[i];
        const auto& node = summary.nodes[i];
        sent += sums.messages_sent;
        received += sums.messages_received;
        bytes_sent += sums.bytes_sent;
        if (node.kind != summary::RunSummary::Kind::kRegion) continue;
        regions += sums.visits;
        if (summary.regions[node.region].name.starts_with("MPI_")) mpi_calls += sums.visits;
      }
  }
};

// Each moment of a thread is in one class; shares are those of the whole.
void check_times(const json& state) {
  for (const json& rank : state["ranks"]) {
    INFO("rank " << rank["rank"]);
    CHECK(rank["threads"].size() == kThreads);
    for (const json& thread : rank["threads"]) {
      double sum = 0;
      for (const auto& [name, ns] : thread["classes"].items()) sum += ns.get<double>();
      CHECK(sum == Approx(rank["time_ns"].get<double>()).epsilon(1e-6));
    }
    double shares = 0;
    for (const auto& [name, share] : rank["shares"].items()) shares += share.get<double>();
    CHECK(shares == Approx(1));
  }
}

json watch_once(const std::string& target) {
  const Result result = run_refrain({"watch", target, "--once", "--json"});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  CHECK(result.errors.empty());
  CHECK(std::count(result.output.begin(), result.output.end(), '\n') == 1);
  return json::parse(result.output);
}

}  // namespace

TEST_CASE("Watch: four ranks of two threads - the figures are those of the summary") {
  const bool summary_only = GENERATE(false, true);
  CAPTURE(summary_only);
  TemporaryFolder folder;
  std::map<std::string, std::string> settings = {{"LIMIT", "3"}, {"MIN_GAP", "0"}};
  if (summary_only) settings = {{"SUMMARY_ONLY", "yes"}};
  LingeringJob job(folder, settings);
  REQUIRE(job.wait_until_there());
  const json state = watch_once(job.archive());
  CHECK(state["format"] == "refrain watch");
  CHECK(state["version"] == 1);
  CHECK(state["job_size"] == kRanks);
  CHECK(state["summary_only"] == summary_only);
  CHECK(state["command"].get<std::string>().find("lingering_clang") != std::string::npos);
  REQUIRE(state["ranks"].size() == kRanks);
  check_times(state);
  for (const json& rank : state["ranks"]) {
    CHECK(rank["recording"] == true);
    CHECK(rank["events_lost"] == 0);
    CHECK((rank["records_written"] == 0) == summary_only);
    CHECK(rank["disk_bytes"].get<long>() > 0);
  }
  // By the number of any process, and of the one that started them; as text.
  const json by_pid = watch_once(std::to_string(state["ranks"][2]["pid"].get<long>()));
  CHECK(by_pid["archive"] == state["archive"]);
  for (int rank = 0; rank < kRanks; ++rank)
    CHECK(by_pid["ranks"][rank]["regions"] == state["ranks"][rank]["regions"]);
  const Result text = run_refrain({"watch", job.archive(), "--once"});
  CHECK(text.exit_status == 0);
  CHECK(text.output.find("4 ranks, 8 threads") != std::string::npos);
  CHECK(text.output.find("lingering.c:") != std::string::npos);
  // Without a name: other jobs may run on this machine.
  const Result any = run_refrain({"watch", "--once", "--json"});
  CHECK((any.output + any.errors).find(job.archive().string()) != std::string::npos);

  // Until the end: the last look has the last numbers.
  const fs::path looks = folder / "looks";
  Command follow;
  follow.arguments = {"/bin/sh",
                      "-c",
                      "exec \"$1\" watch \"$2\" --json --interval 0.05 > \"$3\"",
                      "sh",
                      data_file("tools/refrain"),
                      job.archive(),
                      looks};
  follow.environment = clean_environment();
  auto follower = std::async(std::launch::async, [&] { return run(follow); });
  const auto has_looked = [&] {
    return fs::exists(looks) && read_file(looks).find('\n') != std::string::npos;
  };
  while (!has_looked() &&
         follower.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
  }
  job.let_go();
  const Result result = job.result();
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  const auto summaries = *summary::read_summaries(job.archive());
  REQUIRE(summaries.size() == kRanks);
  for (std::size_t i = 0; i < kRanks; ++i) {
    const json& rank = state["ranks"][i];
    INFO(rank.dump());
    const Counts counts(summaries[i]);
    CHECK(rank["rank"] == summaries[i].rank);
    // After the look there was MPI_Finalize alone.
    CHECK(rank["regions"].get<std::uint64_t>() + 1 == counts.regions);
    CHECK(rank["mpi_calls"].get<std::uint64_t>() + 1 == counts.mpi_calls);
    CHECK(rank["messages_sent"] == counts.sent);
    CHECK(rank["messages_received"] == counts.received);
    CHECK(rank["bytes_sent"] == counts.bytes_sent);
    CHECK(counts.sent == 120);
  }
  const Trace trace = read_checked(job.archive());
  std::map<std::pair<int, std::string>, json> loops;
  const json property = json::parse(trace.properties.at("REFRAIN::LOOPS"));
  for (const json& loop : property) loops[{loop["process"], loop["name"]}] = loop;
  int compared = 0;
  for (const json& rank : state["ranks"]) {
    REQUIRE_FALSE(rank["loops"].empty());
    for (const json& loop : rank["loops"]) {
      INFO(loop.dump());
      const auto found = loops.find({rank["process"], loop["name"]});
      REQUIRE(found != loops.end());
      // The last iteration of the outermost loop ends when that is left, and with it what is inside.
      const auto rest = [&](const char* count) {
        return found->second[count].get<long>() - loop[count].get<long>();
      };
      const bool outermost = loop["level"] == 0;
      CHECK(rest("iterations") >= 0);
      CHECK(rest("visits") >= 0);
      CHECK(rest("visits") <= (outermost ? 0 : 1));
      CHECK(rest("iterations") <= (outermost ? 1 : 5));
      CHECK(loop["median_ns"].get<double>() <= loop["slowest_ns"].get<double>());
      CHECK(loop["level"] == found->second["level"]);
      ++compared;
    }
  }
  CHECK(compared >= 2 * kRanks);

  const Result followed = follower.get();
  INFO(followed.errors);
  CHECK(followed.exit_status == 0);
  std::istringstream lines(read_file(looks));
  std::string last;
  for (std::string line; std::getline(lines, line);) last = line;
  const json end = json::parse(last);
  REQUIRE(end["ranks"].size() == kRanks);
  for (std::size_t i = 0; i < kRanks; ++i) {
    CHECK(end["ranks"][i]["recording"] == false);
    const Counts counts(summaries[i]);
    CHECK(end["ranks"][i]["regions"] == counts.regions);
    CHECK(end["ranks"][i]["mpi_calls"] == counts.mpi_calls);
    CHECK(end["ranks"][i]["messages_sent"] == counts.sent);
  }
  check_refused({"watch", job.archive()}, "is complete");
}

TEST_CASE("Watch: on a terminal - drawn again, and q leaves it as it was") {
  TemporaryFolder folder;
  LingeringJob job(folder, {{"LIMIT", "3"}});
  REQUIRE(job.wait_until_there());
  const std::string command = data_file("tools/refrain");
  const std::string archive = job.archive();
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(pid >= 0);
  if (pid == 0) {
    execl(command.c_str(), command.c_str(), "watch", archive.c_str(), "--interval", "0.05",
          nullptr);
    _exit(127);
  }
  std::string shown;
  const auto read_more = [&] {
    char text[4096];
    const ssize_t n = read(terminal, text, sizeof text);
    if (n > 0) shown.append(text, static_cast<std::size_t>(n));
    return n > 0;
  };
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = shown.find(what); at != std::string::npos;
         at = shown.find(what, at + 1))
      ++found;
    return found;
  };
  while (count("\033[H") < 3 && read_more()) {
  }
  CHECK(count("Share of the last") >= 1);
  CHECK(write(terminal, "xq", 2) == 2);  // other keys do nothing
  while (read_more()) {
  }
  int status = -1;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  close(terminal);
  CHECK(count("\033[?1049h") == 1);
  const std::size_t left = shown.find("\033[?25h\033[?1049l");
  REQUIRE(left != std::string::npos);
  // The last state stays on the ordinary screen.
  CHECK(shown.find("4 ranks, 8 threads", left) != std::string::npos);
  CHECK(shown.find("\033[", left + 14) == std::string::npos);
  job.let_go();
  CHECK(job.result().exit_status == 0);
}

TEST_CASE("Watch: killed - what to do, in one line") {
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  Job job{"cg_clang", {"1000000", "64", "8"}, 2, {{"LIMIT", "10"}}};
  job.kill_signal = SIGKILL;
  job.kill_once = have_entered(100, folder / "archive");
  run_job(job, Way::kRun, archive);
  REQUIRE(fs::exists(archive / "spool"));
  check_refused({"watch", archive}, "refrain recover");
  check_refused({"watch", archive, "--once", "--json"}, "refrain recover");
}

TEST_CASE("Watch: what cannot be read - one line, exit status 2") {
  TemporaryFolder folder;
  check_refused({"watch", folder / "none"}, "does not exist");
  check_refused({"watch", "999999999"}, "not being traced");
  check_refused({"watch", "99999999999999999999"}, "not being traced");
  check_refused({"watch", std::to_string(getpid())}, "not being traced");
  check_refused({"watch", "--interval", "0"}, "--interval");
  fs::create_directory(folder / "empty");
  check_refused({"watch", folder / "empty"}, "no spool");
  std::ofstream(folder / "file") << "x";
  check_refused({"watch", folder / "file"}, "not a directory");

  // A real one, then damaged.
  const fs::path archive = folder / "archive";
  REQUIRE(run_job({"cg_clang", {"2"}, 2, {{"KEEP_SPOOL", "yes"}}}, Way::kRun, archive)
              .exit_status == 0);
  const fs::path journal = archive / "spool" / "process-0" / "journal.spool";
  const std::string good = read_file(journal);
  check_refused({"watch", archive}, "records");
  const auto with = [&](const std::string& bytes, const std::string& why) {
    std::ofstream(journal, std::ios::binary | std::ios::trunc) << bytes;
    check_refused({"watch", archive}, why);
  };
  with("", "shorter than a header");
  with(good.substr(0, 100), "shorter than a header");
  with(std::string(8192, '?'), "is not a spool file");
  std::string version = good;
  version[offsetof(spool::Header, version)] = 99;
  with(version, "format version 99");
  std::string order = good;
  std::swap(order[offsetof(spool::Header, byte_order)],
            order[offsetof(spool::Header, byte_order) + 3]);
  with(order, "byte order");
  // Cut off within the table of loops: there is nothing left that records.
  with(good.substr(0, spool::kHeaderBytes + 1000), "records");
}

}  // namespace refrain::test::watch_test
