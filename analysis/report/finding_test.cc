// Findings: their order, their words, and what of a profile becomes one.
#include "analysis/report/finding.h"

#include <catch2/catch.hpp>

namespace refrain::report::finding_test {
namespace {

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
  Finding cause = with("cause", 0.5);
  cause.kind = Finding::Kind::kCause;
  cause.share = 0.25;
  const json first = ranked({with("more", 5), cause}, 10);
  REQUIRE(first.size() == 2);
  CHECK(first[0]["what"] == "cause");
  CHECK(first[0]["kind"] == "cause");
  CHECK(first[0]["share"] == 0.25);
  CHECK(first[1]["share"] == 0.5);
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

TEST_CASE("Findings: root causes - who waits meanwhile, the gain, where to see it") {
  analysis::Conclusions conclusions;
  analysis::RootCause cause;
  cause.account = analysis::Account::kUnevenThreads;
  cause.lost_ns = 150;
  cause.path = 3;
  cause.what = "Uneven work between threads";
  cause.text = "Thread 2 computes more.";
  cause.gain = "The loop would be shorter.";
  cause.hint = "Another schedule.";
  cause.evidence = {{"MPI_Recv @p.c:9", 2e6}, {"MPI_Wait @p.c:10", 1e6}};
  conclusions.causes = {cause};
  const auto found = profile_findings(conclusions, {}, {});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Finding::Kind::kCause);
  CHECK(found[0].what == cause.what);
  CHECK(*found[0].seconds == Approx(150e-9));
  CHECK(
      found[0].text ==
      "Thread 2 computes more. Over the whole run, others are in MPI_Recv @p.c:9 (2 ms), MPI_Wait "
      "@p.c:10 (1 ms). The loop "
      "would be shorter.");
  CHECK(found[0].hint == cause.hint);
  CHECK(found[0].evidence == json({{"view", "heat"}, {"class", "imbalance"}, {"path", 3}}));
}

TEST_CASE("Findings: nothing is lost - that is said, and nothing else") {
  analysis::ProfileTotals totals;
  totals.time_ns = 100;
  totals.efficiencies.parallel = 1;
  const auto found = profile_findings({}, {}, totals);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == Finding::Kind::kEfficiency);
  CHECK(!found[0].seconds);
  CHECK(found[0].text.starts_with("100 % of the time of all threads is computation"));
}

}  // namespace
}  // namespace refrain::report::finding_test
