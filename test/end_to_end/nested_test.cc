// The nested detector on programs: nested loops with exact counts at every level, an adaptive
// program, changes of phase, and slow iterations inserted on purpose.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

namespace refrain::test::nested_test {
namespace {

using nlohmann::json;

json info_of(const std::filesystem::path& archive) {
  const Result result = run_refrain({"info", "--json", archive});
  REQUIRE(result.ok());
  return json::parse(result.output);
}

// The phase with this number of iterations; null if there is none.
json phase_with(const json& info, long iterations) {
  for (const json& phase : info["phases"])
    if (phase["iterations"] == iterations) return phase;
  return {};
}

double written_share(const json& info) {
  return info["events_written"].get<double>() / info["events_seen"].get<double>();
}

struct Case {
  std::string program;
  std::vector<std::string> arguments;
  double most_written;  // share of the events
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"cg", {"75"}, 0.25},
      {"converge", {"300"}, 0.15},
      {"amr", {"400"}, 0.45},
  };
  return kCases;
}

// gcc's loops give no symbols: a patch of amr has only two events then, so which loops are
// detected while the mesh is new is not checked.
bool has_clear_nest(const Case& c, const std::string& compiler) {
  return c.program != "amr" || compiler != "gcc";
}

}  // namespace

TEST_CASE("Nested: counts - of outer and inner loops equal the program's") {
  SomeCases few;
  for (const Case& c : cases())
    for (const std::string compiler : {"clang", "gcc"})
      for (const std::string marks : {"all", "summary"}) {
        if (!has_clear_nest(c, compiler) || !few.runs_next()) continue;
        INFO(c.program << " " << compiler << " " << marks);
        TemporaryFolder folder;
        Job job{c.program + "_" + compiler, c.arguments, 2};
        // A busy machine makes iterations slow, which are written.
        job.settings = {{"MIN_GAP", "0"}, {"MARKS", marks}, {"SLOW_FACTOR", "0"}};
        const Traced traced = recorded(job, folder / "archive");
        const json info = info_of(folder / "archive");
        const json outer = phase_with(info, output_number(traced.result.output, "outer"));
        const json inner =
            phase_with(info, output_number(traced.result.output, "iterations"));
        REQUIRE(outer.is_object());
        REQUIRE(inner.is_object());
        CHECK(inner["level"] > outer["level"]);
        CHECK(written_share(info) < c.most_written);
        const std::string structure = info["structure"];
        CHECK(structure.find(" × [ ") != std::string::npos);
      }
}

TEST_CASE("Nested: counts - of a reduced trace equal those of the whole one") {
  SomeCases few;
  for (const Case& c : cases())
    for (const std::string compiler : {"clang", "gcc"}) {
      if (!few.runs_next()) continue;
      INFO(c.program << " " << compiler);
      std::string loops[2];
      for (const int reduced : {0, 1}) {
        TemporaryFolder folder;
        Job job{c.program + "_" + compiler, c.arguments, 2};
        job.settings = {{"LIMIT", reduced == 1 ? "3" : "0"}, {"MIN_GAP", "0"}};
        recorded(job, folder / "archive");
        const json info = info_of(folder / "archive");
        for (const json& phase : info["phases"])
          loops[reduced] +=
              json({phase["name"], phase["iterations"], phase["visits"], phase["parent"]})
                  .dump() +
              "\n";
      }
      CHECK(loops[0] == loops[1]);
    }
}

TEST_CASE("Nested: marks - phases are nested") {
  TemporaryFolder folder;
  Job job{"cg_clang", {"40"}, 2};
  job.settings = {{"LIMIT", "5"}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}};
  const Traced traced = recorded(job, folder / "archive");
  std::size_t outer = 0;
  std::size_t inner = 0;
  for (const Iteration& it : iterations(traced.trace)) {
    outer += it.depth == 0;
    inner += it.depth == 1;
  }
  CHECK(outer == 40);
  CHECK(inner == 5 * 25 + 25);  // the last one is written: the next event is a break
}

TEST_CASE("Nested: structure - as in the program's source") {
  TemporaryFolder folder;
  recorded({"converge_clang", {"100"}, 2}, folder / "archive");
  CHECK(info_of(folder / "archive")["structure"] ==
        "100 × [ converge.c:17 load; "
        "15–22 × [ converge.c:25 relax; converge.c:30 residual ]; "
        "converge.c:43 finish ]");
  recorded({"cg_clang", {"75"}, 2}, folder / "cg");
  CHECK(info_of(folder / "cg")["structure"] ==
        "cg.c:20 make_matrix; 75 × [ cg.c:74 start; 25 × [ cg.c:37 multiply; cg.c:48 dot; "
        "cg.c:61 step; cg.c:48 dot; cg.c:69 direct ]; cg.c:48 dot; cg.c:82 normalise ]; "
        "cg.c:48 dot");
}

