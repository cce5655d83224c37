#include "code_profile/samples/sample_file.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "test/support/files.h"

namespace refrain::code_profile::sample_file_test {
namespace {

using nlohmann::json;
using Kind = SamplePlace::Kind;

PlacedSamples example() {
  PlacedSamples out;
  out.process = 2;
  out.command = "./app with \"words\"";
  out.period_ns = 10'000'000;
  out.taken = 12;
  out.shortened = 1;
  out.lost = 2;
  out.missed = 3;
  out.not_followed = 4;
  out.threads = 2;
  out.threads_without = 1;
  out.places = {
      {.kind = Kind::kFunction,
       .function = "main",
       .file = "/src/app.c",
       .line = 3,
       .module = "/bin/app",
       .address = 0x1000},
      {.kind = Kind::kLoop, .function = "main", .module = "/bin/app", .address = 0x1010},
      {.kind = Kind::kLoop,
       .function = "main",
       .file = "/src/app.c",
       .line = 5,
       .module = "/bin/app",
       .address = 0x1020,
       .parent = 1,
       .irreducible = true},
      {.kind = Kind::kUnknown, .function = "[vdso]"}};
  out.nodes = {{SampleNode::kThread, 0, 0}, {0, 0, 1}, {1, 1, 2}, {2, 2, 3},
               {SampleNode::kThread, 9, 0}, {4, 3, 6}};
  out.notes = {"/lib/x.so: was rebuilt since; no names from it"};
  return out;
}

std::string problem_of(const json& file) {
  const std::string text = samples_from_text(file.dump()).error();
  CHECK(text.find('\n') == std::string::npos);
  return text;
}

TEST_CASE("Sample file: written and read again - is the same") {
  CHECK(*samples_from_text(to_text(example())) == example());
  const test::TemporaryFolder folder;
  const std::string archive = folder.path().string();
  CHECK(read_sample_files(archive)->empty());
  PlacedSamples first = example();
  first.process = 10;
  REQUIRE(write_sample_file(archive, first).ok());
  REQUIRE(write_sample_file(archive, example()).ok());
  // What was begun before is replaced.
  REQUIRE(write_sample_file(archive, example()).ok());
  const std::vector<PlacedSamples> read = *read_sample_files(archive);
  REQUIRE(read.size() == 2);
  CHECK(read[0] == example());
  CHECK(read[1] == first);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(archive + "/samples")) {
    ++files;
    CHECK(entry.path().extension() == ".json");
  }
  CHECK(files == 2);
}

TEST_CASE("Sample file: names that are no UTF-8 - can be written and read") {
  PlacedSamples samples = example();
  samples.places[0].function = "f\xff\xfe";
  samples.command = "\x80";
  const PlacedSamples read = *samples_from_text(to_text(samples));
  CHECK(read.places.size() == samples.places.size());
  CHECK(read.nodes == samples.nodes);
}

TEST_CASE("Sample file: what is not possible - is refused with one line") {
  const json good = json::parse(to_text(example()));
  REQUIRE(problem_of(good).empty());
  const auto changed = [&](const char* pointer, const json& value) {
    json file = good;
    file[json::json_pointer(pointer)] = value;
    return problem_of(file);
  };
  CHECK_THAT(changed("/format", "other"), Catch::Contains("no samples"));
  CHECK_THAT(changed("/version", 2), Catch::Contains("version 2"));
  CHECK_THAT(changed("/period_ns", 0), Catch::Contains("not possible"));
  CHECK_THAT(changed("/taken", -1), Catch::Contains("not a number"));
  CHECK_THAT(changed("/taken", ~std::uint64_t{0}), Catch::Contains("too large"));
  CHECK_THAT(changed("/command", json::array()), Catch::Contains("not a text"));
  CHECK_THAT(changed("/places", 1), Catch::Contains("not a list"));
  CHECK_THAT(changed("/places/0", 1), Catch::Contains("has no"));
  CHECK_THAT(changed("/places/0/kind", "tree"), Catch::Contains("unknown kind"));
  CHECK_THAT(changed("/places/2/parent", 2), Catch::Contains("a loop in what is none"));
  CHECK_THAT(changed("/places/2/parent", 0), Catch::Contains("a loop in what is none"));
  CHECK_THAT(changed("/places/0/parent", 0), Catch::Contains("a loop in what is none"));
  CHECK_THAT(changed("/nodes/1/0", 1), Catch::Contains("comes after it"));
  CHECK_THAT(changed("/nodes/1/0", 4000000000U), Catch::Contains("comes after it"));
  CHECK_THAT(changed("/nodes/1/0", 0xffffffffU), Catch::Contains("too large"));
  CHECK_THAT(changed("/nodes/1/1", 4), Catch::Contains("without a place"));
  CHECK_THAT(changed("/nodes/1/2", 1.5), Catch::Contains("not a number"));
  CHECK_THAT(changed("/nodes/1/2", std::uint64_t{1} << 60), Catch::Contains("too many"));
  CHECK_THAT(changed("/nodes/1", json::array({1, 2})), Catch::Contains("three values"));
  for (const auto& [name, value] : good.items()) {
    json file = good;
    file.erase(name);
    INFO(name);
    CHECK_FALSE(problem_of(file).empty());
  }
  const std::string text = to_text(example());
  for (std::size_t length = 0; length + 2 < text.size(); length += 17)
    CHECK_FALSE(samples_from_text(text.substr(0, length)));
}

TEST_CASE("Sample file: in an archive - the message has the file's name") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "samples");
  std::ofstream(folder / "samples" / "process-1.json") << "{}";
  std::ofstream(folder / "samples" / "notes.txt") << "no matter";
  CHECK_THAT(read_sample_files(folder.path().string()).error(),
             Catch::Contains("process-1.json has no samples"));
}

}  // namespace
}  // namespace refrain::code_profile::sample_file_test
