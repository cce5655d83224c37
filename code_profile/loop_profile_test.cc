#include "code_profile/loop_profile.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "code_profile/loop_text.h"

namespace refrain::code_profile::loop_profile_test {
namespace {

// A function at 0x1000 with a nest of two loops, the inner one with a call of the function at 0x1800. No
// file: names are addresses, so that all of it is known here. `recursive`: of the outer function.
std::string file(int recursive, int process) {
  const std::string all =
      "refrain-loops 1\nprocess " + std::to_string(process) +
      " 1\ncommand ./app\n"
      "module 0 1000 2000 0 -\n"
      "function 0 1000 0 " +
      std::to_string(recursive) +
      "\n"
      "called 0 0 1 1000 0 0 0\n"
      "function 1 1800 0 0\n"
      "called 1 0 20 400 0 0 0\n"
      "block 0 1000 16 0 0 -1 1 10 0 0 0\n"
      "block 1 1010 16 0 0 0 6 5 0 0 0\n"   // head of the outer loop, which tests
      "block 2 1020 16 0 0 1 20 8 0 0 0\n"  // the inner loop, which jumps to itself
      "call 2 1 0 0 20 400 0 0 0\n"
      "jump 2 2\njump 2 3\n"
      "block 3 1030 16 0 0 0 5 2 0 0 0\n"
      "jump 3 1\njump 1 2\n"
      "block 4 1800 16 0 1 -1 20 20 0 0 0\n"
      "loop 0 1 -1 0 1\n"
      "total 0 0 0 123 0 0 0\n"
      "trips 0 0 1 5 1\n"
      "loop 1 2 0 0 1\n"
      "total 1 0 0 45 0 0 0\n"
      "trips 1 0 2 3 5\n"
      "end\n";
  return all;
}

LoopProfile profile(const std::vector<std::string>& files) {
  ProfileBuilder builder;
  for (const std::string& text : files) {
    std::istringstream in(text);
    builder.add_process(*read_raw_profile(in, "file"));
  }
  return builder.finish();
}

const Node& at(const LoopProfile& profile, std::uint64_t address, bool loop) {
  for (const Node& node : profile.nodes)
    if (node.address == address && node.is_loop == loop) return node;
  FAIL("no node");
  return profile.nodes.front();
}

TEST_CASE(
    "Loop profile: trips - the failed test at the head is no iteration, the end of the body is") {
  const LoopProfile built = profile({file(0, 7)});
  const Node& outer = at(built, 0x1010, true);
  CHECK(outer.entries == 1);
  CHECK(outer.iterations == 5);
  const Node& inner = at(built, 0x1020, true);
  CHECK(inner.entries == 5);
  CHECK(inner.iterations == 20);
  CHECK(inner.trips == std::map<std::uint64_t, std::uint64_t>{{4, 5}});
  CHECK(inner.depth == 2);
  CHECK(&built.nodes[inner.parent] == &outer);
}

TEST_CASE("Loop profile: self and total - with calls and inner loops") {
  const LoopProfile built = profile({file(0, 7)});
  CHECK(at(built, 0x1010, true).self[kInstructions] == 6 * 5 + 5 * 2);
  CHECK(at(built, 0x1020, true).self[kInstructions] == 20 * 8);
  CHECK(at(built, 0x1020, true).total[kInstructions] == 20 * 8 + 400);
  CHECK(at(built, 0x1010, true).total[kInstructions] == 40 + 160 + 400);
  CHECK(at(built, 0x1000, false).self[kInstructions] == 10);
  CHECK(at(built, 0x1000, false).total[kInstructions] == 1000);
  CHECK(built.total[kInstructions] == 10 + 30 + 160 + 10 + 400);
  // Of a function that calls itself what was measured.
  CHECK(at(profile({file(1, 7)}), 0x1010, true).total[kInstructions] == 123);
}

TEST_CASE("Loop profile: processes - are added up, each thread is kept") {
  const LoopProfile built = profile({file(0, 7), file(0, 8)});
  const Node& inner = at(built, 0x1020, true);
  CHECK(inner.entries == 10);
  CHECK(inner.total[kInstructions] == 2 * 560);
  REQUIRE(inner.threads.size() == 2);
  CHECK(inner.threads[0].process == 7);
  CHECK(inner.threads[1].process == 8);
  CHECK(inner.threads[1].iterations == 20);
  CHECK(built.commands.size() == 2);
}

TEST_CASE("Loop profile: printed - as text and JSON") {
  const LoopProfile built = profile({file(0, 7)});
  const std::string text = flat_text(built, 0);
  CHECK_THAT(text, Catch::Contains("trip count (entries): 4 (5)"));
  CHECK_THAT(text, Catch::Contains("1 process"));
  CHECK_THAT(flat_text(built, 0.99), Catch::Contains("are not shown"));
  const nlohmann::json json = nlohmann::json::parse(profile_json(built));
  REQUIRE(json.at("loops").size() == 2);
  for (const char* key :
       {"file", "line", "entries", "iterations", "trip_counts", "self", "total"})
    CHECK(json.at("loops")[0].contains(key));
  bool called = false;
  for (const auto& edge : json.at("edges")) called = called || edge.at("count") == 20;
  CHECK(called);
}

}  // namespace
}  // namespace refrain::code_profile::loop_profile_test