// Every written iteration of the outer loop can be read on its own, and the limit applies to the
// whole run.
TEST_CASE("Nested: first - each written outer iteration has its inner loop") {
  TemporaryFolder folder;
  Job job{"cg_clang", {"75"}, 2};
  job.settings = {{"LIMIT", "6"}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}};
  const Traced traced = recorded(job, folder / "archive");
  const std::vector<Iteration> all = iterations(traced.trace);
  std::size_t outer = 0;
  std::size_t inner = 0;
  for (const Iteration& around : all) {
    if (around.depth != 0 || around.said_written <= 0) continue;
    ++outer;
    std::vector<std::int64_t> shown;
    for (const Iteration& it : all)
      if (it.depth == 1 && it.said_written == 1 && it.begin >= around.begin &&
          it.end <= around.end)
        shown.push_back(it.number);
    INFO("iteration " << around.number);
    REQUIRE(!shown.empty());
    CHECK(shown.front() == 0);
    inner += shown.size();
  }
  // The last one, too, or a partial one: the end of the program is like a break.
  CHECK(outer >= 6 + 1);
  CHECK(outer <= 6 + 2);
  // N, and one of each further visit; 25 of the last iteration, which is written whole.
  CHECK(inner >= 6 + 5 + 1);
  CHECK(inner <= 6 + 5 + 2 * 25);
}

TEST_CASE("Nested: once - skips more than each") {
  double share[2];
  for (const int once : {0, 1}) {
    TemporaryFolder folder;
    Job job{"cg_clang", {"75"}, 2};
    job.settings = {
        {"NESTED", once == 1 ? "once" : "each"}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}};
    recorded(job, folder / "archive");
    share[once] = written_share(info_of(folder / "archive"));
  }
  CHECK(share[1] < share[0] / 2);
}

TEST_CASE("Nested: slow iterations - those made slow are kept, others are not") {
  TemporaryFolder folder;
  Job job{"converge_clang", {"410", "2000", "50", "200000"}, 2};
  // All that are slow: those that a busy machine makes slow may else take the share of those after them.
  job.settings = {{"LIMIT", "5"}, {"MIN_GAP", "0"}, {"SLOW_SHARE", "1"}};
  const Traced traced = recorded(job, folder / "archive");
  REQUIRE(output_number(traced.result.output, "slow") == 8);
  std::set<std::uint64_t> slow_begins;
  for (const Marker& marker : traced.trace.markers)
    if (marker.category == "slow iteration") slow_begins.insert(marker.time);
  std::size_t kept = 0;
  for (const Iteration& it : iterations(traced.trace)) {
    // The last one is kept, and the one before: the last is shorter, so it may be partial.
    if (it.depth != 0 || it.number < 5 || it.number >= 408) continue;
    INFO("iteration " << it.number);
    const bool made_slow = it.number % 50 == 49;
    if (made_slow) CHECK(it.said_written == 1);
    // It, or an iteration of its inner loop that took nearly all of its time.
    // (Marks that begin together are ticks apart; the markers have the program's own time.)
    const auto slow_begin = slow_begins.lower_bound(it.begin - 8);
    if (it.said_written == 1)
      CHECK((slow_begin != slow_begins.end() && *slow_begin < it.end));
    kept += made_slow && it.said_written == 1;
  }
  CHECK(kept == 8);
}

TEST_CASE("Nested: change of phase - every loop is detected and the change is kept") {
  TemporaryFolder folder;
  Job job{"phases_clang", {"40", "60", "50", "30"}, 2};
  job.settings = {{"MIN_GAP", "0"}, {"SYMBOLS", "parallel"}, {"SLOW_FACTOR", "0"}};
  const Traced traced = recorded(job, folder / "archive");
  std::map<std::size_t, int> lengths;
  for (const std::uint32_t region : phase_regions(traced.trace))
    for (const auto& visit : visits(iterations(traced.trace, region))) {
      ++lengths[visit.size()];
      if (visit.size() == 30) continue;  // the end of the program is no change
      CHECK(visit.back().written);
      CHECK_FALSE(visit[visit.size() / 2].written);
    }
  CHECK(lengths == std::map<std::size_t, int>{{30, 1}, {40, 1}, {50, 1}, {60, 1}});
}

}  // namespace refrain::test::nested_test
