#include "cube/algebra.h"

#include <bit>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "cube/cubex_file.h"
#include "cube/cubex_reader.h"
#include "test/support/files.h"

namespace refrain::cube::algebra_test {
namespace {

using test::TemporaryFolder;

// A naive form: exclusive values by metric, call path in words, rank and thread.
using Naive =
    std::map<std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>, double>;

std::string words(const Experiment& from, std::uint32_t path) {
  std::string text;
  for (; path != kNone; path = from.paths[path].parent)
    text = from.regions[from.paths[path].region].name + "/" + text;
  return text;
}

Naive naive(const Experiment& from) {
  Naive out;
  for (std::uint32_t metric = 0; metric < from.values.size(); ++metric)
    for (std::uint32_t path = 0; path < from.values[metric].size(); ++path)
      for (std::uint32_t at = 0; at < from.values[metric][path].size(); ++at) {
        const std::uint64_t bits = from.values[metric][path][at];
        const double value = from.metrics[metric].is_count() ? static_cast<double>(bits)
                                                             : std::bit_cast<double>(bits);
        const Location& location = from.locations[at];
        const auto key = [&](std::uint32_t of) {
          return std::tuple(from.metrics[metric].name, words(from, of),
                            from.processes[location.process].rank, location.number);
        };
        out[key(path)] += value;
        if (from.metrics[metric].inclusive && from.paths[path].parent != kNone)
          out[key(from.paths[path].parent)] -= value;
      }
  return out;
}

void check_same(const Naive& found, const Naive& expected) {
  for (const auto* table : {&found, &expected})
    for (const auto& [key, value] : *table) {
      const auto at = [&](const Naive& in) {
        const auto entry = in.find(key);
        return entry == in.end() ? 0.0 : entry->second;
      };
      INFO(std::get<0>(key) << " at " << std::get<1>(key) << " of " << std::get<2>(key)
                            << "." << std::get<3>(key));
      CHECK(at(found) == Approx(at(expected)).margin(1e-9));
    }
}

// Drawn at random, with a part of all metrics, regions, paths and locations that there could be.
Experiment drawn(std::uint32_t seed, bool inclusive_time) {
  std::mt19937 random(seed);
  Experiment out;
  out.creator = "drawn";
  out.machine = "machine";
  out.nodes = {"a", "b"};
  for (const char* name : {"visits", "time", "mpi", "other"}) {
    if (out.metrics.size() > 1 && random() % 3 == 0) continue;
    const bool count = std::string(name) == "visits";
    out.metrics.push_back({.name = name,
                           .title = name,
                           .unit = "sec",
                           .description = "",
                           .type = count ? Metric::Type::kCount : Metric::Type::kSeconds,
                           .inclusive = std::string(name) == "time" && inclusive_time});
  }
  for (const char* name : {"main", "solve", "MPI_Send", "MPI_Recv", "work"})
    if (out.regions.empty() || random() % 4 != 0)
      out.regions.push_back({.name = name,
                             .canonical = name,
                             .file = "p.c",
                             .line = 3,
                             .paradigm = "user",
                             .role = "function"});
  out.paths.push_back({kNone, 0});
  for (std::uint32_t parent = 0; parent < 6 && parent < out.paths.size(); ++parent)
    for (std::uint32_t region = 1; region < out.regions.size(); ++region)
      if (random() % 2 == 0) out.paths.push_back({parent, region});
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    if (rank != 0 && random() % 3 == 0) continue;
    const auto process = static_cast<std::uint32_t>(out.processes.size());
    out.processes.push_back({"rank " + std::to_string(rank), rank, rank % 2});
    for (std::uint32_t thread = 0; thread < 1 + random() % 2; ++thread)
      out.locations.push_back({"thread", thread, process});
  }
  for (std::uint32_t metric = 0; metric < out.metrics.size(); ++metric)
    for (PathId path; path < out.paths.size(); ++path)
      for (LocationId at; at < out.locations.size(); ++at) {
        if (random() % 3 == 0) continue;
        if (out.metrics[metric].is_count())
          out.add(metric, path, at, std::uint64_t{1 + random() % 9});
        else
          out.add(metric, path, at, static_cast<double>(1 + random() % 100) / 8);
      }
  return out;
}

Naive by_hand(Operation operation, const std::vector<Naive>& of) {
  Naive out;
  for (const Naive& each : of)
    for (const auto& [key, ignored] : each) out[key] = 0;
  for (auto& [key, value] : out) {
    std::vector<double> values;
    for (const Naive& each : of) {
      const auto found = each.find(key);
      values.push_back(found == each.end() ? 0 : found->second);
    }
    switch (operation) {
      case Operation::kDifference:
        value = values[0] - values[1];
        break;
      case Operation::kMean:
        for (const double each : values) value += each / static_cast<double>(values.size());
        break;
      case Operation::kLeast:
        value = *std::ranges::min_element(values);
        break;
      case Operation::kGreatest:
        value = *std::ranges::max_element(values);
        break;
      case Operation::kMerge:
        for (std::size_t i = 0; i < of.size(); ++i)
          for (const auto& [other, ignored] : of[i])
            if (std::get<0>(other) == std::get<0>(key)) value = values[i];
        break;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("Algebra: as a naive reference, of experiments that have different parts") {
  for (std::uint32_t seed = 0; seed < 25; ++seed) {
    CAPTURE(seed);
    const std::vector<Experiment> two = {drawn(3 * seed, false),
                                         drawn(3 * seed + 1, false)};
    const std::vector<Experiment> three = {two[0], two[1], drawn(3 * seed + 2, false)};
    check_same(naive(combine(Operation::kDifference, two)),
               by_hand(Operation::kDifference, {naive(two[0]), naive(two[1])}));
    for (const Operation operation :
         {Operation::kMean, Operation::kLeast, Operation::kGreatest, Operation::kMerge}) {
      CAPTURE(static_cast<int>(operation));
      check_same(naive(combine(operation, three)),
                 by_hand(operation, {naive(three[0]), naive(three[1]), naive(three[2])}));
    }
  }
}

TEST_CASE("Algebra: inclusive and exclusive values of a metric belong together") {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const std::vector<Experiment> two = {drawn(seed, true), drawn(seed + 50, false)};
    const Experiment result = combine(Operation::kMean, two);
    CHECK(result.metrics[1].inclusive);
    check_same(naive(result), by_hand(Operation::kMean, {naive(two[0]), naive(two[1])}));
  }
}

TEST_CASE("Algebra: diff(a, a) is 0, mean(a, a) is a") {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Experiment a = drawn(seed, seed % 2 == 0);
    const std::vector<Experiment> twice = {a, a};
    for (const double total : totals_of(combine(Operation::kDifference, twice)))
      CHECK(total == 0);
    check_same(naive(combine(Operation::kMean, twice)), naive(a));
    check_same(naive(combine(Operation::kMerge, twice)), naive(a));
    CHECK(combine(Operation::kMean, twice).paths.size() == a.paths.size());
  }
}

TEST_CASE("Algebra: regions whose line has changed are the same in their order") {
  Experiment a = drawn(1, false);
  a.regions = {{.name = "main",
                .canonical = "",
                .file = "p.c",
                .line = 3,
                .paradigm = "",
                .role = ""},
               {.name = "MPI_Send",
                .canonical = "",
                .file = "p.c",
                .line = 10,
                .paradigm = "",
                .role = ""},
               {.name = "MPI_Send",
                .canonical = "",
                .file = "p.c",
                .line = 20,
                .paradigm = "",
                .role = ""}};
  a.paths = {{kNone, 0}, {0, 1}, {0, 2}};
  a.values.clear();
  a.add(0, PathId(1), LocationId(0), std::uint64_t{5});
  a.add(0, PathId(2), LocationId(0), std::uint64_t{7});
  Experiment b = a;
  b.regions[1].line = 12;
  b.regions[2].line = 22;
  const Experiment result = combine(Operation::kDifference, std::vector<Experiment>{a, b});
  CHECK(result.paths.size() == 3);
  for (const Experiment::Row& row : result.values[0])
    for (const std::uint64_t bits : row) CHECK(std::bit_cast<double>(bits) == 0);
}

TEST_CASE("Reader of cubex files: what was written comes back") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Experiment from = drawn(seed, seed % 2 == 0);
    const std::string file = folder / "a.cubex";
    REQUIRE(write_cubex(from, file).ok());
    const ReadExperiment read = *read_cubex(file);
    CHECK(read.notes.empty());
    CHECK(read.experiment.paths.size() == from.paths.size());
    CHECK(read.experiment.locations.size() == from.locations.size());
    check_same(naive(read.experiment), naive(from));
  }
}

