#include "analysis/scaling/ensemble.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace refrain::analysis::ensemble_test {
namespace {

constexpr double kS = 1e9;

// A run on two threads: useful work in `solve`, and so much of an account at a place.
Scale run(const std::string& name, double seconds, Account account = Account::kUseful,
          double more_s = 0, const std::string& place = "", double cores = 0) {
  Scale out;
  out.name = name;
  out.program = "app";
  out.processes = 1;
  out.threads = 2;
  out.whole.time_ns = seconds * kS;
  out.whole.all_ns = 2 * seconds * kS;
  out.whole.efficiencies.parallel = (2 * seconds - more_s) / (2 * seconds);
  out.conclusions.time_ns = out.whole.all_ns;
  out.conclusions.core_wait_ns = cores * out.whole.all_ns;
  out.conclusions.ledger[static_cast<std::size_t>(Account::kUseful)] =
      out.whole.all_ns - more_s * kS;
  out.conclusions.ledger[static_cast<std::size_t>(account)] += more_s * kS;
  out.places = {{PlaceTime::Kind::kCallPath, "solve", "solve @app.c:9",
                 out.whole.all_ns - more_s * kS}};
  if (!place.empty())
    out.places.push_back({PlaceTime::Kind::kCallPath, place, place, more_s * kS});
  if (account != Account::kUseful) {
    RootCause cause;
    cause.account = account;
    cause.what = "File I/O";
    cause.text = "The program is in " + place + ".";
    cause.share = more_s / (2 * seconds);
    out.conclusions.causes.push_back(cause);
  }
  return out;
}

std::vector<Scale> typical(std::size_t count) {
  std::vector<Scale> runs;
  for (std::size_t i = 0; i < count; ++i)
    runs.push_back(run("r" + std::to_string(i), 10 + 0.01 * static_cast<double>(i)));
  return runs;
}

Ensemble of(std::vector<Scale> runs) {
  auto made = ensemble_of(std::move(runs));
  INFO(made.error());
  REQUIRE(made.ok());
  return *std::move(made);
}

const EnsembleMember& member(const Ensemble& ensemble, const std::string& name) {
  for (const EnsembleMember& each : ensemble.members)
    if (each.name == name) return each;
  FAIL("no member " << name);
  return ensemble.members.front();
}

using Kind = EnsembleMember::Kind;

}  // namespace

TEST_CASE("Ensemble: alike members - nothing is said") {
  const Ensemble all = of(typical(9));
  CHECK(all.members.size() == 9);
  CHECK(all.findings.empty());
  CHECK(all.notes.empty());
  CHECK(all.median_ns == Approx(10.04 * kS));
  for (const EnsembleMember& each : all.members) CHECK(each.kind == Kind::kTypical);
  CHECK(all.members.front().name == "r8");  // the longest
}

TEST_CASE("Ensemble: slow members are named with what they have more, one reason at once") {
  std::vector<Scale> runs = typical(9);
  runs.push_back(run("slow1", 14, Account::kFileIo, 8, "write out.dat"));
  runs.push_back(run("slow2", 13, Account::kFileIo, 6, "write out.dat"));
  runs.push_back(run("other", 12, Account::kSynchronization, 4, "barrier"));
  const Ensemble all = of(std::move(runs));
  CHECK(member(all, "slow1").kind == Kind::kSlow);
  CHECK(member(all, "other").kind == Kind::kSlow);
  CHECK(member(all, "r3").kind == Kind::kTypical);
  CHECK(member(all, "slow1").ratio == Approx(14 / all.median_ns * kS));
  REQUIRE(all.findings.size() == 2);
  CHECK(all.findings[0].starts_with("slow1 and slow2 took 29 to 39 % longer"));
  CHECK(all.findings[0].find("write out.dat took 8 s more of all threads") !=
        std::string::npos);
  CHECK(all.findings[0].find("File I/O: The program is in write out.dat.") !=
        std::string::npos);
  CHECK(all.findings[1].starts_with("other took 19 % longer than the median of 10.1 s"));
  CHECK(all.findings[1].find("barrier took 4 s more") != std::string::npos);
  const EnsembleMember& slow = member(all, "slow1");
  REQUIRE(slow.accounts.size() == 1);
  CHECK(slow.accounts[0].ns == Approx(8 * kS));
  REQUIRE(slow.places.size() == 1);
  CHECK(member(all, "r0").places.empty());
}

TEST_CASE(
    "Ensemble: a fast member lacks what the others have; cores are a reason before all") {
  std::vector<Scale> runs;
  for (int i = 0; i < 7; ++i)
    runs.push_back(run("r" + std::to_string(i), 10, Account::kFileIo, 4, "write out.dat"));
  runs.push_back(run("fast", 8));
  runs.push_back(run("busy", 15, Account::kFileIo, 4, "write out.dat", 0.4));
  const Ensemble all = of(std::move(runs));
  REQUIRE(all.findings.size() == 2);
  CHECK(all.findings[0].starts_with("busy took 50 % longer"));
  CHECK(all.findings[0].find("no core for 40 % of the time (others: 0 %)") !=
        std::string::npos);
  CHECK(all.findings[1].starts_with("fast took 20 % less"));
  CHECK(all.findings[1].find("write out.dat took 4 s less") != std::string::npos);
}

TEST_CASE("Ensemble: members that all differ have a margin as wide") {
  std::vector<Scale> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(run("r" + std::to_string(i), 10 + i));
  CHECK(of(std::move(runs)).findings.empty());
}

TEST_CASE("Ensemble: two hundred members, of which many are slow - twelve names") {
  std::vector<Scale> runs = typical(170);
  for (std::size_t i = 0; i < 30; ++i)
    runs.push_back(
        run("slow" + std::to_string(i), 14, Account::kFileIo, 8, "write out.dat"));
  const Ensemble all = of(std::move(runs));
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].find(" and 18 more took") != std::string::npos);
  CHECK(all.findings[0].find("slow11") != std::string::npos);
  CHECK(all.findings[0].find("slow12") == std::string::npos);
}

TEST_CASE("Ensemble: what is none is refused") {
  CHECK_FALSE(ensemble_of(typical(2)));
  std::vector<Scale> runs = typical(3);
  runs[1].threads = 4;
  CHECK_FALSE(is_ensemble(runs));
  CHECK(ensemble_of(runs).error().find("equally many") != std::string::npos);
  runs = typical(3);
  runs[2].program = "other";
  runs[2].places = {{PlaceTime::Kind::kCallPath, "x", "x", kS}};
  CHECK(ensemble_of(runs).error().find("compare runs of one program") != std::string::npos);
}

}  // namespace refrain::analysis::ensemble_test
