// What analyze says of a program that forgets to free its memory, and of its twin that does not.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test::memory_test {
namespace {

std::string found(const std::vector<std::string>& arguments,
                  std::map<std::string, std::string> settings = {}) {
  const TemporaryFolder folder;
  const Job job{.program = "leak_clang",
                .arguments = arguments,
                .threads = 2,
                .settings = std::move(settings)};
  REQUIRE(run_job(job, Way::kRun, folder / "archive").exit_status == 0);
  const Result result = run_refrain({"analyze", folder / "archive", "--json"});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  return nlohmann::json::parse(result.output).at("conclusions").at("memory");
}

}  // namespace

TEST_CASE("Memory: a leak is found, from its iteration on, with its size") {
  const std::string text = found({"600", "200"});
  INFO(text);
  std::smatch match;
  REQUIRE(std::regex_search(
      text, match,
      std::regex("grows by ([0-9.]+) kB in each iteration of main leak.c:[0-9-]+, from "
                 "iteration ([0-9]+) on")));
  // 64 KiB and the allocator's own.
  CHECK(std::stod(match[1]) == Approx(65.5).epsilon(0.1));
  CHECK(std::stod(match[2]) == Approx(200).margin(40));
}

TEST_CASE("Memory: its twin, and a run without events") {
  CHECK(found({"600"}) == "");
  CHECK(found({"600", "0"}, {{"SUMMARY_ONLY", "yes"}}).find("grows by") !=
        std::string::npos);
}

}  // namespace refrain::test::memory_test
