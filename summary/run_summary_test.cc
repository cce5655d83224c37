#include "summary/run_summary.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/notes.h"
#include "test/support/files.h"
#include "test/support/text_checks.h"

namespace refrain::summary::run_summary_test {
namespace {

using test::TemporaryFolder;

FlowGraph example_flow() {
  using Kind = FlowGraph::Kind;
  using Partner = FlowGraph::Partner;
  FlowGraph flow;
  flow.components = {"site", "size"};
  flow.nodes = {{.kind = Kind::kStart},
                {.kind = Kind::kCall,
                 .name = "MPI_Send",
                 .site = "a.c:12",
                 .callers = {"b.c:3", "c.c:4"},
                 .to = {Partner::Kind::kRelative, -2147483647},
                 .size_least = 64,
                 .size_greatest = ~std::uint64_t{0}},
                {.kind = Kind::kOther, .from = {Partner::Kind::kAny, 0}}};
  flow.edges = {{0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, ~std::uint64_t{0}}};
  flow.nodes_elsewhere = 3;
  flow.edges_elsewhere = 4;
  return flow;
}

RunSummary example() {
  RunSummary summary;
  summary.process = 3;
  summary.rank = 2;
  summary.host = "node1";
  summary.program = "/bin/app \"quoted\"\n";
  summary.complete = false;
  summary.ticks_per_second = 2.5e9;
  summary.begin = ~std::uint64_t{0} - 5;
  summary.end = ~std::uint64_t{0};
  summary.regions = {{7, "main", "a.c", 3, 1, 2},
                     {RunSummary::kNone, "MPI_Send", "MPI", 0, 4, 5}};
  summary.sites = {"a.c:12"};
  summary.nodes = {{RunSummary::kNone, 0, RunSummary::Kind::kFork, RunSummary::kNone},
                   {0, 1, RunSummary::Kind::kRegion, 0},
                   {0, RunSummary::kNone, RunSummary::Kind::kOther, RunSummary::kNone}};
  RunSummary::Location location;
  location.reference = std::uint64_t{1} << 32 | 1;
  location.number = 1;
  location.primary = true;
  location.sums = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {11, ~std::uint64_t{0}}, {}};
  location.outside.time_elsewhere = 5;
  location.outside.regions_elsewhere = 6;
  location.killed_in = 1;
  location.killed_since = ~std::uint64_t{0} - 2;
  location.edges = {{RunSummary::kNone, 0, 1}, {0, 1, 10}, {1, 1, 1}, {1, 2, 4}};
  location.flow = example_flow();
  summary.loops = {{2, "loop 2 @ main a.c:3"}};
  summary.counters = {{"PAPI_TOT_INS", "#"}, {"faults", "#"}};
  using Rows = IterationRows;
  location.iterations.rows = {
      {10, Rows::kNoLoop, 0, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, {1, 2}},
      {20, 0, 3, 1, {-1}, {~std::uint64_t{0}, 0}},
      {20, Rows::kSeveral, 0, 5, {}, {0, 0}}};
  location.iterations.end = ~std::uint64_t{0};
  summary.locations = {location};
  summary.locations_without = {std::uint64_t{1} << 32 | 2};
  return summary;
}

std::string error_of(const std::string& text) { return summary_from_text(text).error(); }

TEST_CASE("RunSummary: text - read back as it was") {
  CHECK(*summary_from_text(to_text(example())) == example());
  const RunSummary nothing = *summary_from_text(to_text(RunSummary{}));
  CHECK(nothing == RunSummary{});
}

TEST_CASE("RunSummary: bad flow graphs - one line that says what is wrong") {
  const std::string good = to_text(example());
  const auto error = [&](const std::string& from, const std::string& to) {
    return error_of(test::replaced(good, from, to));
  };
  CHECK(error("[[0,\"\",", "[[1,\"\",") == "the start is not the first node");
  CHECK(error("[3,\"\",", "[4,\"\",") == "a node of unknown kind");
  CHECK(error("[3,\"\",", "[0,\"\",") == "the start is not the first node");
  CHECK(error("[3,\"\",", "[3,4,") == "'name' is not a text");
  CHECK(error("[\"b.c:3\",", "[7,") == "'caller' is not a text");
  CHECK(error("[1,-2147483647]", "[1,-2147483649]") == "'partner' is not a rank");
  CHECK(error("[1,-2147483647]", "[1,0.5]") == "'partner' is not a rank");
  CHECK(error("[1,-2147483647]", "[9,0]") == "a partner of unknown kind");
  CHECK(error("[0,1,1,2,3", "[0,3,1,2,3") == "an edge leads nowhere");
  CHECK(error("[0,1,1,2,3", "[0,0,1,2,3") == "an edge leads to the start");
  CHECK(error("[0,1,1,2,3", "[0,1,1,2") == "'edge' has not 11 values");
  CHECK(error("[0,1,1,2,3", "[0,1,1,-2,3") == "'edge' is not a number");
  CHECK(error("\"nodes_elsewhere\"", "\"nodes_else\"") == "has no 'nodes_elsewhere'");
}

TEST_CASE("RunSummary: rows in the first iteration of a loop around them") {
  RunSummary summary = example();
  summary.loops.push_back({3, "loop 3 @ main a.c:5", true});
  auto& rows = summary.locations[0].iterations.rows;
  rows[1].around = rows[2].around = 1;
  rows[1].around_count = 1;
  CHECK(*summary_from_text(to_text(summary)) == summary);
  rows[1].around_count = 0;
  CHECK(*summary_from_text(to_text(summary)) == summary);
  CHECK(to_text(example()).find("around") == std::string::npos);
}

TEST_CASE("RunSummary: rows of iterations - left out where they are not wanted") {
  RunSummary without = example();
  without.locations[0].iterations = {};
  CHECK(*summary_from_text(to_text(example()), Iterations::kLeave) == without);
}

TEST_CASE("IterationRows: merged - two by two, by visit, with the same sums") {
  IterationRows rows;
  const auto add = [&](std::uint64_t begin, std::uint32_t loop, std::uint64_t first) {
    IterationRows::Row& row = rows.rows.emplace_back();
    row = {begin, loop, first, loop == IterationRows::kNoLoop ? 0u : 1u, {}, {begin}};
    row.times[0] = 10;
  };
  add(0, IterationRows::kNoLoop, 0);
  for (std::uint64_t i = 0; i < 7; ++i) add(10 + 10 * i, 0, i);
  for (std::uint64_t i = 0; i < 2; ++i) add(80 + 10 * i, 0, i);  // visited again
  rows.end = 100;
  IterationRows few = rows;
  merge_rows(few, 100);
  CHECK(few == rows);
  merge_rows(few, 6);
  REQUIRE(few.rows.size() == 6);
  std::vector<std::uint64_t> begins, counts;
  std::int64_t time = 0;
  for (const IterationRows::Row& row : few.rows) {
    begins.push_back(row.begin);
    counts.push_back(row.count);
    time += row.times[0];
  }
  CHECK(begins == std::vector<std::uint64_t>{0, 10, 30, 50, 70, 80});
  CHECK(counts == std::vector<std::uint64_t>{0, 2, 2, 2, 1, 2});
  CHECK(time == 100);
  CHECK(few.rows[1].counters == std::vector<std::uint64_t>{10 + 20});
  // What is left are the visits, and what lies between.
  merge_rows(few, 1);
  CHECK(few.rows.size() == 3);
}

TEST_CASE("RunSummary: bad rows of iterations - one line that says what is wrong") {
  const std::string good = to_text(example());
  const auto wrong = [&](const std::string& from, const std::string& to) {
    return error_of(test::replaced(good, from, to));
  };
  CHECK(wrong("\"begin\":[10,20,20]", "\"begin\":[10,30,20]") ==
        "rows are not in their order");
  CHECK(wrong("\"begin\":[10,20,20]", "\"begin\":[10,20]") ==
        "'useful' has not one value a row");
  CHECK(wrong("\"begin\":[10,20,20]", "\"begin\":true") == "'begin' is not a number");
  CHECK(wrong("\"loop\":[null,0,", "\"loop\":[null,1,") == "'loop' leads nowhere");
  CHECK(wrong("\"several\"", "\"some\"") == "'loop' is not a number");
  CHECK(wrong("\"useful\":[1,-1,0]", "\"useful\":[1,-1,18446744073709551615]") ==
        "'useful' is not a number");
  CHECK(wrong("\"useful\":[1,-1,0]", "\"useful\":[1,-1]") ==
        "'useful' has not one value a row");
  // Many rows of one loop: where it changes.
  IterationRows many;
  for (std::uint64_t i = 0; i < 40; ++i)
    many.rows.push_back({.begin = i,
                         .loop = i == 0 ? IterationRows::kNoLoop : 0,
                         .first = i,
                         .count = i == 39 ? 3u : 4u,
                         .counters = {}});
  many.end = 40;
  RunSummary of_many = example();
  for (RunSummary::Location& location : of_many.locations) {
    location.iterations = many;
    for (IterationRows::Row& row : location.iterations.rows)
      row.counters.resize(of_many.counters.size());
    location.iterations.rows[17].counters[1] = 6;
    location.iterations.rows[39].counters[1] = 7;
  }
  const std::string runs = to_text(of_many);
  CHECK(*summary_from_text(runs) == of_many);
  const std::string counts = R"("count":{"rows":[0,39],"values":[4,3]})";
  for (const char* bad : {"[1,39]", "[0,41]", "[0,39,38]", "[39,0]", "[]"})
    CHECK_FALSE(summary_from_text(test::replaced(
        runs, counts, R"("count":{"rows":)" + std::string(bad) + R"(,"values":[4,3]})")));
  const std::string second = R"({"rows":[0],"values":[2]})";
  CHECK(wrong("[[1,18446744073709551615,0]," + second + "]", "[[1,2,3]]") ==
        "'counters' are not those of the summary");
  CHECK(wrong(second, "[2,0]") == "'counters' has not one value a row");
  CHECK(wrong(second, R"({"rows":[3],"values":[2]})") == "'counters' lead nowhere");
  CHECK(wrong(second, R"({"rows":[0,1],"values":[2]})") ==
        "'values' has not one value a row");
  // Rows that follow each other say neither their begins nor where iterations go on.
  IterationRows sums;
  for (std::uint64_t i = 0; i < 40; ++i)
    sums.rows.push_back({.begin = 100 + 10 * i,
                         .loop = 0,
                         .first = i < 20 ? 2 * i : 2 * i - 40,
                         .count = 2,
                         .times = {12, -2},
                         .counters = {0, 0}});
  sums.end = 500;
  for (RunSummary::Location& location : of_many.locations) location.iterations = sums;
  const std::string following = to_text(of_many);
  CHECK(*summary_from_text(following) == of_many);
  const std::string begin = R"("begin":100)",
                    first = R"("first":{"rows":[20],"values":[0]})";
  CHECK(test::replaced(following, begin, "") != following);
  const auto not_following = [&](const std::string& from, const std::string& to) {
    return error_of(test::replaced(following, from, to));
  };
  CHECK(not_following(first, R"("first":{"rows":[40],"values":[0]})") ==
        "'first' leads nowhere");
  CHECK(not_following(first, R"("first":{"rows":[20,19],"values":[0,1]})") ==
        "'first' leads nowhere");
  CHECK(not_following(first, R"("first":[0,2])") == "'first' has not one value a row");
  CHECK(not_following(R"("rows":40)", R"("rows":99999999999)") ==
        "'useful' has not one value a row");
  CHECK(not_following(begin, R"("begin":[100,110])") == "'useful' has not one value a row");
  // As older versions have it.
  CHECK(*summary_from_text(test::replaced(good, second, "[2,0,0]")) ==
        *summary_from_text(good));
}

TEST_CASE("RunSummary: names that are no UTF-8 - replaced, not refused") {
  RunSummary summary = example();
  summary.regions.edit()[0].name =
      "a\xff\xfe"
      "b";
  const RunSummary read = *summary_from_text(to_text(summary));
  CHECK(read.regions[0].name.front() == 'a');
  CHECK(read.regions[0].name.back() == 'b');
}

TEST_CASE("RunSummary: version 2 - the names of two columns were others") {
  const std::string now = to_text(example());
  std::string before = test::replaced(now, "\"version\":7", "\"version\":2");
  for (const auto& [name, old] :
       {std::pair("\"minimum\"", "\"least\""), std::pair("\"maximum\"", "\"greatest\"")}) {
    std::size_t renamed = 0;
    for (std::size_t at; (at = before.find(name)) != std::string::npos; ++renamed)
      before.replace(at, std::string(name).size(), old);
    CHECK(renamed > 0);
  }
  CHECK(to_text(*summary_from_text(before)) == now);
  // A file has the names of its version.
  const RunSummary mixed =
      *summary_from_text(test::replaced(before, "\"version\":2", "\"version\":3"));
  CHECK(mixed.locations[0].sums[0].greatest == 0);
}

TEST_CASE("RunSummary: files - their numbers come back, and may be missing") {
  RunSummary summary = example();
  summary.files = {
      {"/scratch/checkpoint.dat",
       {.opens = 1, .writes = 3, .written_bytes = ~std::uint64_t{0}, .slowest_ns = 7}},
      {"", {.errors = 2}}};
  const std::string text = to_text(summary);
  CHECK(*summary_from_text(text) == summary);
  CHECK(summary_from_text(test::replaced(text, "\"version\":7", "\"version\":3"))->files ==
        summary.files);
  CHECK(error_of(test::replaced(text, "\"writes\":3", "\"writes\":-3")) ==
        "'writes' is not a number");
}

TEST_CASE("RunSummary: samples of memory come back, and may be missing") {
  RunSummary summary = example();
  summary.memory = {{1000, std::uint64_t{1} << 33}, {2000, 5}};
  const std::string text = to_text(summary);
  CHECK(*summary_from_text(text) == summary);
  CHECK(error_of(test::replaced(text, "[2000,5]", "[2000]")) == "'memory' has no pairs");
}

TEST_CASE("RunSummary: bad texts - one line that says what is wrong") {
  const std::string good = to_text(example());
  CHECK(error_of("") == "is not a summary");
  CHECK(error_of("[1,2]") == "is not a summary");
  CHECK(error_of("{}") == "is not a summary");
  CHECK(error_of(good.substr(0, good.size() / 2)) == "is not a summary");
  CHECK(error_of(std::string(100000, '[')) == "is not a summary");
  CHECK(error_of(test::replaced(good, "refrain summary", "other summary")) ==
        "is not a summary");
  for (const std::string version : {"1", "8"})
    CHECK(error_of(test::replaced(good, "\"version\":7", "\"version\":" + version)) ==
          "is a summary of version " + version + "; this program reads versions 2 to 7");
  CHECK(error_of(test::replaced(good, "\"process\":3", "\"process\":-3")) ==
        "'process' is not a number");
  CHECK(error_of(test::replaced(good, "[null,0,1,null]", "[0,0,1,null]")) ==
        "'parent' leads nowhere");
  CHECK(error_of(test::replaced(good, "[null,0,1,null]", "[null,9,1,null]")) ==
        "'region' leads nowhere");
  CHECK(error_of(test::replaced(good, "[null,0,1,null]", "[null,0,9,null]")) ==
        "a node of unknown kind");
  CHECK(error_of(test::replaced(good, "[1,1,1]", "[null,1,1]")) ==
        "an edge joins two levels");
  CHECK(error_of(test::replaced(good, "\"visits\":[1,", "\"visits\":[")) ==
        "'visits' has not one value a node");
  CHECK(error_of(test::replaced(good, "2500000000.0", "0")) ==
        "'ticks_per_second' is not possible");
}

TEST_CASE("RunSummary: allocations - their numbers come back, and may be missing") {
  RunSummary summary = example();
  CHECK(to_text(summary).find("allocations") == std::string::npos);
  base::MemoryCalls& calls = summary.allocations;
  calls.from_bytes = 4096;
  calls.calls = {1, 2, 3, 4, 5};
  calls.failed = 6;
  calls.high_water_bytes = ~std::uint64_t{0};
  calls.high_water_ticks = 8;
  calls.current_bytes = 9;
  calls.unknown_frees = 10;
  calls.untracked = 11;
  calls.sizes[3] = {12, 13};
  calls.small = {.calls = 14, .peak_bytes = 15};
  calls.rest = {.frees = 16};
  calls.places = {{"read_mesh(char const*)", "/src/mesh.cc", 120, "app"},
                  {"main", "", 0, "app"}};
  calls.paths = {{.frames = {0, 1},
                  .at = 1,
                  .use = {.calls = 17,
                          .bytes = 18,
                          .frees = 19,
                          .current_bytes = 20,
                          .high_water_bytes = 21,
                          .high_water_blocks = 22,
                          .peak_bytes = 23}}};
  const std::string text = to_text(summary);
  CHECK(*summary_from_text(text) == summary);
  CHECK(summary_from_text(
            test::replaced(to_text(example()), "\"version\":7", "\"version\":5"))
            ->allocations == base::MemoryCalls());
  CHECK(error_of(test::replaced(text, "\"frames\":[0,1]", "\"frames\":[0,2]")) ==
        "'frames' leads nowhere");
  CHECK(error_of(test::replaced(text, "\"at\":1", "\"at\":2")) == "'at' leads nowhere");
  CHECK(error_of(test::replaced(text, "\"failed\":6", "\"failed\":-6")) ==
        "'failed' is not a number");
}

TEST_CASE("RunSummary: files - in the order of processes, and which one is wrong") {
  const TemporaryFolder folder;
  const std::string archive = (folder / "a").string();
  CHECK(read_summaries(archive)->empty());
  RunSummary summary = example();
  for (const std::uint32_t process : {11U, 2U}) {
    summary.process = process;
    REQUIRE(write_summary(archive, summary));
  }
  const auto read = *read_summaries(archive, Iterations::kRead);
  REQUIRE(read.size() == 2);
  CHECK(read[0].process == 2);
  CHECK(read[1] == *summary_from_text(to_text([&] {
          summary.process = 11;
          return summary;
        }())));
  std::ofstream(summary_path(archive, 4)) << "nonsense";
  base::take_notes();
  CHECK(read_summaries(archive, Iterations::kRead)->size() == 2);  // what is whole
  CHECK(base::take_notes() ==
        std::vector{
            summary_path(archive, 4) +
            " is not a summary: the totals of that process are missing in what follows"});
  summary.processes = 4;
  summary.process = 2;
  REQUIRE(write_summary(archive, summary));
  CHECK(read_summaries(archive)->at(0).processes == 4);
  REQUIRE(base::take_notes().size() == 2);
  std::filesystem::remove(summary_path(archive, 4));
  CHECK(read_summaries(archive)->size() == 2);
  CHECK(base::take_notes() ==
        std::vector{archive +
                    "/summary has files of 2 of 4 processes: the totals of the others are "
                    "missing in what follows"});
  std::filesystem::create_directories(folder / "b");
  std::ofstream(folder / "b" / "summary") << "no folder";
  CHECK_FALSE(write_summary((folder / "b").string(), summary));
}

}  // namespace
}  // namespace refrain::summary::run_summary_test
