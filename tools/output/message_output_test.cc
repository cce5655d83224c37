#include "tools/output/message_output.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/output/profile_data.h"
#include "tools/output/profile_screen.h"

namespace refrain::tools::message_output_test {
namespace {

using analysis::CallSums;
using analysis::MessageCalls;
using analysis::ProcessMessages;
using nlohmann::json;
using Partner = MessageCalls::Partner;

constexpr Partner kNext{Partner::Kind::kRelative, 1};
constexpr Partner kBefore{Partner::Kind::kRelative, -1};

CallSums sums(std::uint64_t calls, std::uint64_t time, std::uint64_t sent,
              std::uint64_t received) {
  return {.calls = calls,
          .time = time,
          .minimum = time / calls / 2,
          .maximum = time / calls * 2,
          .bytes_sent = sent,
          .bytes_received = received};
}

MessageCalls calls_of(const char* procedure, Partner to, Partner from, std::uint64_t least,
                      std::uint64_t greatest, const CallSums& sums) {
  return {.procedure = procedure,
          .to = to,
          .from = from,
          .size_least = least,
          .size_greatest = greatest,
          .sums = sums};
}

ProfiledRun run_of(const std::vector<ProcessMessages>& processes) {
  ProfiledRun run;
  run.archive = "run";
  run.totals.time_ns = 2e9;
  run.messages = analysis::message_tables(processes);
  return run;
}

// Two ranks; the second has a clock of half the rate, and so twice the times.
ProfiledRun two_ranks() {
  std::vector<ProcessMessages> processes(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    processes[rank].process = processes[rank].rank = rank;
    processes[rank].ticks_per_second = rank == 0 ? 1e9 : 5e8;
    processes[rank].calls = {
        calls_of("MPI_Barrier", {}, {}, 0, 0, sums(10, 100'000'000, 0, 0)),
        calls_of("MPI_Sendrecv", kNext, kBefore, 8192, 16000,
                 sums(100, 20'000'000, 1'000'000, 900'000)),
        calls_of("MPI_Sendrecv", kNext, kBefore, 524'288, 600'000,
                 sums(10, 10'000'000, 5'500'000, 5'500'000)),
        calls_of("MPI_Send", {Partner::Kind::kNobody, 0}, {}, 0, 0, sums(5, 50, 0, 0))};
  }
  return run_of(processes);
}

std::vector<std::string> lines_with(const std::vector<std::string>& lines,
                                    const std::string& text) {
  std::vector<std::string> out;
  std::ranges::copy_if(lines, std::back_inserter(out), [&](const std::string& line) {
    return line.find(text) != std::string::npos;
  });
  return out;
}

}  // namespace

TEST_CASE("Message output: text - sums of all ranks, as much as there is room for") {
  const ProfiledRun run = two_ranks();
  for (const std::size_t width : {80, 100, 130, 170})
    for (const std::string& line : message_screen(run, {.width = width}))
      CHECK(line.size() <= width);
  const auto lines = message_screen(run, {.width = 100});
  const auto calls = lines_with(lines, "MPI_Sendrecv");
  REQUIRE(calls.size() == 3);
  // Of both 20 ms and 40 ms; of the larger size 10 and 20.
  CHECK(
      calls[0].find("8-16 KiB       200    60 ms   3.0 %   300 us    3.8 MB   63.3 MB/s") !=
      std::string::npos);
  CHECK(calls[1].find("512 KiB-1 MiB        20    30 ms   1.5 %   1.5 ms     22 MB") !=
        std::string::npos);
  CHECK(calls[2].starts_with("  MPI_Sendrecv to rank+1, from rank-1 "));
  CHECK(calls[2].find("220    90 ms   4.5 % 409.1 us   25.8 MB    287 MB/s") !=
        std::string::npos);
  CHECK(lines_with(lines, "MPI_Barrier").size() == 2);
  CHECK(lines_with(lines, "to nobody").size() == 1);
  const auto wide = message_screen(run, {.width = 170});
  CHECK(lines_with(wide, "Rank min Rank max Call min Call max").size() == 2);
  CHECK(lines_with(wide, "30 ms    60 ms   100 us     4 ms").size() == 1);
  CHECK(lines_with(message_screen(run, {.width = 80}), "Bandwidth").empty());
}

TEST_CASE("Message output: text - in a profile those with data or a partner, and time") {
  const ProfiledRun run = two_ranks();
  const auto lines = message_screen(run, {.brief = true});
  CHECK(lines_with(lines, "MPI_Barrier").empty());
  CHECK(lines_with(lines, "to nobody").empty());  // next to no time
  CHECK(lines_with(lines, "and 2 more (--messages)").size() == 2);
  CHECK(lines_with(message_screen(run, {.all = true, .brief = true}), "more (").empty());
  // Without any of these there is no table.
  ProcessMessages one;
  one.calls = {calls_of("MPI_Barrier", {}, {}, 0, 0, sums(1, 500'000'000, 0, 0))};
  CHECK(message_screen(run_of({one}), {.brief = true}).empty());
  CHECK(message_screen(run_of({one}), {}).size() == 6);
  CHECK(message_screen(run_of({}), {.brief = true}).empty());
  CHECK(message_screen(run_of({}), {}).back() == "No calls of MPI");
}

TEST_CASE("Message output: text - many rows, the largest, and how many more there are") {
  ProcessMessages process;
  for (unsigned i = 0; i < 40; ++i)
    process.calls.push_back(calls_of("MPI_Send", {Partner::Kind::kRelative, int(i) + 1}, {},
                                     std::uint64_t{1} << i, std::uint64_t{1} << i,
                                     sums(1, 10'000'000 + i, 1, 0)));
  const ProfiledRun run = run_of({process});
  const auto count = [&](const MessageScreenOptions& options) {
    return lines_with(message_screen(run, options), "MPI_Send").size();
  };
  CHECK(count({.brief = true}) == 2 * 6);
  CHECK(count({}) == 2 * 24);
  CHECK(count({.all = true}) == 2 * 40);
  const auto lines = message_screen(run, {});
  CHECK(lines_with(lines, "and 16 more (--all)").size() == 2);
  CHECK(lines_with(lines, "549755813888 B").size() == 1);  // exact, and the largest time
  CHECK(lines_with(lines, "rank+40 ").size() == 1);
  CHECK(lines_with(lines, "rank+16 ").empty());
}

TEST_CASE("Message output: text - sizes of several classes") {
  const auto size = [](std::uint64_t least, std::uint64_t greatest) {
    ProcessMessages process;
    process.calls = {calls_of("MPI_Send", kNext, {}, least, greatest, sums(2, 2000, 1, 0))};
    return lines_with(message_screen(run_of({process}), {}), "MPI_Send")[0].substr(10);
  };
  const auto is = [&](std::uint64_t least, std::uint64_t greatest,
                      const std::string& text) {
    CAPTURE(least, greatest);
    CHECK(size(least, greatest).find(" " + text + "  ") != std::string::npos);
  };
  is(0, 0, "0 B");
  is(12288, 12288, "12288 B");
  is(2, 3, "2-4 B");
  is(600, 1000, "512 B-1 KiB");
  is(1024, 2047, "1-2 KiB");
  is(1'500'000, 2'000'000, "1-2 MiB");
  is(~std::uint64_t{0} - 1, ~std::uint64_t{0}, "8 EiB and more");
}

TEST_CASE("Message output: what is not known, has no place, or belongs to no call") {
  ProcessMessages process;
  process.calls = {calls_of("MPI_Send", kNext, {}, 8, 8, sums(1, 10'000'000, 8, 0))};
  process.sizes = false;
  auto lines = message_screen(run_of({process}), {});
  CHECK(lines_with(lines, "MPI by message size: not in the summary").size() == 1);
  CHECK(lines_with(lines, "to rank+1").size() == 1);
  CHECK(lines_with(lines, "--messages counts the events").size() == 1);
  process.partners = false;
  ProfiledRun run = run_of({process});
  run.summary_only = true;
  lines = message_screen(run, {});
  CHECK(lines_with(lines, "MPI by message size and partner: not in").size() == 1);
  CHECK(lines_with(lines, "there are no events").size() == 1);
  CHECK(lines.size() == 3);
  CHECK(json::parse(messages_json(run))["by_size"].is_null());
  CHECK(messages_csv(run).find("\"MPI_Send\",relative,1,,,,,0,,1,") != std::string::npos);

  process.sizes = process.partners = true;
  process.elsewhere = sums(7, 70'000, 300, 4);
  process.outside = {.calls = 3, .bytes_sent = 5};
  run = run_of({process});
  lines = message_screen(run, {});
  CHECK(lines_with(lines, "  7 calls and parallel regions, 70 us and 304 bytes").size() ==
        1);
  CHECK(lines_with(lines, "  3 messages, 5 bytes, belong to no call").size() == 1);
  const json data = json::parse(messages_json(run));
  CHECK(data["calls_elsewhere"] == 7);
  CHECK(data["bytes_elsewhere"] == 304);
  CHECK(data["messages_outside"] == 3);
}

TEST_CASE("Message output: JSON - tables, and each rank's ticks") {
  const ProfiledRun run = two_ranks();
  const json data = json::parse(messages_json(run));
  CHECK(data["format"] == "refrain messages");
  CHECK(data["version"] == 2);
  REQUIRE(data["by_size"].size() == 4);
  REQUIRE(data["by_partner"].size() == 3);
  REQUIRE(data["by_signature"].size() == 4);
  const json& partner = data["by_partner"][1];
  CHECK(partner["procedure"] == "MPI_Sendrecv");
  CHECK(partner["partner"] == "to rank+1, from rank-1");
  CHECK(partner["to"] == json{{"kind", "relative"}, {"rank", 1}});
  CHECK(partner["from"]["rank"] == -1);
  CHECK(partner["calls"] == 220);
  CHECK(partner["time_ns"] == 90e6);
  CHECK(partner["minimum_ns"] == 100e3);
  CHECK(partner["maximum_ns"] == 4e6);
  CHECK(partner["bytes_sent"] == 13'000'000);
  CHECK(partner["processes"] == 2);
  CHECK(partner["process_minimum_ns"] == 30e6);
  CHECK(partner["process_maximum_ns"] == 60e6);
  CHECK(partner["process_with_maximum"] == 1);
  CHECK(data["by_partner"][0]["to"].is_null());
  CHECK(data["by_partner"][2]["to"] == json{{"kind", "nobody"}});
  const json& signature = data["by_signature"][1];
  CHECK(signature["size_minimum"] == 8192);
  CHECK(signature["size_maximum"] == 16000);
  REQUIRE(signature["parts"].size() == 2);
  CHECK(signature["parts"][1]["rank"] == 1);
  CHECK(signature["parts"][1]["time_ticks"] == 20'000'000);
  CHECK(signature["parts"][1]["bytes_received"] == 900'000);
  const json profile = json::parse(profile_json(run));
  CHECK(profile["mpi_by_size"] == data["by_size"]);
  CHECK(profile["mpi_by_partner"] == data["by_partner"]);
}

TEST_CASE("Message output: CSV - a row for each signature and rank") {
  ProfiledRun run = two_ranks();
  const std::string csv = messages_csv(run);
  CHECK(std::ranges::count(csv, '\n') == 1 + 4 * 2);
  CHECK(csv.starts_with("procedure,to,to_rank,from,from_rank,size_minimum,size_maximum,"));
  CHECK(
      csv.find("\n\"MPI_Sendrecv\",relative,1,relative,-1,8192,16000,1,1,100,40000000.000,"
               "200000.000,800000.000,1000000,900000\n") != std::string::npos);
  CHECK(csv.find("\n\"MPI_Barrier\",,,,,0,0,0,0,10,") != std::string::npos);
  run.messages.by_signature[0].procedure = "a \"b\",\xff";
  CHECK(messages_csv(run).find("\n\"a \"\"b\"\",\xff\",,,") != std::string::npos);
  CHECK(json::parse(messages_json(run))["by_signature"].size() == 4);
}

TEST_CASE(
    "Message output: in a profile only where there is MPI; alone with what the run was") {
  ProfiledRun run = two_ranks();
  const auto has = [](const std::vector<std::string>& lines) {
    return lines_with(lines, "MPI by partner").size();
  };
  CHECK(has(profile_screen(run, {})) == 0);
  run.totals.mpi.resize(1);
  CHECK(has(profile_screen(run, {})) == 1);
  const auto alone = profile_screen(run, {.messages = true});
  CHECK(has(alone) == 1);
  CHECK(lines_with(alone, "Source ").size() == 1);
  CHECK(lines_with(alone, "Time of all threads").empty());
}

}  // namespace refrain::tools::message_output_test
