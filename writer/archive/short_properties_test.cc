#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "writer/archive/properties.h"

namespace refrain::writer::short_properties_test {
namespace {

std::string value_of(const Properties& properties, const std::string& name) {
  for (const auto& [known, value] : properties)
    if (known == name) return value;
  return {};
}

std::size_t bytes_of(const Properties& properties) {
  std::size_t sum = 0;
  for (const auto& [name, value] : properties) sum += name.size() + value.size();
  return sum;
}

std::vector<LoopSummary> loops_of(std::size_t count, std::size_t names) {
  std::vector<LoopSummary> loops(count);
  for (std::size_t i = 0; i < count; ++i) {
    loops[i].id = i;
    loops[i].body_events = names;
    loops[i].total_ns = (i * 7919) % count;  // each value once
    loops[i].body.assign(names, "MPI_Wait @program.c:123");
  }
  return loops;
}

Properties with_loops(const std::vector<LoopSummary>& loops) {
  return {{"REFRAIN::VERSION", "1"}, {"REFRAIN::LOOPS", loops_json(loops)}};
}

}  // namespace

TEST_CASE("ShortProperties: short enough - unchanged") {
  const auto loops = loops_of(20, 30);
  const Properties all = with_loops(loops);
  CHECK(shortened(all, loops) == all);
}

TEST_CASE(
    "ShortProperties: loops - names of bodies are removed first, and that is reported") {
  const auto loops = loops_of(100, 500);
  const Properties some = shortened(with_loops(loops), loops);
  CHECK(bytes_of(some) <= kMaxPropertyBytes);
  CHECK(value_of(some, "REFRAIN::SHORTENED") == "REFRAIN::LOOPS");
  const auto json = nlohmann::json::parse(value_of(some, "REFRAIN::LOOPS"));
  REQUIRE(json.size() == 100);
  CHECK(json[0].at("body").size() == 8);
  CHECK(json[0].at("body_events") == 500);
}

TEST_CASE(
    "ShortProperties: thousands of loops - those that took the longest stay, in order") {
  const auto loops = loops_of(5003, 2);
  const Properties some = shortened(with_loops(loops), loops);
  CHECK(bytes_of(some) <= kMaxPropertyBytes);
  CHECK(bytes_of(some) > kMaxPropertyBytes / 2);
  const auto json = nlohmann::json::parse(value_of(some, "REFRAIN::LOOPS"));
  REQUIRE(json.size() > 100);
  std::uint64_t last = 0;
  for (const auto& loop : json) {
    CHECK(loop.at("total_ns") >= 5003 - json.size());
    CHECK((loop.at("id") > last || &loop == &json.front()));
    last = loop.at("id");
  }
}

TEST_CASE("ShortProperties: long texts - cut after whole characters") {
  std::string text;
  while (text.size() < 1'000'000) text += "\u20ac";
  const Properties all = {{"REFRAIN::COMMAND", text}, {"REFRAIN::VERSION", "1"}};
  const Properties some = shortened(all, {});
  CHECK(bytes_of(some) <= kMaxPropertyBytes);
  CHECK(value_of(some, "REFRAIN::VERSION") == "1");
  CHECK(value_of(some, "REFRAIN::SHORTENED") == "REFRAIN::COMMAND");
  const std::string command = value_of(some, "REFRAIN::COMMAND");
  REQUIRE(command.size() > 40'000);
  CHECK((command.size() - 4) % 3 == 0);
  CHECK(text.starts_with(command.substr(0, command.size() - 4)));
}

}  // namespace refrain::writer::short_properties_test
