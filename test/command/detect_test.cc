// `refrain detect`: every field compared with counts made by hand, every wrong input.
#include <zlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test/support/files.h"
#include "test/support/process.h"

namespace refrain::test::detect_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Result detect(Words arguments) {
  arguments.insert(arguments.begin(), {data_file("tools/refrain").string(), "detect"});
  return run({.arguments = std::move(arguments)});
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void write_gzip(const std::string& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

// "7 (1 2)*3" as a stream: the part in brackets is repeated.
std::string lines(const std::string& pattern) {
  std::istringstream in(pattern);
  std::string text;
  for (std::string word; in >> word;) {
    if (word[0] != '(') {
      text += word + "\n";
      continue;
    }
    std::string body = word.substr(1);
    while (body.find(')') == std::string::npos && in >> word) body += "\n" + word;
    const auto end = body.find(")*");
    for (int times = std::stoi(body.substr(end + 2)); times != 0; --times)
      text += body.substr(0, end) + "\n";
  }
  return text;
}

Json only_object(const Result& result) {
  INFO(result.errors);
  REQUIRE(result.ok());
  CHECK(result.errors == "");
  REQUIRE(std::count(result.output.begin(), result.output.end(), '\n') == 1);
  return Json::parse(result.output);
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void check_wrong(const Words& arguments, const std::string& part) {
  const Result result = detect(arguments);
  INFO(result.errors);
  CHECK(result.exit_status == 2);
  CHECK(result.output == "");
  CHECK(result.errors.rfind("refrain: ", 0) == 0);
  CHECK(line_count(result.errors) == 1);
  CHECK(result.errors.find(part) != std::string::npos);
}

}  // namespace

// Three events, 20 iterations of three, one more: with limit 3, writing stops at 3 + 3 · 3
// = 12; the break at 63 lies between iterations, so it goes on with the last, from 60.
TEST_CASE("Detect: JSON - one loop, counted by hand, for all detectors") {
  TemporaryFolder folder;
  const std::string file = (folder / "stream.txt").string();
  write_file(file, lines("7 8 9 (1 2 3)*20 5"));
  for (const std::string detector : {"nested", "exact", "matrix"}) {
    const Json found = only_object(detect({"--json", "--detector", detector, "--limit", "3",
                                           "--window", "4", "--max-period", "4", file}));
    INFO(found.dump(1));
    CHECK(found["file"] == file);
    CHECK(found["detector"] == detector);
    CHECK(found["events"] == 64);
    CHECK(found["distinct"] == 7);
    CHECK(found["skipped"] == 48);
    CHECK(found["skipped_fraction"].get<double>() == 48.0 / 64);
    CHECK(found["gaps"] == 1);
    CHECK(found["structure"] == "7; 8; 9; 20 × [ 1; 2; 3 ]; 5");
    CHECK(found["ns_per_event"].get<double>() > 0);
    CHECK(found["max_push_ns"].get<double>() >= found["ns_per_event"].get<double>());
    REQUIRE(found["loops"].size() == 1);
    const Json& loop = found["loops"][0];
    CHECK(loop["id"] == 1);
    CHECK(loop["parent"].is_null());
    CHECK(loop["level"] == 0);
    CHECK(loop["body_events"] == 3);
    CHECK(loop["visits"] == 1);
    CHECK(loop["iterations"] == 20);
    CHECK(loop["written"] == 4);  // three and the last
    CHECK(loop["first_event"] == 3);
    CHECK(loop.size() == 8);
    CHECK(found.size() == 11);
  }
}

TEST_CASE("Detect: JSON - the end of the stream is no break") {
  TemporaryFolder folder;
  const std::string file = (folder / "stream.txt").string();
  write_file(file, lines("7 8 9 (1 2 3)*20"));
  for (const std::string detector : {"nested", "exact", "matrix"}) {
    const Json found = only_object(detect({"--json", "--detector", detector, "-n", "3",
                                           "--window", "4", "--max-period", "4", file}));
    CHECK(found["skipped"] == 63 - 12);
    CHECK(found["gaps"] == 1);
    CHECK(found["loops"][0]["iterations"] == 20);
    CHECK(found["loops"][0]["written"] == 3);
  }
}

// 40 outer iterations of 1 + 25 · 2 + 1 = 52 events after a prologue of one. Limit 2.
// each: until the outer loop is detected, in its second iteration at the earliest, the inner
// one is alone, and its last iteration in outer iteration 0 is written as for a break:
// 6 … 50 is skipped. In outer iteration 1, it is 58 … 102, or … 104 if the outer loop is known
// by then. The third outer iteration begins at 105, and the break at 2081 lies between two
// iterations, so it goes on with the last, from 1 + 39 · 52 = 2029.
// once: the same, but in outer iteration 1 the inner loop is skipped from its start, 54, and
// in the last one, which has 25 · 2 = 50 events of it.
TEST_CASE("Detect: JSON - a loop in a loop, each and once") {
  TemporaryFolder folder;
  const std::string file = (folder / "stream.txt").string();
  std::string text = "0\n";
  for (int k = 0; k < 40; ++k) text += lines("1 (2 3)*25 4");
  write_file(file, text + "9\n");
  for (const std::string nested : {"each", "once"}) {
    const Json found =
        only_object(detect({"--json", "--limit", "2", "--nested", nested, file}));
    INFO(found.dump(1));
    CHECK(found["events"] == 1 + 40 * 52 + 1);
    CHECK(found["distinct"] == 6);
    CHECK(found["structure"] == "0; 40 × [ 1; 25 × [ 2; 3 ]; 4 ]; 9");
    REQUIRE(found["loops"].size() == 2);
    const bool first_is_inner = found["loops"][0]["level"] == 1;
    const Json& inner = found["loops"][first_is_inner ? 0 : 1];
    const Json& outer = found["loops"][first_is_inner ? 1 : 0];
    CHECK(inner["parent"] == outer["id"]);
    CHECK(inner["level"] == 1);
    CHECK(inner["body_events"] == 2);
    CHECK(inner["visits"] == 40);
    CHECK(inner["iterations"] == 1000);
    CHECK(inner["first_event"] == 2);
    CHECK(outer["parent"].is_null());
    CHECK(outer["level"] == 0);
    CHECK(outer["body_events"] == 52);
    CHECK(outer["visits"] == 1);
    CHECK(outer["iterations"] == 40);
    CHECK(outer["first_event"] == 1);
    CHECK(outer["written"] == 3);  // two and the last
    const int second_from = nested == "each" ? 58 : 54;
    const int last = nested == "each" ? 0 : 50;
    const int until =
        found["skipped"] == (50 - 6) + (104 - second_from) + (2029 - 105) + last ? 104
                                                                                 : 102;
    CHECK(found["skipped"] == (50 - 6) + (until - second_from) + (2029 - 105) + last);
    CHECK(found["gaps"] == (nested == "each" ? 3 : 4));
    // Of the inner one: 2 and 1, then 2 or none and 1 or none, then 25 or none.
    const int second = (nested == "each" ? 2 : 0) + (until == 102 ? 1 : 0);
    CHECK(inner["written"] == 3 + second + (nested == "each" ? 25 : 0));
  }
}

TEST_CASE("Detect: limit - 0 skips nothing") {
  TemporaryFolder folder;
  const std::string file = (folder / "stream.txt").string();
  write_file(file, lines("(1 2 3)*50"));
  const Json found = only_object(detect({"--json", "--limit", "0", file}));
  CHECK(found["skipped"] == 0);
  CHECK(found["skipped_fraction"] == 0.0);
  CHECK(found["gaps"] == 0);
  CHECK(found["loops"][0]["written"] == 50);
}

TEST_CASE("Detect: window - a body longer than the longest period is not detected") {
  TemporaryFolder folder;
  const std::string file = (folder / "stream.txt").string();
  write_file(file, lines("(1 2 3 4 5)*50"));
  const Words flat{"--json", "--detector", "exact", "--max-period"};
  const auto with = [&](const std::string& period, Words more) {
    more.insert(more.begin(), flat.begin(), flat.end());
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(flat.size()), period);
    more.push_back(file);
    return only_object(detect(more));
  };
  CHECK(with("4", {})["loops"].empty());
  CHECK(with("4", {"--window", "10"})["loops"].empty());
  CHECK(with("5", {"--window", "10"})["loops"].size() == 1);
  CHECK(with("5", {"--window", "300"})["loops"].empty());  // never repeats so long
}

TEST_CASE("Detect: input - plain, packed and from standard input are the same") {
  TemporaryFolder folder;
  const std::string text = lines("-4 0x10 (-1 2 3)*30 12");
  write_file((folder / "plain").string(), text);
  write_gzip((folder / "packed.gz").string(), text);
  const auto same = [](Json found) {
    for (const char* field : {"file", "ns_per_event", "max_push_ns"}) found.erase(field);
    return found;
  };
  const Json plain = only_object(detect({"--json", (folder / "plain").string()}));
  CHECK(plain["structure"] == "-4; 16; 30 × [ -1; 2; 3 ]; 12");
  CHECK(same(only_object(detect({"--json", (folder / "packed.gz").string()}))) ==
        same(plain));
  for (const char* name : {"plain", "packed.gz"}) {
    const Json piped = only_object(run(
        {.arguments = {"sh", "-c", "exec \"$0\" detect --json - < \"$1\"",
                       data_file("tools/refrain").string(), (folder / name).string()}}));
    CHECK(piped["file"] == "-");
    CHECK(same(piped) == same(plain));
  }
}

TEST_CASE("Detect: text - the same in words") {
  TemporaryFolder folder;
  const std::string file = (folder / "stream.txt").string();
  write_file(file, lines("7 8 9 (1 2 3)*20 5"));
  const Result result = detect({"--limit", "3", file, file});
  REQUIRE(result.ok());
  CHECK(result.errors == "");
  for (const std::string& part :
       {"Stream     " + file, std::string("Events     64, 7 distinct"),
        std::string("48 events (75.00 %), 1 gap\n"), std::string("ns an event"),
        std::string("Structure  7; 8; 9; 20 × [ 1; 2; 3 ]; 5\n")}) {
    INFO(part);
    CHECK(result.output.find(part) != std::string::npos);
  }
  CHECK(result.output.find("\n\nStream") != std::string::npos);  // the second one
}

TEST_CASE("Detect: wrong input - one line, exit status 2") {
  TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  write_file(path("word"), "1\n2\nthree\n");
  write_file(path("real"), "1.5\n");
  write_file(path("huge"), "99999999999999999999999\n");
  write_file(path("blank"), "1\n\n2\n");
  write_file(path("nothing"), "");
  std::string long_stream;
  for (int k = 0; k < 20000; ++k) long_stream += std::to_string(k * k) + "\n";
  write_gzip(path("whole.gz"), long_stream);
  const std::string packed = read_file(path("whole.gz"));
  write_file(path("cut.gz"), packed.substr(0, packed.size() / 2));
  write_file(path("no-end.gz"), packed.substr(0, packed.size() - 4));
  std::string damaged = packed;
  damaged[packed.size() - 6] ^= 1;  // the check sum
  write_file(path("damaged.gz"), damaged);
  write_gzip(path("empty.gz"), "");
  check_wrong({path("word")}, "line 3: 'three' is not an integer");
  check_wrong({path("real")}, "line 1: '1.5' is not an integer");
  check_wrong({path("huge")}, "64 bits");
  check_wrong({path("blank")}, "line 2");
  check_wrong({path("nothing")}, "is empty");
  check_wrong({path("empty.gz")}, "is empty");
  check_wrong({path("cut.gz")}, "is cut short");
  check_wrong({path("no-end.gz")}, "is cut short");
  check_wrong({path("damaged.gz")}, "is damaged");
  check_wrong({path("none")}, "No such file");
  check_wrong({folder.path().string()}, "is a directory");
}

TEST_CASE("Detect: wrong input - the other files are still read") {
  TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  write_file(path("first"), lines("(1 2)*30"));
  write_file(path("bad"), "1\nx\n");
  write_file(path("last"), lines("(1 2 3)*30"));
  const Result result =
      detect({"--json", path("first"), path("bad"), path("none"), path("last")});
  CHECK(result.exit_status == 2);
  CHECK(line_count(result.errors) == 2);
  CHECK(result.errors.find(path("bad") + "' line 2") != std::string::npos);
  REQUIRE(line_count(result.output) == 2);
  std::istringstream out(result.output);
  std::string line;
  std::getline(out, line);
  CHECK(Json::parse(line)["events"] == 60);
  std::getline(out, line);
  CHECK(Json::parse(line)["events"] == 90);
}

TEST_CASE("Detect: wrong use - one line, exit status 2") {
  TemporaryFolder folder;
  const std::string file = (folder / "stream.txt").string();
  write_file(file, lines("(1 2)*30"));
  check_wrong({}, "files");
  check_wrong({"--detector", "magic", file}, "magic");
  check_wrong({"--nested", "never", file}, "never");
  check_wrong({"--limit", "many", file}, "many");
  check_wrong({"--limit", "-1", file}, "-1");
  check_wrong({"--window", "0", file}, "'0'");
  check_wrong({"--max-period", "x", file}, "'x'");
  check_wrong({"--window", "4", "--max-period", "8", file}, "8");
  check_wrong({"--no-such-option", file}, "--no-such-option");
}

TEST_CASE("Detect: help - lists every option") {
  const Result help =
      run({.arguments = {data_file("tools/refrain").string(), "help", "detect"}});
  CHECK(help.ok());
  for (const char* option :
       {"--detector", "--limit", "--window", "--max-period", "--nested", "--json"})
    CHECK(help.output.find(option) != std::string::npos);
}

}  // namespace refrain::test::detect_test
