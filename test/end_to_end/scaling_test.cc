// `refrain scaling` of recorded runs, and what it says of what are none.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "spool/spool_place.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/report_reader.h"

namespace refrain::test::scaling_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path halo(const TemporaryFolder& folder, int ranks, const std::string& limit) {
  const fs::path archive = folder / ("halo" + std::to_string(ranks) + "_" + limit);
  const std::map<std::string, std::string> settings =
      limit == "only"
          ? std::map<std::string, std::string>{{"SUMMARY_ONLY", "yes"}}
          : std::map<std::string, std::string>{{"LIMIT", limit}, {"MIN_GAP", "0"}};
  recorded_result(
      {.program = "test/programs/mpi/halo_gcc",
       // So large that the loop is a good part of the run, also where the machine is busy.
       .arguments = {"60", "800", "400"},
       .ranks = ranks,
       .settings = settings},
      MpiWay::kInside, archive);
  return archive;
}

json scaling(std::vector<std::string> words) {
  words.insert(words.begin(), {"scaling", "--json"});
  const Result result = run_refrain(words);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return json::parse(result.output);
}

}  // namespace

TEST_CASE("Scaling: two recorded runs - factors of one loop, products as defined") {
  const TemporaryFolder folder;
  for (const char* limit : {"0", "5"}) {
    CAPTURE(limit);
    // The larger one first: order does not matter.
    const json all = scaling({halo(folder, 2, limit), halo(folder, 1, limit)});
    CHECK(all["loop"].get<std::string>().find("main") != std::string::npos);
    REQUIRE(all["runs"].size() == 2);
    for (int i = 0; i < 2; ++i) {
      const json& run = all["runs"][static_cast<std::size_t>(i)];
      const json& f = run["factors"];
      INFO(run.dump());
      CHECK(run["processes"] == i + 1);
      CHECK(run["iterations"].get<int>() >= 57);
      for (const char* name :
           {"parallel", "load_balance", "communication", "serialization", "transfer"}) {
        CHECK(f[name].get<double>() > 0);
        CHECK(f[name].get<double>() <= 1 + 1e-9);
      }
      CHECK(f["load_balance"].get<double>() * f["communication"].get<double>() ==
            Approx(f["parallel"].get<double>()));
      CHECK(f["serialization"].get<double>() * f["transfer"].get<double>() ==
            Approx(f["communication"].get<double>()));
      CHECK(f["parallel"].get<double>() * f["computation"].get<double>() ==
            Approx(f["global"].get<double>()));
    }
    CHECK(all["runs"][0]["factors"]["computation"] == 1.0);
    REQUIRE(all["steps"].size() == 1);
    bool exchange = false;  // rank 1 of the base has no neighbour
    for (const json& loss : all["losses"])
      exchange = exchange || loss["place"].get<std::string>().starts_with("MPI_Waitall");
    CHECK(exchange);
    const std::string notes = all["notes"].dump();
    CHECK((notes.find("was not written") == std::string::npos) ==
          (std::string(limit) == "0"));
  }
}

TEST_CASE("Scaling: without events serialization and transfer are not known, all else is") {
  const TemporaryFolder folder;
  const json all = scaling({halo(folder, 1, "only"), halo(folder, 2, "only")});
  const json& f = all["runs"][1]["factors"];
  CHECK(f["transfer"].is_null());
  CHECK(f["serialization"].is_null());
  CHECK(f["communication"].get<double>() > 0);
  CHECK(all["notes"].dump().find("there are no events (--summary-only)") !=
        std::string::npos);
}

// A replay without some of the events says nothing; totals do not need them.
TEST_CASE(
    "Scaling: events that cannot be read - no serialization, no transfer, and a note") {
  const TemporaryFolder folder;
  const fs::path one = halo(folder, 1, "5"), two = halo(folder, 2, "5");
  const json whole = scaling({one, two});
  for (const auto& file : fs::directory_iterator(two / "traces")) {
    fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
    if (file.path().extension() == ".evt") fs::resize_file(file, 100);
  }
  const json cut = scaling({one, two});
  CHECK(cut["runs"][0] == whole["runs"][0]);
  CHECK(whole["runs"][1]["factors"]["transfer"].is_number());
  CHECK(cut["runs"][1]["factors"]["transfer"].is_null());
  CHECK(cut["runs"][1]["factors"]["serialization"].is_null());
  CHECK(cut["runs"][1]["factors"]["parallel"] == whole["runs"][1]["factors"]["parallel"]);
  CHECK(cut["notes"].dump().find("not all events can be read") != std::string::npos);
  const Result said = run_refrain({"scaling", one, two});
  CHECK(said.exit_status == 0);
  CHECK(said.errors.find("the others are missing") != std::string::npos);
}

