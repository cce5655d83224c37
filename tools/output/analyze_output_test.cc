#include "tools/output/analyze_output.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::tools::analyze_output_test {
namespace {

using namespace waits;
using analysis::TimeShape;
using nlohmann::json;

WaitAnalysis late_sender() {
  SyntheticTrace trace(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) trace.enter(rank, 0, rMain);
  trace.receive(1, 100, 460, 0);
  trace.send(0, 400, 450, 1);
  for (std::uint32_t rank = 0; rank < 2; ++rank) trace.leave(rank, 500, rMain);
  return trace.analyze();
}

std::string text_of(const WaitAnalysis& analysis, const AnalysisScreen& options) {
  std::string text;
  for (const std::string& line : analysis_screen(analysis, options)) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("Analysis as text: the finding, its rank, its place, its cause; the metrics") {
  const std::string text = text_of(late_sender(), {.width = 80, .metrics = true});
  CHECK(text.starts_with(
      "1. MPI late sender: 300 us lost, 30.0 % of the time of all threads, by rank 1.\n"
      "   In main > MPI_Recv, p.c:7.\n"));
  CHECK(text.find("The sender has more work before it sends") != std::string::npos);
  CHECK(text.find("mpi_latesender ") != std::string::npos);
  CHECK(text.find("Note") == std::string::npos);
  for (const std::string& line :
       analysis_screen(late_sender(), {.width = 60, .all = false})) {
    if (line.empty()) break;  // the metrics have a width of their own
    CHECK(line.size() <= 60);
  }
}

TEST_CASE(
    "Analysis as text: a part of a run - how much of it, and whose part is not known") {
  WaitAnalysis analysis = late_sender();
  CHECK(text_of(analysis, {.width = 200}).find("Caused by") != std::string::npos);
  const std::uint32_t metric = analysis.tree.of("mpi_latesender");
  analysis.problems.gaps = 1;
  analysis.estimates.resize(metric + 1);
  analysis.estimates[metric] = {.seen = 300e-6, .whole = 3e-3, .paths = {}};
  analysis.estimates[metric].paths.assign(analysis.paths.size(), 0);
  for (const WaitAnalysis::Cause& cause : analysis.causes)
    analysis.estimates[metric].paths[cause.path] = 3e-3;
  for (WaitAnalysis::Cause& cause : analysis.causes) cause.ticks /= 2;
  const std::string text = text_of(analysis, {.width = 200});
  CAPTURE(text);
  CHECK(text.find("   What is in the archive (10 % of it) was caused by rank 0 in main") !=
        std::string::npos);
  CHECK(text.find(" (50 %); by whom is not known (50 %).\n") != std::string::npos);
}

TEST_CASE(
    "Analysis as text: short locks without events - what is seen is said to be less") {
  SyntheticTrace trace(1, 2);
  trace.enter({0, 0}, 0, rMain);
  trace.region({0, 1}, 10, 300, rSetLock);
  WaitAnalysis analysis = trace.analyze();
  CHECK(text_of(analysis, {.width = 200}).find("short locks") == std::string::npos);
  analysis.locks_left_out = 70;
  CHECK(text_of(analysis, {.width = 200})
            .find("Note         70 short locks in a row have no events in the archive") !=
        std::string::npos);
}

TEST_CASE("Analysis as text: a pattern that charges more than there is") {
  class Greedy final : public Pattern {
   public:
    MetricInfo metric() const override {
      return {"greedy", "mpi_point2point", "Greedy", "", ""};
    }
    std::vector<Compound> wants() const override { return {Compound::kReceive}; }
    void receive(ReceiveCall& event) override { charge(event.call, 1000); }
  };
  SyntheticTrace trace(2);
  trace.receive(1, 100, 460, 0);
  trace.send(0, 50, 60, 1);
  std::vector<std::unique_ptr<Pattern>> more;
  more.push_back(std::make_unique<Greedy>());
  const WaitAnalysis analysis = *trace.analyze(std::move(more));
  CHECK(analysis.total(analysis.tree.of("greedy")) == 360);
  CHECK(text_of(analysis, {.width = 200, .all = true})
            .find("Patterns charged 640 us more than their parent metrics") !=
        std::string::npos);
}

TEST_CASE("Analysis as text: nothing found, and what is wrong with the archive") {
  SyntheticTrace trace(2);
  trace.region(0, 0, 100, rMain);
  trace.enter(1, 0, rMain);
  trace.receive(1, 20, 30, 0);
  const std::string text = text_of(trace.analyze(), {.width = 80, .all = false});
  CHECK(text.starts_with("No wait takes 1 %"));
  CHECK(text.find("Note         1 receives have no send") != std::string::npos);
}

TEST_CASE(
    "Conclusions as text and JSON: findings with evidence and gain, then the ledger") {
  analysis::Conclusions conclusions;
  conclusions.time_ns = 3e9;
  conclusions.run_ns = 1.5e9;
  conclusions.ledger[static_cast<std::size_t>(analysis::Account::kUseful)] = 1.5e9;
  conclusions.ledger[static_cast<std::size_t>(analysis::Account::kUnevenRanks)] = 0.5e9;
  conclusions.ledger[static_cast<std::size_t>(analysis::Account::kStart)] = 1e9;
  analysis::RootCause cause;
  cause.what = "Uneven work between ranks";
  cause.text = "Rank 1 computes more.";
  cause.gain = "The loop would be shorter.";
  cause.hint = "Divide it.";
  cause.lost_ns = 0.5e9;
  cause.share = 0.25;
  cause.ranks = {1};
  cause.loop = "loop 1 @ main";
  cause.when = {.kind = TimeShape::Kind::kSince, .from = 50, .after = 2e6};
  cause.evidence = {{"MPI_Recv @p.c:9", 0.4e9}};
  conclusions.causes = {cause};
  std::string text;
  for (const std::string& line : conclusions_screen(conclusions, {.width = 80}))
    text += line + "\n";
  CHECK(text ==
        "1. Uneven work between ranks: Rank 1 computes more.\n"
        "   Over the whole run, others are in MPI_Recv @p.c:9 (400 ms).\n"
        "   The loop would be shorter.\n"
        "   Divide it.\n"
        "\n"
        "Time         3 s of all threads; shares are without start and end of MPI\n"
        "             computation                                   1.5 s   75.0 %\n"
        "             waiting for ranks with more work             500 ms   25.0 %\n"
        "             start and end of MPI                            1 s\n");
  analysis::Conclusions without_mpi;
  without_mpi.time_ns = 3e9;
  CHECK(conclusions_screen(without_mpi, {}).at(2) == "Time         3 s of all threads");
  CHECK(conclusions_screen({}, {}).front() ==
        "Nothing costs 1 % of the time of all threads.");
  const json out = json::parse(analysis_json(late_sender(), &conclusions))["conclusions"];
  const json alone = json::parse(causes_json(conclusions));
  CHECK(alone["conclusions"] == out);
  CHECK(alone["format"] == "refrain analyze");
  CHECK(out["seconds"] == 3);
  CHECK(out["ledger"].size() == analysis::kAccounts);
  CHECK(out["ledger"]["uneven_ranks"] == 0.5);
  REQUIRE(out["causes"].size() == 1);
  CHECK(out["causes"][0]["account"] == "uneven_ranks");
  CHECK(out["causes"][0]["ranks"] == json({1}));
  CHECK(out["causes"][0]["thread"].is_null());
  CHECK(out["causes"][0]["seconds"] == 0.5);
  CHECK(out["causes"][0]["when"]["shape"] == "since");
  CHECK(out["causes"][0]["when"]["from"] == 50);
  CHECK(out["causes"][0]["waits"][0]["where"] == "MPI_Recv @p.c:9");
}

TEST_CASE("Analysis as JSON: metrics by name, findings with place and ranks, paths") {
  const json out = json::parse(analysis_json(late_sender(), nullptr));
  CHECK(out["metrics"]["mpi_latesender"].get<double>() == Approx(300e-6));
  CHECK(out["metrics"]["time"].get<double>() == Approx(1000e-6));
  CHECK(out["seconds"].get<double>() == Approx(1000e-6));
  const json& finding = out["findings"][0];
  CHECK(finding["metric"] == "mpi_latesender");
  CHECK(finding["file"] == "p.c");
  CHECK(finding["line"] == 7);
  CHECK(finding["ranks"] == json::array({1}));
  CHECK(finding["by_rank"][0]["seconds"].get<double>() == Approx(300e-6));
  double sum = 0;
  const auto is_time = [&](std::string metric) {
    const json& tree = out["metric_tree"];
    for (auto each = tree.rbegin(); each != tree.rend(); ++each)  // children first
      if ((*each)["name"] == metric && !(*each)["parent"].is_null())
        metric = (*each)["parent"].get<std::string>();
    return metric == "time";
  };
  CHECK(out["version"] == 3);
  CHECK(out["paths"][0]["parent"].is_null());
  CHECK(out["paths"][1]["parent"] == 0);
  CHECK(out["paths"][1]["name"] == "main");
  CHECK(out["paths"][1]["exclusive"]["execution"].size() == out["locations"].size());
  for (const json& path : out["paths"])
    for (const auto& [metric, cells] : path["exclusive"].items())
      for (const json& cell : cells)
        if (is_time(metric)) sum += cell.get<double>();
  CHECK(sum == Approx(1000e-6));
  CHECK(out["metric_tree"].size() == out["metrics"].size());
}

}  // namespace refrain::tools::analyze_output_test
