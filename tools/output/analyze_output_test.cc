#include "tools/output/analyze_output.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "waits/made_up_trace.h"

namespace refrain::tools::analyze_output_test {
namespace {

using namespace waits;
using nlohmann::json;

WaitAnalysis late_sender() {
  MadeUpTrace trace(2);
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
  const std::string text = text_of(late_sender(), {.width = 80, .all = false});
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

TEST_CASE("Analysis as text: a pattern that charges more than there is") {
  class Greedy final : public Pattern {
   public:
    MetricInfo metric() const override {
      return {"greedy", "mpi_point2point", "Greedy", "", ""};
    }
    std::vector<Compound> wants() const override { return {Compound::kReceive}; }
    void receive(ReceiveCall& event) override { charge(event.call, 1000); }
  };
  MadeUpTrace trace(2);
  trace.receive(1, 100, 460, 0);
  trace.send(0, 50, 60, 1);
  std::vector<std::unique_ptr<Pattern>> more;
  more.push_back(std::make_unique<Greedy>());
  const WaitAnalysis analysis = *trace.analyze(std::move(more));
  CHECK(analysis.total(analysis.tree.of("greedy")) == 360);
  CHECK(text_of(analysis, {.width = 200, .all = true})
            .find("Patterns charged 640 us more than the metrics that contain theirs") !=
        std::string::npos);
}

TEST_CASE("Analysis as text: nothing found, and what is wrong with the archive") {
  MadeUpTrace trace(2);
  trace.region(0, 0, 100, rMain);
  trace.enter(1, 0, rMain);
  trace.receive(1, 20, 30, 0);
  const std::string text = text_of(trace.analyze(), {.width = 80, .all = false});
  CHECK(text.starts_with("No wait takes 1 %"));
  CHECK(text.find("Note         1 receives have no send") != std::string::npos);
}

TEST_CASE("Analysis as JSON: metrics by name, findings with place and ranks, paths") {
  const json out = json::parse(analysis_json(late_sender()));
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
  CHECK(out["version"] == 2);
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
