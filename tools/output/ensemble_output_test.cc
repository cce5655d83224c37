#include "tools/output/ensemble_output.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reader/small_archive.h"
#include "test/support/files.h"
#include "tools/output/scaling_output.h"

namespace refrain::tools::ensemble_output_test {
namespace {

// Archives of another tool in one directory: members 10 s long in `solve`, of which one writes 5 s more.
struct Runs {
  test::TemporaryFolder folder;

  Runs(int count, int slow, std::uint32_t ranks = 1) {
    for (int i = 0; i < count; ++i) {
      reader::SmallArchive archive(folder / ("r" + std::to_string(i)));
      const auto solve = archive.region("solve");
      const auto write = archive.region("write", OTF2_REGION_ROLE_FILE_IO);
      const auto file = archive.file("/data/out." + std::to_string(i) + ".dat");
      const std::uint64_t s = 1'000'000'000, more = i == slow ? 6 : 1;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        archive.process();
        archive.enter(0, solve);
        archive.enter(9 * s, write);
        OTF2_EvtWriter_IoOperationBegin(archive.writer(), nullptr, 9 * s, file,
                                        OTF2_IO_OPERATION_MODE_WRITE,
                                        OTF2_IO_OPERATION_FLAG_NONE, 8, 1);
        OTF2_EvtWriter_IoOperationComplete(archive.writer(), nullptr, (9 + more) * s, file,
                                           8, 1);
        archive.leave((9 + more) * s, write);
        archive.leave((9 + more) * s, solve);
      }
      archive.finish(0, (9 + more) * s);
    }
  }
  std::vector<std::string> archives() const { return archives_in({folder.path()}); }
};

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + '\n';
  return all;
}

}  // namespace

TEST_CASE(
    "Ensemble output: the slow member, what it has more, on a screen, as JSON and CSV") {
  const Runs runs(6, 4);
  REQUIRE(are_of_one_size(runs.archives()));
  const auto ensemble = read_ensemble(runs.archives(), {});
  INFO(ensemble.error());
  REQUIRE(ensemble.ok());
  const std::string screen = joined(ensemble_screen(*ensemble, 100, false));
  INFO(screen);
  CHECK(screen.find("6 runs of") != std::string::npos);
  CHECK(screen.find("1 slow, 5 typical, 0 fast") != std::string::npos);
  CHECK(screen.find("50 % longer than the median of 10 s") != std::string::npos);
  CHECK(screen.find("write out.#.dat") != std::string::npos);
  CHECK(screen.find("+50.0 %") != std::string::npos);
  const auto json = nlohmann::json::parse(ensemble_json(*ensemble));
  CHECK(json.at("format") == "refrain ensemble");
  REQUIRE(json.at("members").size() == 6);
  const auto& slow = json.at("members").at(0);
  CHECK(slow.at("archive").get<std::string>().ends_with("/r4"));
  CHECK(slow.at("kind") == "slow");
  CHECK(slow.at("seconds") == Approx(15));
  CHECK(slow.at("to_median") == Approx(1.5));
  CHECK(slow.at("more_by_account").at(0).at("more_thread_seconds") == Approx(5));
  CHECK(slow.at("more_by_call_path")
            .at(0)
            .at("text")
            .get<std::string>()
            .find("write out.#.dat") != std::string::npos);
  CHECK(slow.at("causes").at(0).at("account") == "file_io");
  CHECK(json.at("members").at(1).at("more_by_account").empty());
  const std::string csv = ensemble_csv(*ensemble);
  CHECK(std::ranges::count(csv, '\n') == 7);
  CHECK(csv.find("/r4\",slow,15,1.5,") != std::string::npos);
}

TEST_CASE(
    "Ensemble output: many members - the longest on the screen, all of them if asked") {
  const Runs runs(25, -1);
  const auto ensemble = read_ensemble(runs.archives(), {});
  REQUIRE(ensemble.ok());
  CHECK(ensemble->findings.empty());
  CHECK(joined(ensemble_screen(*ensemble, 100, false)).find("and 5 more (--all)") !=
        std::string::npos);
  CHECK(joined(ensemble_screen(*ensemble, 100, true)).find("more (--all)") ==
        std::string::npos);
}

TEST_CASE("Ensemble output: two runs, and runs of two sizes, are none") {
  const Runs runs(3, -1), larger(1, -1, 2);
  std::vector<std::string> archives = runs.archives();
  archives.pop_back();
  CHECK_FALSE(are_of_one_size(archives));
  archives = runs.archives();
  archives.push_back(larger.archives().front());
  CHECK_FALSE(are_of_one_size(archives));
  CHECK_FALSE(are_of_one_size({"nothing", "nothing", "nothing"}));
}

}  // namespace refrain::tools::ensemble_output_test
