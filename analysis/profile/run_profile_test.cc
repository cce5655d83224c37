// Profiles of summaries made by hand; the numbers are worked out on paper.
#include "analysis/profile/run_profile.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

namespace refrain::analysis::run_profile_test {
namespace {

using summary::RunSummary;
using Kind = RunSummary::Kind;
constexpr std::uint32_t kNone = RunSummary::kNone;

RunSummary::Region region(const char* name, std::uint32_t line, std::uint32_t role,
                          std::uint32_t paradigm = OTF2_PARADIGM_OPENMP) {
  return {.reference = line,
          .name = name,
          .file = "p.c",
          .line = line,
          .role = role,
          .paradigm = paradigm};
}

RunSummary::Sums sums(std::uint64_t visits, std::uint64_t time, std::uint64_t least = 0,
                      std::uint64_t greatest = 0) {
  RunSummary::Sums out;
  out.visits = visits;
  out.time = time;
  out.least = least;
  out.greatest = greatest;
  return out;
}

enum Nodes {
  kFork,
  kTeam,
  kLoop,
  kEnd,
  kSingle,
  kSingleEnd,
  kSend,
  kTeam1,
  kLoop1,
  kEnd1,
  kRest
};

// Two threads, 1000 ns: two visits of a parallel region, and three messages.
RunSummary two_threads() {
  RunSummary run;
  run.process = 0;
  run.rank = 0;
  run.begin = 100;
  run.end = 1100;
  run.regions = {region("parallel", 10, OTF2_REGION_ROLE_PARALLEL),
                 region("for", 11, OTF2_REGION_ROLE_LOOP),
                 region("implicit barrier", 12, OTF2_REGION_ROLE_IMPLICIT_BARRIER),
                 region("single", 13, OTF2_REGION_ROLE_SINGLE),
                 region("implicit barrier", 13, OTF2_REGION_ROLE_IMPLICIT_BARRIER),
                 region("MPI_Send", 0, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI)};
  run.sites = {"p.c:20"};
  run.nodes = {{kNone, 0, Kind::kFork, kNone},     {kFork, 0, Kind::kRegion, kNone},
               {kTeam, 1, Kind::kRegion, kNone},   {kTeam, 2, Kind::kRegion, kNone},
               {kTeam, 3, Kind::kRegion, kNone},   {kTeam, 4, Kind::kRegion, kNone},
               {kNone, 5, Kind::kRegion, 0},       {kNone, 0, Kind::kRegion, kNone},
               {kTeam1, 1, Kind::kRegion, kNone},  {kTeam1, 2, Kind::kRegion, kNone},
               {kTeam, kNone, Kind::kOther, kNone}};
  RunSummary::Location first;
  first.primary = true;
  first.sums.resize(run.nodes.size());
  first.sums[kFork] = sums(2, 400, 190, 210);
  first.sums[kTeam] = sums(2, 360, 150, 210);
  first.sums[kTeam].time_elsewhere = 5;
  first.sums[kTeam].regions_elsewhere = 2;
  first.sums[kLoop] = sums(2, 200, 90, 110);
  first.sums[kEnd] = sums(2, 50, 20, 30);
  first.sums[kSingle] = sums(2, 20, 10, 10);
  first.sums[kSingleEnd] = sums(2, 30, 10, 20);
  first.sums[kSend] = sums(3, 90, 20, 40);
  first.sums[kSend].bytes_sent = 300;
  first.sums[kSend].messages_sent = 3;
  first.sums[kRest] = sums(1, 10, 10, 10);
  first.edges = {{kNone, kFork, 2},     {kFork, kTeam, 2},  {kTeam, kLoop, 2},
                 {kLoop, kEnd, 2},      {kEnd, kSingle, 2}, {kSingle, kSingleEnd, 2},
                 {kSingleEnd, kRest, 1}};
  RunSummary::Location second;
  second.number = 1;
  second.reference = 1ull << 32;
  second.sums.resize(run.nodes.size());
  second.sums[kTeam1] = sums(2, 340, 160, 180);
  second.sums[kLoop1] = sums(2, 250, 120, 130);
  second.sums[kEnd1] = sums(2, 80, 30, 50);
  second.edges = {{kNone, kTeam1, 2}, {kTeam1, kLoop1, 2}, {kLoop1, kEnd1, 2}};
  run.locations = {first, second};
  return run;
}

std::uint32_t find(const RunProfile& profile, const std::string& name, std::uint32_t line,
                   const std::string& site = {}) {
  for (std::uint32_t i = 0; i < profile.paths.size(); ++i) {
    const RunProfile::Path& path = profile.paths[i];
    if (path.region == RunProfile::kNone || path.site != site) continue;
    const RunProfile::Region& at = profile.regions[path.region];
    if (at.name == name && at.line == line) return i;
  }
  FAIL("no path " << name << ":" << line << " " << site);
  return 0;
}

double of(const ClassTimes& times, TimeClass cls) {
  return times[static_cast<std::size_t>(cls)];
}

// What a location's own times, and what belongs to none, add up to.
std::int64_t accounted(const RunProfile& profile, std::uint32_t location) {
  std::int64_t sum =
      profile.locations[location].outside + profile.locations[location].elsewhere;
  for (const RunProfile::Path& path : profile.paths)
    for (const RunProfile::Sums& each : path.sums)
      if (each.location == location) sum += each.own + each.management + each.elsewhere;
  return sum;
}

std::string text_of(const RunProfile& profile) {
  std::string text;
  for (const RunProfile::Path& path : profile.paths) {
    text += std::to_string(path.parent) + " " +
            (path.region == RunProfile::kNone ? "" : profile.regions[path.region].name) +
            " " + path.site + ":";
    for (const RunProfile::Sums& each : path.sums)
      text += " " + std::to_string(each.location) + " " + std::to_string(each.visits) +
              " " + std::to_string(each.time) + " " + std::to_string(each.management);
    text += '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("Run profile: what processes share - the profile is as if each had its own") {
  for (const bool other_sites : {false, true})
    for (const bool other_nodes : {false, true}) {
      const RunSummary first = two_threads();
      RunSummary second = two_threads();
      second.process = 1;
      if (other_sites) second.sites[0] = "elsewhere.c:1";
      if (other_nodes) second.nodes.edit()[kSend].site = RunSummary::kNone;
      RunSummary sharing = second;
      sharing.regions.share(first.regions);
      sharing.nodes.share(first.nodes);
      REQUIRE(sharing.nodes.is_shared_with(first.nodes) == !other_nodes);
      const std::string expected = text_of(merge_summaries({first, second, first}));
      CHECK(text_of(merge_summaries({first, sharing, first})) == expected);
    }
}

TEST_CASE("Run profile: a fork is no node - its time is management of the region in it") {
  const RunProfile profile = merge_summaries({two_threads()});
  // Of both threads one path for the region, its loop, its barrier.
  REQUIRE(profile.paths.size() == 7);
  const std::uint32_t team = find(profile, "parallel", 10);
  CHECK(profile.paths[team].parent == RunProfile::kNone);
  REQUIRE(profile.paths[team].sums.size() == 2);
  const RunProfile::Sums first = profile.paths[team].sums[0];
  CHECK(first.visits == 2);
  CHECK(first.time == 360);
  CHECK(first.own == 360 - 200 - 50 - 20 - 30 - 10 - 5);
  CHECK(first.management == 400 - 360);
  CHECK(first.elsewhere == 5);
  CHECK(first.forks == 2);
  CHECK(first.fork_time == 400);
  const RunProfile::Sums second = profile.paths[team].sums[1];
  CHECK(second.location == 1);
  CHECK(second.own == 340 - 250 - 80);
  CHECK(second.management == 400 - 340);
  CHECK(profile.locations[0].outside == 1000 - 400 - 90);
  CHECK(profile.locations[1].outside == 1000 - 400);
  CHECK_FALSE(profile.locations[0].worker);
  CHECK(profile.locations[1].worker);
  CHECK(accounted(profile, 0) == 1000);
  CHECK(accounted(profile, 1) == 1000);
}

TEST_CASE("Run profile: a helper thread of the runtime - its time is that in regions") {
  RunSummary run = two_threads();
  run.regions.push_back(region("task", 30, OTF2_REGION_ROLE_TASK));
  run.nodes.push_back({kNone, 6, Kind::kRegion, kNone});
  for (RunSummary::Location& location : run.locations)
    location.sums.resize(run.nodes.size());
  RunSummary::Location helper;
  helper.number = 2;
  helper.reference = 2ull << 32;
  helper.sums.resize(run.nodes.size());
  helper.sums.back() = sums(4, 70, 10, 30);
  helper.helper = true;
  run.locations.push_back(helper);
  const RunProfile profile = merge_summaries({run});
  CHECK(profile.locations[2].outside == 0);
  CHECK_FALSE(profile.locations[2].worker);
  CHECK(profile.time_of(LocationId(2)) == 70);
  CHECK(accounted(profile, 2) == 70);
  CHECK(profile.threads() == 2);
  CHECK(profile.helpers() == 1);
  const ProfileTotals with = total(profile);
  const ProfileTotals without = total(merge_summaries({two_threads()}));
  CHECK(with.time_ns == without.time_ns + 70);
  CHECK(with.run_ns == without.run_ns);
  CHECK(with.efficiencies.parallel == without.efficiencies.parallel);
  CHECK(with.efficiencies.load_balance == without.efficiencies.load_balance);
}

TEST_CASE("Run profile: classes - the barrier of a single is limited parallelism") {
  const RunProfile profile = merge_summaries({two_threads()});
  const auto cls = [&](const char* name, std::uint32_t line) {
    return profile.paths[find(profile, name, line)].cls;
  };
  CHECK(cls("implicit barrier", 12) == TimeClass::kImbalance);
  CHECK(cls("implicit barrier", 13) == TimeClass::kLimitedParallelism);
  CHECK(cls("for", 11) == TimeClass::kUseful);
  const ProfileTotals totals = total(profile);
  CHECK(of(totals.by_location[0], TimeClass::kUseful) == 510 + 45 + 200 + 20);
  CHECK(of(totals.by_location[1], TimeClass::kUseful) == 10 + 250);
  CHECK(of(totals.times, TimeClass::kImbalance) == 50 + 80);
  CHECK(of(totals.times, TimeClass::kLimitedParallelism) == 30 + 600);
  CHECK(of(totals.times, TimeClass::kThreadManagement) == 40 + 60);
  CHECK(of(totals.times, TimeClass::kMpiPointToPoint) == 90);
  CHECK(of(totals.times, TimeClass::kUnknown) == 10 + 5);
  CHECK(of(totals.times, TimeClass::kSynchronization) == 0);
  CHECK(totals.time_ns == 2000);
  CHECK(totals.regions_elsewhere == 2);
}

TEST_CASE("Run profile: totals - parallel regions, MPI procedures, paths") {
  const RunProfile profile = merge_summaries({two_threads()});
  const ProfileTotals totals = total(profile);
  REQUIRE(totals.parallel_regions.size() == 1);
  const ParallelRegion& parallel = totals.parallel_regions[0];
  CHECK(parallel.forks == 2);
  CHECK(parallel.visits == 4);
  CHECK(parallel.fork_ns == 400);
  CHECK(parallel.total_ns() == 2 * 400);  // two threads from fork to join
  CHECK(of(parallel.times, TimeClass::kUseful) == 45 + 200 + 20 + 10 + 250);
  CHECK(of(parallel.times, TimeClass::kImbalance) == 130);
  CHECK(of(parallel.times, TimeClass::kLimitedParallelism) == 30);
  CHECK(of(parallel.times, TimeClass::kThreadManagement) == 100);
  CHECK(parallel.busy_ns == std::vector<double>{265, 260});
  REQUIRE(totals.mpi.size() == 1);
  CHECK(totals.mpi[0].name == "MPI_Send");
  CHECK(totals.mpi[0].calls == 3);
  CHECK(totals.mpi[0].time_ns == 90);
  CHECK(totals.mpi[0].minimum_ns == 20);
  CHECK(totals.mpi[0].maximum_ns == 40);
  CHECK(totals.mpi[0].average_bytes() == 100);
  // Of one double on three ranks, 250 times: a call's size, not what was sent and received.
  CHECK(MpiProcedure{.name = "MPI_Allreduce",
                     .calls = 750,
                     .bytes_sent = 750 * 24,
                     .bytes_received = 750 * 24,
                     .size_bytes = 750 * 24}
            .average_bytes() == 24);
  const PathTotal& loop = totals.paths[find(profile, "for", 11)];
  CHECK(loop.visits == 4);
  CHECK(loop.time_ns == 450);
  CHECK(loop.minimum_ns == 90);
  CHECK(loop.maximum_ns == 130);
}

TEST_CASE("Run profile: efficiencies - products of their parts") {
  const RunEfficiencies e = total(merge_summaries({two_threads()})).efficiencies;
  CHECK(e.parallel == Approx((775 + 260) / 2.0 / 1000));
  CHECK(e.load_balance == Approx((775 + 260) / 2.0 / 775));
  CHECK(e.communication == Approx(0.775));
  CHECK(e.parallel == Approx(e.load_balance * e.communication));
  REQUIRE(e.has_mpi);
  CHECK(e.mpi == Approx(0.91));
  CHECK(e.mpi_load_balance == Approx(1));
  CHECK(e.mpi_communication == Approx(0.91));
  CHECK(e.openmp == Approx(e.parallel / 0.91));
}

TEST_CASE(
    "Run profile: several processes - nodes are one by region and site, not by number") {
  RunSummary other;
  other.process = 1;
  other.rank = 1;
  other.ticks_per_second = 2e9;
  other.end = 4000;  // 2000 ns
  other.regions = {region("MPI_Send", 0, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI)};
  other.sites = {"p.c:21", "p.c:20"};
  other.nodes = {{kNone, 0, Kind::kRegion, 0}, {kNone, 0, Kind::kRegion, 1}};
  RunSummary::Location location;
  location.primary = true;
  location.sums = {sums(1, 200, 200, 200), sums(2, 1000, 400, 600)};
  other.locations = {location};
  const RunProfile profile = merge_summaries({two_threads(), other});
  const ProfileTotals totals = total(profile);
  REQUIRE(profile.locations.size() == 3);
  CHECK(accounted(profile, 2) == 4000);
  const PathTotal& both = totals.paths[find(profile, "MPI_Send", 0, "p.c:20")];
  CHECK(both.visits == 5);
  CHECK(both.time_ns == 90 + 500);
  CHECK(both.minimum_ns == 20);
  CHECK(both.maximum_ns == 300);
  CHECK(totals.paths[find(profile, "MPI_Send", 0, "p.c:21")].time_ns == 100);
  CHECK(totals.run_ns == 2000);
  CHECK(totals.time_ns == 1000 + 1000 + 2000);
  REQUIRE(totals.mpi.size() == 1);
  CHECK(totals.mpi[0].calls == 6);
  // Of processes: two threads and one, 910 and 1400 ns outside of MPI, in 2000 ns.
  CHECK(totals.efficiencies.mpi == Approx((2 * 910 + 1400) / 3.0 / 2000));
  CHECK(totals.efficiencies.mpi_load_balance == Approx((2 * 910 + 1400) / 3.0 / 1400));
}

TEST_CASE("Run profile: smaller teams - a worker's management is that of its own visits") {
  RunSummary run = two_threads();
  run.locations[1].sums[kTeam1] = sums(1, 170, 170, 170);
  run.locations[1].sums[kLoop1] = sums(1, 125, 125, 125);
  run.locations[1].sums[kEnd1] = sums(1, 40, 40, 40);
  const RunProfile profile = merge_summaries({run});
  // One of two forks, of 200 ns in the mean.
  CHECK(profile.paths[find(profile, "parallel", 10)].sums[1].management == 30);
  CHECK(profile.locations[1].outside == 800);
  CHECK(accounted(profile, 1) == 1000);
}

TEST_CASE("Run profile: threads without regions - the main thread works, others wait") {
  RunSummary run = two_threads();
  RunSummary::Location idle;
  idle.number = 2;
  idle.sums.resize(run.nodes.size());
  run.locations.push_back(idle);
  idle.number = 0;
  run.locations.push_back(idle);
  // A thread with a call of MPI of its own is no worker.
  run.locations[1].sums[kSend] = sums(1, 10, 10, 10);
  const RunProfile profile = merge_summaries({run});
  CHECK(profile.locations[2].worker);
  CHECK(profile.outside_class(LocationId(2)) == TimeClass::kLimitedParallelism);
  CHECK_FALSE(profile.locations[3].worker);
  CHECK(profile.outside_class(LocationId(3)) == TimeClass::kUseful);
  CHECK_FALSE(profile.locations[1].worker);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(accounted(profile, i) == 1000);
}

TEST_CASE("Run profile: numbers that cannot be - no crash, and still as many ticks") {
  RunSummary run = two_threads();
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  for (RunSummary::Location& location : run.locations)
    for (RunSummary::Sums& each : location.sums)
      each = {kHuge, kHuge - 3, kHuge, 1, kHuge, kHuge, kHuge, kHuge, kHuge / 2, kHuge};
  run.begin = 7;
  run.end = kHuge;
  run.ticks_per_second = 1e-300;
  const RunProfile profile = merge_summaries({run, run});
  // Modulo 2^64.
  std::uint64_t sum = static_cast<std::uint64_t>(profile.locations[0].outside) +
                      static_cast<std::uint64_t>(profile.locations[0].elsewhere);
  for (const RunProfile::Path& path : profile.paths)
    for (const RunProfile::Sums& each : path.sums)
      if (each.location == 0)
        sum += static_cast<std::uint64_t>(each.own) +
               static_cast<std::uint64_t>(each.management) +
               static_cast<std::uint64_t>(each.elsewhere);
  CHECK(sum == kHuge - 7);
  CHECK(total(profile).paths.size() == profile.paths.size());
}

TEST_CASE("Run profile: nothing at all") {
  const ProfileTotals totals = total(merge_summaries({}));
  CHECK(totals.time_ns == 0);
  CHECK(totals.efficiencies.parallel == 0);
  CHECK(totals.paths.empty());
}

}  // namespace refrain::analysis::run_profile_test
