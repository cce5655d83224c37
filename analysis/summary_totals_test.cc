// What the summary of a process says in the archive's terms.
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "analysis/run_totals.h"
#include "base/notes.h"

namespace refrain::analysis::summary_totals_test {
namespace {

using summary::RunSummary;
using Kind = RunSummary::Kind;

// An archive and its summary: one process, two threads; clock of 2 ticks a nanosecond.
struct Archive {
  reader::TraceDefinitions definitions;
  RunSummary summary;

  Archive() {
    summary.ticks_per_second = 2e9;
    definitions.processes.emplace_back().locations = {LocationId{0}, LocationId{1}};
    for (std::uint64_t ref : {5, 6}) {
      definitions.locations.emplace_back().ref = ref;
      definitions.locations.back().thread =
          static_cast<std::uint32_t>(definitions.locations.size() - 1);
      summary.locations.emplace_back().reference = ref;
    }
  }
  std::uint32_t region(const std::string& name, OTF2_RegionRole role,
                       OTF2_Paradigm paradigm) {
    const auto index = static_cast<std::uint32_t>(definitions.regions.size());
    definitions.regions.push_back(
        {.name = name, .file = "", .role = role, .paradigm = paradigm});
    definitions.region_table.add(70 + index, index);
    summary.regions.push_back({.reference = 70 + index,
                               .name = name,
                               .file = "",
                               .role = role,
                               .paradigm = paradigm});
    return index;
  }
  std::uint32_t mpi(const std::string& name) {
    return region(name, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI);
  }
  // A node with sums on the first thread.
  std::uint32_t node(std::uint32_t parent, std::uint32_t region, RunSummary::Sums sums,
                     Kind kind = Kind::kRegion) {
    summary.nodes.push_back({.parent = parent, .region = region, .kind = kind});
    for (RunSummary::Location& location : summary.locations) location.sums.emplace_back();
    summary.locations[0].sums.back() = sums;
    return static_cast<std::uint32_t>(summary.nodes.size() - 1);
  }
  ProcessTotals totals() const { return process_totals({summary}, definitions)[0].value(); }
};

constexpr std::uint32_t kTop = RunSummary::kNone;

// Why its totals are left out; empty: they are not.
std::string left_out(const std::vector<RunSummary>& summaries,
                     const reader::TraceDefinitions& definitions) {
  base::take_notes();
  const bool known = process_totals(summaries, definitions)[0].has_value();
  const auto lines = base::take_notes();
  // Of two for one process the first one counts.
  CHECK(known == (lines.empty() || summaries.size() > 1));
  return lines.empty() ? "" : lines.at(0);
}
std::string refused(const Archive& archive) {
  return left_out({archive.summary}, archive.definitions);
}

}  // namespace

TEST_CASE("SummaryTotals: own time - what opens a team is part of what is around it") {
  Archive archive;
  const auto main = archive.region("main", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
  const auto parallel =
      archive.region("parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP);
  const auto barrier =
      archive.region("barrier", OTF2_REGION_ROLE_BARRIER, OTF2_PARADIGM_OPENMP);
  const auto top = archive.node(kTop, main, {.visits = 1, .time = 2000});
  const auto fork = archive.node(top, parallel, {.visits = 3, .time = 1400}, Kind::kFork);
  const auto team = archive.node(fork, parallel, {.visits = 3, .time = 1200});
  archive.node(team, barrier, {.visits = 3, .time = 200});
  archive.node(kTop, parallel, {.visits = 1, .time = 300}, Kind::kFork);
  const ProcessTotals totals = archive.totals();
  CHECK(totals.regions[main].calls == 1);
  CHECK(totals.regions[main].inclusive_ns == 1000);
  CHECK(totals.regions[main].exclusive_ns == 1000 - 600);
  CHECK(totals.regions[parallel].calls == 3);
  CHECK(totals.regions[parallel].inclusive_ns == 600);
  CHECK(totals.regions[parallel].exclusive_ns == 600 - 100);
  CHECK(totals.regions[barrier].exclusive_ns == 100);
  CHECK(totals.threads[0].calls == 7);
  CHECK(totals.threads[1].calls == 0);
  CHECK(totals.complete());
}

TEST_CASE("SummaryTotals: recursion - inclusive time counts once, own time always") {
  Archive archive;
  const auto f = archive.region("f", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
  const auto g = archive.region("g", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
  const auto outer = archive.node(kTop, f, {.visits = 1, .time = 1000});
  const auto between = archive.node(outer, g, {.visits = 1, .time = 800});
  archive.node(between, f, {.visits = 2, .time = 600});
  archive.node(kTop, g, {.visits = 1, .time = 100});
  const ProcessTotals totals = archive.totals();
  CHECK(totals.regions[f].calls == 3);
  CHECK(totals.regions[f].inclusive_ns == 500);
  CHECK(totals.regions[f].exclusive_ns == 100 + 300);
  CHECK(totals.regions[g].inclusive_ns == 400 + 50);
  CHECK(totals.regions[g].exclusive_ns == 100 + 50);
}

TEST_CASE("SummaryTotals: other - regions without a place have time, but no name") {
  Archive archive;
  const auto f = archive.region("f", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
  const auto top = archive.node(
      kTop, f, {.visits = 1, .time = 1000, .time_elsewhere = 60, .regions_elsewhere = 4});
  archive.node(top, kTop, {.visits = 9, .time = 200}, Kind::kOther);
  archive.summary.locations[1].outside.time_elsewhere = 20;
  archive.summary.locations[1].outside.regions_elsewhere = 2;
  const ProcessTotals totals = archive.totals();
  CHECK(totals.regions[f].exclusive_ns == 500 - 30 - 100);
  CHECK(totals.other_calls == 9 + 4 + 2);
  CHECK(totals.other_ns == 100 + 30 + 10);
  CHECK_FALSE(totals.complete());
}

TEST_CASE("SummaryTotals: messages - bytes of collectives are no bytes of messages") {
  Archive archive;
  archive.node(kTop, archive.mpi("MPI_Isend"),
               {.visits = 2, .bytes_sent = 30, .messages_sent = 2});
  archive.node(kTop, archive.mpi("MPI_Recv"),
               {.visits = 1, .bytes_received = 8, .messages_received = 1});
  archive.node(kTop, archive.mpi("MPI_Allreduce"),
               {.visits = 5, .bytes_sent = 1000, .bytes_received = 1000});
  archive.node(kTop, archive.mpi("MPI_Comm_split"), {.visits = 1});
  const auto wait = archive.mpi("MPI_Wait");
  archive.node(kTop, wait, {.visits = 3, .bytes_received = 16, .messages_received = 2});
  ProcessTotals totals = archive.totals();
  CHECK(totals.sends == 2);
  CHECK(totals.bytes_sent == 30);
  CHECK(totals.receives == 3);
  CHECK(totals.bytes_received == 24.0);
  CHECK(totals.collectives == 6.0);
  // A wait may have completed a message or a collective.
  archive.node(kTop, archive.mpi("MPI_Ibcast_c"), {.visits = 4});
  totals = archive.totals();
  CHECK(totals.bytes_sent == 30);
  CHECK(totals.collectives == 10.0);
  CHECK_FALSE(totals.bytes_received.has_value());
  archive.node(kTop, archive.mpi("MPI_Bcast_init"), {.visits = 1});
  CHECK_FALSE(archive.totals().collectives.has_value());
}

TEST_CASE("SummaryTotals: of another archive - left out, in a line") {
  Archive archive;
  const auto f = archive.region("f", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
  archive.node(kTop, f, {.visits = 1});
  REQUIRE(refused(archive).empty());
  Archive other = archive;
  other.summary.regions.edit()[0].name = "g";
  CHECK(refused(other).find("another archive: its region 70") != std::string::npos);
  other.summary.regions.edit()[0].name = "\xef\xbf\xbd";  // what is no UTF-8 was replaced
  CHECK(refused(other).empty());
  other.summary.regions.edit()[0].reference = 99;
  CHECK(refused(other).find("no region 99") != std::string::npos);
  other = archive;
  other.summary.locations[1].reference = 7;
  CHECK(refused(other).find("no location 7") != std::string::npos);
  other = archive;
  other.summary.locations[1].reference = 5;
  CHECK(refused(other).find("twice") != std::string::npos);
  CHECK(left_out({archive.summary, archive.summary}, archive.definitions)
            .find("another summary") != std::string::npos);
  CHECK_FALSE(process_totals({}, archive.definitions)[0].has_value());
}

}  // namespace refrain::analysis::summary_totals_test
