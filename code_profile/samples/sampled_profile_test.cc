#include "code_profile/samples/sampled_profile.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "code_profile/candidates.h"
#include "code_profile/loop_text.h"

namespace refrain::code_profile::sampled_profile_test {
namespace {

using Kind = SamplePlace::Kind;

enum Place : std::uint32_t {
  kMain,
  kOuter,
  kInner,
  kSolve,
  kSweep,
  kVdso,
  kFork,
  kPart,
  kOfPart
};

// main has a loop in a loop and calls solve, which has a loop; a parallel region has one as well.
PlacedSamples process(std::uint32_t number = 0) {
  PlacedSamples out;
  out.process = number;
  out.command = "./app";
  out.period_ns = 10'000'000;
  out.threads = 1;
  const auto add = [&](Kind kind, const char* function, std::uint32_t line,
                       std::uint64_t address, std::uint32_t parent = SamplePlace::kNone) {
    out.places.push_back({.kind = kind,
                          .function = function,
                          .file = "/src/app.c",
                          .line = line,
                          .module = "/bin/app",
                          .address = address,
                          .parent = parent});
  };
  add(Kind::kFunction, "main", 1, 0x100);
  add(Kind::kLoop, "main", 2, 0x110);
  add(Kind::kLoop, "main", 3, 0x120, kOuter);
  add(Kind::kFunction, "solve", 10, 0x200);
  add(Kind::kLoop, "solve", 11, 0x210);
  out.places.push_back({.kind = Kind::kUnknown, .function = "[vdso]"});
  add(Kind::kFunction, "__kmpc_fork_call", 0, 0x300);
  add(Kind::kFunction, "main.omp_outlined", 20, 0x400);
  add(Kind::kLoop, "main", 21, 0x410);
  return out;
}

// A stack of a thread.
void add(PlacedSamples& to, std::uint32_t thread, const std::vector<std::uint32_t>& stack,
         std::uint64_t samples) {
  const auto child = [&](std::uint32_t parent, std::uint32_t place) {
    for (std::uint32_t i = 0; i < to.nodes.size(); ++i)
      if (to.nodes[i].parent == parent && to.nodes[i].place == place) return i;
    to.nodes.push_back({parent, place, 0});
    return static_cast<std::uint32_t>(to.nodes.size() - 1);
  };
  std::uint32_t at = child(SampleNode::kThread, thread);
  for (const std::uint32_t place : stack) at = child(at, place);
  to.nodes[at].samples += samples;
  to.taken += samples;
}

const Node& node(const LoopProfile& profile, std::uint64_t address) {
  for (const Node& node : profile.nodes)
    if (node.address == address) return node;
  FAIL("no node");
  return profile.nodes.front();
}

std::uint64_t edge(const LoopProfile& profile, std::uint64_t from, std::uint64_t to) {
  for (const Edge& edge : profile.edges)
    if (profile.nodes[edge.from].address == from && profile.nodes[edge.to].address == to)
      return edge.total[0];
  return 0;
}

TEST_CASE("Sampled profile: self and total - of what is on the stacks") {
  PlacedSamples samples = process();
  add(samples, 0, {kMain}, 1);
  add(samples, 0, {kMain, kOuter}, 2);
  add(samples, 0, {kMain, kOuter, kInner}, 4);
  add(samples, 0, {kMain, kOuter, kInner, kSolve, kSweep}, 8);
  add(samples, 0, {kMain, kSolve, kSweep}, 16);
  const LoopProfile built = *sampled_profile({samples});
  CHECK(built.unit == Unit::kSamples);
  CHECK(built.total[0] == 31);
  CHECK(node(built, 0x100).total[0] == 31);
  CHECK(node(built, 0x100).self[0] == 1);
  CHECK(node(built, 0x110).total[0] == 14);
  CHECK(node(built, 0x110).self[0] == 2);
  CHECK(node(built, 0x120).total[0] == 12);
  CHECK(node(built, 0x120).self[0] == 4);
  CHECK(node(built, 0x120).depth == 2);
  CHECK(&built.nodes[node(built, 0x120).parent] == &node(built, 0x110));
  CHECK(node(built, 0x200).self[0] == 0);
  CHECK(node(built, 0x210).total[0] == 24);
  CHECK(edge(built, 0x120, 0x200) == 8);
  CHECK(edge(built, 0x100, 0x200) == 16);
  CHECK(edge(built, 0x200, 0x210) == 24);
  // What no sample has is left out.
  CHECK(built.nodes.size() == 5);
  CHECK(built.nodes[0].address == 0x100);
}

TEST_CASE("Sampled profile: recursion - counts once, places and edges") {
  PlacedSamples samples = process();
  add(samples, 0, {kMain, kSolve, kSweep, kSolve, kSweep, kSolve}, 5);
  add(samples, 0, {kMain, kSolve, kSweep}, 3);
  add(samples, 0, {kMain, kSolve, kSolve, kSolve}, 2);
  const LoopProfile built = *sampled_profile({samples});
  CHECK(node(built, 0x200).total[0] == 10);
  CHECK(node(built, 0x200).self[0] == 7);
  CHECK(node(built, 0x210).total[0] == 8);
  CHECK(node(built, 0x210).self[0] == 3);
  CHECK(edge(built, 0x200, 0x210) == 8);
  CHECK(edge(built, 0x210, 0x200) == 5);
  CHECK(edge(built, 0x200, 0x200) == 2);
}

TEST_CASE("Sampled profile: threads and processes - are added up and kept apart") {
  PlacedSamples first = process(0), second = process(1);
  add(first, 0, {kMain, kOuter}, 5);
  add(first, 7, {kMain, kOuter}, 6);
  first.threads = 2;
  add(second, 0, {kMain, kOuter, kInner}, 9);
  // Another order of places, and another file at the same address.
  std::swap(second.places[kMain], second.places[kSolve]);
  for (SampleNode& node : second.nodes)
    if (node.parent != SampleNode::kThread && node.place == kMain) node.place = kSolve;
  second.places.push_back({.function = "other", .module = "/bin/other", .address = 0x100});
  const auto other = static_cast<std::uint32_t>(second.places.size() - 1);
  add(second, 1, {other}, 4);
  const LoopProfile built = *sampled_profile({first, second});
  CHECK(built.commands.size() == 2);
  CHECK(built.sampling.threads == 3);
  CHECK(built.sampling.taken == 24);
  CHECK(built.total[0] == 24);
  const Node& outer = node(built, 0x110);
  CHECK(outer.total[0] == 20);
  REQUIRE(outer.threads.size() == 3);
  CHECK(outer.threads[1].thread == 7);
  CHECK(outer.threads[1].samples == 6);
  CHECK(outer.threads[2].process == 1);
  CHECK(outer.threads[2].samples == 9);
  std::size_t at_same_address = 0;
  for (const Node& node : built.nodes) at_same_address += node.address == 0x100 ? 1 : 0;
  CHECK(at_same_address == 2);
  second.period_ns = 1'000'000;
  CHECK(sampled_profile({first, second}).error().find("at another rate") !=
        std::string::npos);
}

TEST_CASE("Sampled profile: what was not placed - is counted by name") {
  PlacedSamples samples = process();
  add(samples, 0, {kMain, kVdso}, 3);
  add(samples, 0, {kMain}, 97);
  samples.not_followed = 2;
  samples.shortened = 1;
  samples.missed = 4;
  samples.threads_without = 1;
  const LoopProfile built = *sampled_profile({samples});
  CHECK(built.sampling.not_placed == std::map<std::string, std::uint64_t>{{"[vdso]", 3}});
  const std::string text = flat_text(built, 0);
  CHECK_THAT(text,
             Catch::Contains("100 samples, one per 10 ms of CPU time of a thread: 1.00 s"));
  CHECK_THAT(
      text, Catch::Contains("3.0 % of the samples are in no known function: [vdso] 3.0 %"));
  CHECK_THAT(text, Catch::Contains("Of 2.0 % the outer callers are unknown"));
  CHECK_THAT(text, Catch::Contains("were missed and are credited to the next one"));
  CHECK_THAT(text, Catch::Contains("1 thread could not be sampled"));
}

TEST_CASE(
    "Sampled profile: candidates - not with a parallel region in them, or around them") {
  PlacedSamples samples = process();
  add(samples, 0, {kMain, kOuter, kFork, kPart, kOfPart, kSolve}, 40);
  add(samples, 1, {kPart, kOfPart}, 10);
  add(samples, 0, {kMain, kSolve, kSweep}, 50);
  const LoopProfile built = *sampled_profile({samples});
  CHECK(node(built, 0x110).parallel_inside == 40);
  CHECK(node(built, 0x410).parallel_around == 50);
  CHECK(node(built, 0x210).parallel_inside + node(built, 0x210).parallel_around == 0);
  const std::vector<Candidate> chosen = candidates(built, 0.01);
  REQUIRE(chosen.size() == 1);
  CHECK(built.nodes[chosen[0].node].address == 0x210);
  CHECK(chosen[0].level == 0);
}

TEST_CASE("Sampled profile: printed - samples and seconds, no entries") {
  PlacedSamples samples = process();
  add(samples, 0, {kMain, kOuter, kInner}, 60);
  add(samples, 0, {kMain}, 40);
  const LoopProfile built = *sampled_profile({samples});
  const std::string text = flat_text(built, 0.01);
  CHECK_THAT(text, Catch::Contains("app.c:3 in main"));
  CHECK_THAT(text, Catch::Contains("Loops that could run in parallel"));
  CHECK_THAT(text, Catch::Contains("nearly all of it is in the loop app.c:3"));
  CHECK_THAT(text, !Catch::Contains("trip count"));
  const nlohmann::json json = nlohmann::json::parse(profile_json(built));
  CHECK(json.at("source") == "samples");
  CHECK(json.at("sampling").at("period_ns") == 10'000'000);
  CHECK(json.at("total").at("seconds") == Approx(1));
  REQUIRE(json.at("loops").size() == 2);
  const nlohmann::json& loop = json.at("loops")[0];
  CHECK(loop.at("line") == 2);
  CHECK(loop.at("total").at("samples") == 60);
  CHECK(loop.at("self").at("samples") == 0);
  CHECK(loop.at("threads")[0].at("samples") == 60);
  CHECK_FALSE(loop.contains("entries"));
  CHECK(json.at("candidates").size() == 2);
  CHECK(json.at("candidates")[0].at("line") == 2);
}

TEST_CASE("Sampled profile: no samples - is no error") {
  const LoopProfile built = *sampled_profile({process()});
  CHECK(built.nodes.empty());
  CHECK_THAT(flat_text(built, 0.01), Catch::Contains("0 samples"));
  CHECK(nlohmann::json::parse(profile_json(built)).at("loops").empty());
}

}  // namespace
}  // namespace refrain::code_profile::sampled_profile_test