TEST_CASE("Reader of cubex files: headers with wrong checksums, a block more - are read") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  const std::string file = folder / "a.cubex";
  const Experiment from = drawn(3, true);
  REQUIRE(write_cubex(from, file).ok());
  std::string text = test::read_file(file);
  // As Cube 4.8 writes them.
  std::size_t headers = 0;
  for (std::size_t at = 0; at < text.size(); at += 512)
    if (text.compare(at + 257, 5, "ustar") == 0) {
      text.replace(at + 148, 6, "000001");
      ++headers;
    }
  CHECK(headers > 2);
  text.insert(text.find("1.index"), 512, '\0');
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  const auto read = read_cubex(file);
  INFO(read.error());
  REQUIRE(read);
  check_same(naive(read->experiment), naive(from));
}

TEST_CASE("Reader of cubex files: damaged ones are refused in one line, or read") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  const std::string file = folder / "a.cubex";
  REQUIRE(write_cubex(drawn(2, true), file).ok());
  std::string whole;
  {
    std::ifstream in(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = whole;
    if (round % 4 == 0) text.resize(random() % text.size());
    for (int i = 0; i < 3 && !text.empty(); ++i)
      text[random() % text.size()] = static_cast<char>(random());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
    const auto read = read_cubex(file);
    CHECK(read.error().find('\n') == std::string::npos);
    refused += read ? 0 : 1;
    if (read) combine(Operation::kMean, std::vector<Experiment>{read->experiment});
  }
  CHECK(refused > 50);
  CHECK(read_cubex(folder / "none.cubex").error().ends_with("no such file"));
}

}  // namespace refrain::cube::algebra_test
