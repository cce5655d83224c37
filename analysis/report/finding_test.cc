// Findings: their order, their words, and what of a profile becomes one.
#include "analysis/report/finding.h"

#include <otf2/otf2.h>

#include <catch2/catch.hpp>

namespace refrain::report::finding_test {
namespace {

using analysis::RunProfile;
using json = nlohmann::ordered_json;

TEST_CASE("Findings: order - most time first, then facts; small ones are left out") {
  const auto with = [](const char* what, std::optional<double> seconds) {
    Finding finding;
    finding.what = what;
    finding.seconds = seconds;
    return finding;
  };
  const json out = ranked(
      {with("fact", std::nullopt), with("little", 0.001), with("some", 1), with("most", 5)},
      10);
  REQUIRE(out.size() == 3);
  CHECK(out[0]["what"] == "most");
  CHECK(out[0]["share"] == 0.5);
  CHECK(out[1]["what"] == "some");
  CHECK(out[2]["what"] == "fact");
  CHECK(out[2]["seconds"].is_null());
  CHECK(out[2]["evidence"].is_null());
}

TEST_CASE("Findings: texts of numbers") {
  CHECK(percent_text(0.2249) == "22 %");
  CHECK(percent_text(0.0312) == "3.1 %");
  CHECK(percent_text(0.00001) == "less than 0.1 %");
  CHECK(percent_text(0) == "0 %");
  CHECK(time_text(1.256e9) == "1.26 s");
  CHECK(time_text(999.4e9) == "999 s");
  CHECK(time_text(1584e9) == "1584 s");
  CHECK(time_text(12345.6e9) == "12346 s");
  CHECK(time_text(999.9e6) == "1 s");
  CHECK(time_text(3.4e6) == "3.4 ms");
  CHECK(time_text(12) == "12 ns");
  CHECK(count_text(1, "call", "calls") == "1 call");
  CHECK(count_text(12400, "call", "calls") == "12 400 calls");
  CHECK(count_text(1240, "call", "calls") == "1240 calls");
  CHECK(place_text("/a/b/cg.c", 48) == "cg.c:48");
  CHECK(place_text("", 48).empty());
}

// A parallel region on four threads: `work` ns of each in its loop, the rest of 100 waiting for the longest.
RunProfile parallel(const std::vector<std::uint64_t>& work) {
  RunProfile profile;
  profile.processes.push_back({.time = 100});
  profile.regions = {
      {"!$omp parallel", "cg.c", 48, OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP},
      {"!$omp for", "cg.c", 48, OTF2_REGION_ROLE_LOOP, OTF2_PARADIGM_OPENMP},
      {"!$omp implicit barrier", "cg.c", 48, OTF2_REGION_ROLE_IMPLICIT_BARRIER,
       OTF2_PARADIGM_OPENMP}};
  profile.paths.resize(3);
  for (std::uint32_t path = 0; path < 3; ++path) {
    profile.paths[path].region = path;
    profile.paths[path].parent = path == 0 ? RunProfile::kNone : 0;
    const RunProfile::Region& region = profile.regions[path];
    profile.paths[path].cls = analysis::class_of(region.role, region.paradigm, region.name);
  }
  for (LocationId i; i < work.size(); ++i) {
    profile.locations.push_back({.thread = i, .primary = i == 0, .worker = i != 0});
    const auto wait = static_cast<std::int64_t>(100 - work[i]);
    profile.paths[0].sums.push_back({.location = i, .visits = 5, .time = 100});
    profile.paths[1].sums.push_back({.location = i,
                                     .visits = 5,
                                     .time = work[i],
                                     .own = static_cast<std::int64_t>(work[i])});
    profile.paths[2].sums.push_back({.location = i,
                                     .visits = 5,
                                     .time = static_cast<std::uint64_t>(wait),
                                     .own = wait});
  }
  profile.paths[0].sums[0].forks = 5;
  profile.paths[0].sums[0].fork_time = 100;
  return profile;
}

std::vector<Finding> findings_of(const RunProfile& profile) {
  return profile_findings(profile, analysis::total(profile));
}

TEST_CASE("Findings: a parallel region with uneven work - who has more, and how much") {
  const auto found = findings_of(parallel({50, 50, 100, 50}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Finding::Kind::kImbalance);
  CHECK(found[0].what == "Uneven work in a parallel region");
  CHECK(*found[0].seconds == Approx(150e-9));
  CHECK(
      found[0].text ==
      "38 % of the time (150 ns) is lost at the end of parallel @cg.c:48: threads wait for "
      "others, because work is divided unevenly: thread 2 computes 100 ns, 60 % more than "
      "the mean.");
  CHECK(found[0].evidence["view"] == "heat");
  CHECK(found[0].evidence["class"] == "imbalance");
  CHECK(found[0].evidence["location"] == 2);
  CHECK(found[0].evidence["path"] == 0);
}

TEST_CASE("Findings: a parallel region with equal work - is said to be that") {
  const auto found = findings_of(parallel({80, 81, 80, 80}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "Waiting at the end of a parallel region");
  CHECK(found[0].text.find("the same work (the most is 0.9 % more than the mean)") !=
        std::string::npos);
  CHECK(found[0].text.find("The region runs 5 times of 20 ns each.") != std::string::npos);
}

TEST_CASE("Findings: nothing is lost - that is said, and nothing else") {
  const auto found = findings_of(parallel({100, 100, 100, 100}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Finding::Kind::kEfficiency);
  CHECK(!found[0].seconds);
  CHECK(found[0].text.starts_with("100 % of the time of all threads is computation"));
}

}  // namespace
}  // namespace refrain::report::finding_test
