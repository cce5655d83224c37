#include "tools/output/info_screen.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace refrain::tools::info_screen_test {
namespace {

using analysis::ArchiveInfo;
using analysis::PhaseInfo;

PhaseInfo loop(std::uint32_t id, std::int64_t parent, std::uint16_t level, double total_s) {
  PhaseInfo out;
  out.id = id;
  out.parent = parent;
  out.level = level;
  out.function = "function_" + std::to_string(id);
  out.file = "/somewhere/file.cc";
  out.line = 10 * id;
  out.last_line = 10 * id + 5;
  out.region = "!$omp parallel @file.cc:" + std::to_string(10 * id);
  out.name = "loop " + std::to_string(id) + " @ " + out.function;
  out.body_events = 3;
  out.body = {"!$omp parallel @file.cc:1", "!$omp parallel @file.cc:1",
              "MPI_Send @file.cc:2"};
  out.visits = 1;
  out.iterations = 100;
  out.written = 10;
  out.total_ns = total_s * 1e9;
  return out;
}

ArchiveInfo archive() {
  ArchiveInfo info;
  info.version = "1";
  info.command = "/opt/program " + std::string(300, 'x');
  info.machine = "host";
  info.duration_s = 10;
  info.processes = 1;
  info.locations.resize(2);
  info.events_seen = 1000;
  info.events_written = 100;
  info.archive_events = 300;
  info.archive_bytes = 3000;
  info.gaps = 2;
  info.properties = {{"REFRAIN::SETTING::LIMIT", "10"},
                     {"REFRAIN::SETTING::NESTED", "each"}};
  return info;
}

std::size_t widest(const std::vector<std::string>& lines) {
  std::size_t most = 0;
  for (const std::string& line : lines) most = std::max(most, line.size());
  return most;
}

std::size_t line_with(const std::vector<std::string>& lines, const std::string& text) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].find(text) != std::string::npos) return i;
  return lines.size();
}

}  // namespace

TEST_CASE("Info screen: fitted - the middle is left out, no character is cut") {
  CHECK(fitted("short", 5) == "short");
  CHECK(fitted("a long text of words", 11) == "a lo...ords");
  CHECK(fitted("a long text of words", 2) == "..");
  for (std::size_t width = 4; width < 20; ++width) {
    const std::string text = fitted("äöüäöüäöüäöüäöü", width);
    CHECK(text.size() <= width);
    CHECK((static_cast<unsigned char>(text[text.find("...") + 3]) & 0xC0) != 0x80);
  }
}

TEST_CASE("Info screen: an archive of many loops - fits the terminal and a screen") {
  ArchiveInfo info = archive();
  for (std::uint32_t id = 1; id <= 200; ++id)
    info.phases.push_back(loop(id, id % 10 == 1 ? -1 : id - 1,
                               static_cast<std::uint16_t>((id + 9) % 10), 9.0));
  for (const std::size_t width : {80u, 100u, 160u}) {
    const auto lines = info_screen(info, "/tmp/archive", {.width = width});
    CHECK(widest(lines) <= width);
    CHECK(lines.size() <= 30);
    CHECK(line_with(lines, "more with --all") == lines.size() - 1);
    const auto all = info_screen(info, "/tmp/archive", {.width = width, .all = true});
    CHECK(widest(all) <= width);
    CHECK(all.size() > 200);
    const auto bodies =
        info_screen(info, "/tmp/archive", {.width = width, .all = true, .bodies = true});
    CHECK(widest(bodies) <= width);
    CHECK(line_with(bodies, "3 events: 2 x parallel @file.cc:1; MPI_Send @file.cc:2") <
          bodies.size());
  }
}

TEST_CASE("Info screen: the nest - outermost loops by their time, inner ones indented") {
  ArchiveInfo info = archive();
  info.phases = {loop(1, -1, 0, 2), loop(2, 1, 1, 1), loop(3, -1, 0, 7), loop(4, 3, 1, 6),
                 loop(5, 3, 1, 0.05)};
  const auto lines = info_screen(info, "a", {.width = 100});
  const auto third = line_with(lines, "3 function_3 file.cc:30-35");
  REQUIRE(third < lines.size());
  CHECK(lines[third].starts_with("3 function_3 file.cc:30-35, parallel @file.cc:30"));
  CHECK(lines[third].find(" 70.0%") != std::string::npos);
  CHECK(lines[third + 1].starts_with("  4 function_4"));
  CHECK(lines[third + 2].starts_with("1 function_1"));
  CHECK(lines[third + 3].starts_with("  2 function_2"));
  CHECK(line_with(lines, "function_5") == lines.size());
  CHECK(lines.back().starts_with("1 more with --all"));
  CHECK(line_with(info_screen(info, "a", {.all = true}), "  5 function_5") != lines.size());
}

TEST_CASE("Info screen: loops that take no time - the main one is there all the same") {
  ArchiveInfo info = archive();
  info.phases = {loop(1, -1, 0, 0.01), loop(2, 1, 1, 0.005), loop(3, -1, 0, 0.02)};
  const auto lines = info_screen(info, "a", {});
  CHECK(line_with(lines, "3 function_3") < lines.size());
  CHECK(line_with(lines, "function_1") == lines.size());
  CHECK(lines.back().starts_with("2 more with --all"));
}

