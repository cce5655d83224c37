#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "code_profile/samples/sample_file.h"
#include "code_profile/samples/write_samples.h"
#include "spool/sample_format.h"
#include "test/support/files.h"
#include "test/support/process.h"
#include "writer/testing/sample_builder.h"

namespace refrain::code_profile::sample_placement_test {
namespace {

using spool::kInnermost;
using Kind = SamplePlace::Kind;

// What the program says of itself.
struct Program {
  std::string path;
  std::string module;                                          // as in a journal
  std::map<std::string, std::vector<std::uint64_t>> stacks{};  // by name, as samples
};

Program program(const std::string& build) {
  Program out{.path = test::data_file("test/programs/loops/known_stacks_" + build),
              .module = {}};
  const test::Result result = test::run({.arguments = {out.path}});
  REQUIRE(result.ok());
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name >> std::hex;
    if (name == "module") {
      out.module = line.substr(7);
      continue;
    }
    std::vector<std::uint64_t> stack;
    for (std::uint64_t address = 0; words >> address;) stack.insert(stack.begin(), address);
    stack.back() |= kInnermost;
    stack.insert(stack.begin(), 0);  // the thread
    out.stacks.try_emplace(name, stack);
  }
  REQUIRE(out.stacks.size() == 5);
  return out;
}

// The line of the source with a loop's name.
std::uint32_t line_of(const std::string& loop) {
  std::istringstream in(
      test::read_file(test::data_file("test/programs/loops/known_stacks.c")));
  std::uint32_t number = 1;
  for (std::string line; std::getline(in, line); ++number)
    if (line.ends_with("// loop: " + loop)) return number;
  FAIL("no loop " << loop);
  return 0;
}

PlacedSamples placed(const spool::SampleBuilder& samples,
                     const std::vector<std::string>& modules) {
  const std::string file = samples.file();
  const auto tree = spool::read_samples(std::as_bytes(std::span<const char>(file)), "file");
  REQUIRE(tree);
  return place_samples(*tree, modules);
}

// The one stack that has samples: from main on, "main", "inner" of a loop by its name in the source.
std::vector<std::string> stack_of(const PlacedSamples& samples) {
  std::map<std::uint32_t, std::string> names;
  for (const char* loop : {"do", "helper", "descend", "outer", "inner"})
    names[line_of(loop)] = loop;
  std::vector<std::string> out;
  for (const SampleNode& node : samples.nodes) {
    if (node.samples == 0) continue;
    for (const SampleNode* at = &node; at->parent != SampleNode::kThread;
         at = &samples.nodes[at->parent]) {
      const SamplePlace& place = samples.places[at->place];
      if (place.kind == Kind::kLoop) {
        CHECK(place.file.ends_with("known_stacks.c"));
        CHECK(names.contains(place.line));
        out.insert(out.begin(), place.function + "/" + names[place.line]);
      } else {
        out.insert(out.begin(), place.function);
      }
    }
  }
  while (!out.empty() && out.front() != "main") out.erase(out.begin());
  return out;
}

TEST_CASE("Sample placement: stacks - are the functions and loops of the source") {
  const std::string build = GENERATE("gcc_o0", "clang_o1");
  INFO(build);
  const Program known = program(build);
  const auto stack = [&](const std::string& name) {
    return stack_of(
        placed(spool::SampleBuilder().add(known.stacks.at(name), 3), {known.module}));
  };
  using Names = std::vector<std::string>;
  CHECK(stack("work") == Names{"main", "main/outer", "main/inner", "work", "work/do"});
  CHECK(stack("nest") == Names{"main", "main/outer", "main/inner"});
  CHECK(stack("inlined") == Names{"main", "main/outer", "helper/helper"});
  CHECK(stack("main") == Names{"main"});
  CHECK(stack("deep") == Names{"main", "descend", "descend/descend", "descend",
                               "descend/descend", "descend", "descend/descend"});
}

TEST_CASE("Sample placement: places - are one for all stacks, and the tree is merged") {
  const Program known = program("gcc_o0");
  spool::SampleBuilder builder;
  for (const auto& [name, stack] : known.stacks) builder.add(stack, 10);
  // Another instruction of the same call chain's last loop, and another thread.
  std::vector<std::uint64_t> beside = known.stacks.at("nest");
  beside.back() -= 1;
  builder.add(beside, 5);
  std::vector<std::uint64_t> second = known.stacks.at("work");
  second.front() = 1;
  builder.add(second, 7);
  const PlacedSamples samples = placed(builder, {known.module});
  std::map<std::string, std::size_t> named;
  std::uint64_t all = 0;
  for (const SamplePlace& place : samples.places)
    if (place.kind == Kind::kLoop) ++named[std::to_string(place.line)];
  CHECK(named.size() == 5);
  for (const auto& [line, times] : named) CHECK(times == 1);
  std::uint64_t of_inner = 0;
  for (const SampleNode& node : samples.nodes) {
    all += node.samples;
    if (node.parent == SampleNode::kThread) continue;
    const SamplePlace& place = samples.places[node.place];
    if (place.kind != Kind::kLoop || place.line != line_of("inner")) continue;
    CHECK(samples.places[place.parent].line == line_of("outer"));
    of_inner += node.samples;
  }
  CHECK(all == 10 * 5 + 5 + 7);
  CHECK(of_inner == 15);
  CHECK(samples.taken == all);
  for (const SamplePlace& place : samples.places)
    if (place.kind != Kind::kUnknown) CHECK(known.module.ends_with(" - " + place.module));
}

TEST_CASE("Sample placement: code without a function - is named by what is known of it") {
  const Program known = program("gcc_o0");
  const auto name_of = [&](std::uint64_t address, const std::string& module) {
    const PlacedSamples samples =
        placed(spool::SampleBuilder().add({0, address}, 1), {known.module, module});
    REQUIRE(samples.places.size() == 1);
    CHECK(samples.places[0].kind == Kind::kUnknown);
    return samples.places[0].function;
  };
  CHECK(name_of(0x10 | kInnermost, "1000000 2000000 0 - [vdso]") == "[unknown]");
  CHECK(name_of(0x1000010 | kInnermost, "1000000 2000000 0 - [vdso]") == "[vdso]");
  CHECK(name_of(0x1000010 | kInnermost, "1000000 2000000 0 - /no/such/library.so") ==
        "[library.so]");
  CHECK(name_of(0x1000010 | kInnermost, "damaged") == "[unknown]");
  CHECK(name_of(0 | kInnermost, "damaged") == "[unknown]");
  CHECK(name_of(spool::kUnknownCaller, "damaged") == "[callers unknown]");
  CHECK(name_of(spool::kDeeper, "damaged") == "[deeper callers]");
  CHECK(name_of(~std::uint64_t{0}, "damaged") == "[unknown]");
}

TEST_CASE("Write samples: from the spool into the archive - nothing, or one line") {
  const Program known = program("gcc_o0");
  const test::TemporaryFolder folder;
  const std::string spool = folder.path().string(), archive = folder / "archive";
  CHECK_FALSE(*write_samples(spool, {known.module}, "./app 1", archive, 3));
  CHECK_FALSE(std::filesystem::exists(archive));
  spool::SampleBuilder().add(known.stacks.at("work"), 4).write(spool + "/samples");
  REQUIRE(*write_samples(spool, {known.module}, "./app 1", archive, 3));
  const std::vector<PlacedSamples> read = *read_sample_files(archive);
  REQUIRE(read.size() == 1);
  CHECK(read[0].process == 3);
  CHECK(read[0].command == "./app 1");
  CHECK(stack_of(read[0]).size() == 5);
  CHECK(std::filesystem::exists(archive + "/samples/process-3.json"));
  std::filesystem::resize_file(spool + "/samples", 4200);
  const std::string problem = write_samples(spool, {known.module}, "", archive, 4).error();
  CHECK_THAT(problem, Catch::Contains("cut off"));
  CHECK(problem.find('\n') == std::string::npos);
  // The directory of the archive is a file.
  std::filesystem::resize_file(spool + "/samples", 0);
  spool::SampleBuilder().add({0, 1}, 1).write(spool + "/samples");
  CHECK(write_samples(spool, {}, "", spool + "/samples", 0).error() != "");
}

}  // namespace
}  // namespace refrain::code_profile::sample_placement_test