TEST_CASE("Scaling: what are no runs of one program is refused") {
  const TemporaryFolder folder;
  const std::string one = halo(folder, 1, "0");
  const Result none = run_refrain({"scaling"});
  CHECK(none.exit_status != 0);
  CHECK(none.output.empty());
  const Result alone = run_refrain({"scaling", one});
  CHECK(alone.exit_status != 0);
  CHECK(alone.output.empty());
  check_refused({"scaling", folder / "nothing"}, "no such file");
  check_refused({"scaling", one, folder / "nothing"}, "nothing");
  fs::create_directory(folder / "empty");
  check_refused({"scaling", one, folder / "empty"}, "empty");
  const fs::path other = folder / "other";
  recorded_result(
      {.program = "test/programs/mpi/ring_gcc", .ranks = 3, .settings = {{"LIMIT", "0"}}},
      MpiWay::kInside, other);
  check_refused({"scaling", one, other}, "compare runs of one program");
  check_refused({"scaling", one, halo(folder, 2, "0"), "--loop", "no such loop"},
                "not all runs have a loop 'no such loop'");
}

TEST_CASE(
    "Scaling: the report of many runs has what refrain scaling says, of two runs both") {
  const TemporaryFolder folder;
  const std::string one = halo(folder, 1, "5"), two = halo(folder, 2, "5");
  const auto report = [&](std::vector<std::string> archives) {
    archives.insert(archives.begin(),
                    {"report", "--quiet", "--overwrite", "-o", folder / "page.html"});
    const Result result = run_refrain(archives);
    INFO(result.errors);
    REQUIRE(result.exit_status == 0);
    return ReportReader(read_file(folder / "page.html"));
  };
  const ReportReader both = report({two, one});
  CHECK(both.has("compare"));
  CHECK(both.has("b/profile"));
  json all = both.value("scaling");
  CHECK(all == scaling({one, two}));
  CHECK_FALSE(report({one, one}).has("scaling"));
  // A directory of archives, with a repeated run.
  fs::create_directory(folder / "runs");
  fs::create_directory_symlink(one, folder / "runs/1-1");
  fs::create_directory_symlink(two, folder / "runs/2-1");
  fs::create_directory_symlink(two, folder / "runs/2-2");
  const ReportReader many = report({(folder / "runs").string()});
  CHECK(many.names() == std::vector<std::string>{"report", "scaling"});
  CHECK(many.value("report")["program"] == "halo_gcc");
  CHECK(many.value("report")["archives"] == 3);
  json said = scaling({(folder / "runs").string()});
  all = many.value("scaling");
  CHECK(all["losses"].size() > 2);
  CHECK(all["losses"].size() <= said["losses"].size());
  all.erase("losses");
  said.erase("losses");
  CHECK(all == said);
  // One that was killed is not among them, nor one that was killed before anything was recorded.
  for (const char* killed : {"runs/4-1", "runs/4-2"})
    fs::create_directories(folder / killed / "spool");
  REQUIRE(
      spool::write_place(folder / "runs/4-1", 0,
                         {"another", "/x/refrain-spool-halo-another-1/spool/process-0"}));
  const Result noted = run_refrain({"scaling", (folder / "runs").string()});
  CHECK(noted.exit_status == 0);
  CHECK(noted.errors.find("4-1' is left out: it is a recording without an archive") !=
        std::string::npos);
  CHECK(noted.errors.find("4-2' is left out: it is a recording with nothing") !=
        std::string::npos);
  const ReportReader page = report({(folder / "runs").string()});
  CHECK(page.value("report")["archives"] == 3);
  CHECK(page.value("report")["limits"].dump().find("4-1' is left out") !=
        std::string::npos);
}

TEST_CASE("Scaling: --record makes the runs, repeats them, and reads the medians") {
  const TemporaryFolder folder;
  const std::string command =
      "OMP_NUM_THREADS={} " + data_file("test/programs/jacobi_clang").string();
  const std::string out = folder / "runs";
  const json all = scaling({"--record", command, "-o", out, "--repeat", "2", "1,2"});
  REQUIRE(all["runs"].size() == 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(all["runs"][static_cast<std::size_t>(i)]["threads"] == i + 1);
    CHECK(all["runs"][static_cast<std::size_t>(i)]["repeats"] == 2);
    CHECK(all["runs"][static_cast<std::size_t>(i)]["spread"] >= 0);
  }
  for (const char* name : {"1-1", "1-2", "2-1", "2-2"})
    CHECK(fs::exists(fs::path(out) / name / "traces.otf2"));
  // The directory is as good as its archives.
  const json again = scaling({out});
  CHECK(again["runs"] == all["runs"]);
  check_refused({"scaling", "--record", command, "-o", out, "1,2"},
                "name another directory");
  check_refused({"scaling", "--record", "true", "-o", folder / "a", "1,2"}, "has no {}");
  check_refused({"scaling", "--record", "true {}", "-o", folder / "a", "1,x"},
                "'x' is not a number");
  CHECK_FALSE(fs::exists(folder / "a"));
}

}  // namespace refrain::test::scaling_test