TEST_CASE("Info screen: what was written, and why") {
  ArchiveInfo info = archive();
  CHECK(line_with(info_screen(info, "a", {}),
                  "Why          no loop detected, so everything") < 10);
  info.phases = {loop(1, -1, 0, 2)};
  auto lines = info_screen(info, "a", {});
  CHECK(line_with(lines, "Written      100 of 1000 events (10 %)") < 10);
  CHECK(line_with(lines,
                  "Why          the first 10 iterations of each loop (nested=each)") < 10);
  CHECK(line_with(lines, "Lost         nothing") < 10);
  info.events_written = info.events_seen;
  CHECK(line_with(info_screen(info, "a", {}),
                  "Why          nothing was skipped: after the first 10") < 10);
  info.lost["ring_overflow"] = 3;
  info.properties["REFRAIN::SETTING::LIMIT"] = "0";
  lines = info_screen(info, "a", {});
  CHECK(line_with(lines, "Lost         3 by ring_overflow") < 10);
  info.events_unreadable = 1234;
  lines = info_screen(info, "a", {});
  CHECK(line_with(lines,
                  "Lost         3 by ring_overflow, 1234 events that cannot be read") < 10);
  CHECK(line_with(lines, "Why          no limit (-n 0)") < 10);
  info.threads_unrecorded = 1;
  lines = info_screen(info, "a", {});
  CHECK(line_with(lines, "Written      1000 of 1000 events") < 10);
  CHECK(line_with(lines, "Written      1000 of 1000 events (") >= 10);
}

TEST_CASE("Info screen: ranks - which have events, and that the rest has none") {
  ArchiveInfo info = archive();
  CHECK(line_with(info_screen(info, "a", {}), "Ranks ") ==
        info_screen(info, "a", {}).size());
  info.phases = {loop(1, -1, 0, 2)};
  info.properties["REFRAIN::SETTING::LIMIT"] = "0";
  info.properties["REFRAIN::RANKS::WRITTEN"] = "0";
  info.properties["REFRAIN::RANKS::WHY"] =
      "events of 1 of 2 ranks: 0 (as 0-1: equal event flow graphs)";
  const auto lines = info_screen(info, "a", {});
  const std::size_t ranks = line_with(
      lines, "Ranks        events of 1 of 2 ranks: 0 (as 0-1: equal event flow graphs)");
  CHECK(ranks < 10);
  CHECK(line_with(lines,
                  "Why          no limit (-n 0): everything is written of these ranks") ==
        ranks + 1);
  info.properties["REFRAIN::RANKS::WRITTEN"] = "all";
  CHECK(info_screen(info, "a", {})[ranks + 1] ==
        "Why          no limit (-n 0): everything is written");
}

TEST_CASE("Info screen: summary only - no events, and nothing of what they would be") {
  ArchiveInfo info = archive();
  info.mpi.used = true;
  info.processes = 2;
  info.events_written = 0;
  info.properties["REFRAIN::SETTING::SUMMARY_ONLY"] = "yes";
  const auto lines = info_screen(info, "a", {});
  CHECK(line_with(lines,
                  "Written      the summary of 1000 events (--summary-only), no events") <
        10);
  CHECK(line_with(lines, "Why ") == lines.size());
  CHECK(line_with(lines, "Messages ") == lines.size());
}

TEST_CASE("Info screen: the whole run - by the summary, also what was not written") {
  ArchiveInfo info = archive();
  auto lines = info_screen(info, "a", {});
  CHECK(line_with(lines, "Whole run") == lines.size());
  info.totals->summaries = 2;
  info.totals->processes.resize(2);
  info.totals->calls = 15000;
  info.totals->regions.resize(1);
  info.totals->traffic.messages_sent = 1200;
  info.totals->traffic.bytes_sent = 4e6;
  info.totals->traffic.collectives = 60;
  CHECK(totals_text(*info.totals) ==
        "15000 calls of 1 region, 1200 messages of 4 MB, 60 calls of collectives (exact)");
  info.mpi.used = true;
  info.mpi.messages = 1000;
  lines = info_screen(info, "a", {});
  CHECK(line_with(lines, "Whole run    15000 calls") < lines.size());
  CHECK(line_with(lines, "Messages     1000 of 1200 written") < lines.size());
  info.mpi.messages = 1200;
  lines = info_screen(info, "a", {});
  CHECK(line_with(lines, "Messages     1200 written") < lines.size());
  // Not known of one process: then there is no total to compare it with.
  info.totals->processes.resize(3);
  info.totals->calls_without_region = 7;
  info.mpi.messages = 1000;
  lines = info_screen(info, "a", {});
  CHECK(line_with(lines, "Messages     1000 written") < lines.size());
  CHECK(totals_text(*info.totals)
            .ends_with("(of 2 of 3 processes); 7 calls of unknown regions"));
  CHECK(totals_text({}).empty());
}

TEST_CASE("Info screen: ranks - one row a loop, with the range where they differ") {
  ArchiveInfo info = archive();
  info.processes = 3;
  info.mpi.used = true;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    PhaseInfo one = loop(1, -1, 0, 9);
    one.process = rank;
    info.phases.push_back(one);
  }
  auto lines = info_screen(info, "a", {});
  CHECK(lines.back() == "All ranks agree on all loops.");
  CHECK(lines[line_with(lines, "function_1")].find(" 90.0%") != std::string::npos);
  info.phases[1].iterations = 96;
  lines = info_screen(info, "a", {});
  CHECK(lines.back() == "Ranks differ in 1 of 1 loops: see --all.");
  CHECK(lines[line_with(lines, "function_1")].find(" 96-100") != std::string::npos);
  lines = info_screen(info, "a", {.all = true});
  CHECK(line_with(lines, "ranks 0,2: 100 iterations") < lines.size());
  CHECK(line_with(lines, "ranks 1: 96 iterations") < lines.size());
}

}  // namespace refrain::tools::info_screen_test
