#include "loops/profile/raw_profile.h"

#include <catch2/catch.hpp>
#include <sstream>

namespace refrain::loops {
namespace {

const char* const kFile =
    "refrain-loops 1\n"
    "process 12 3\n"
    "command ./app 7\n"
    "module 0 1000 2000 0 -\n"
    "function 0 1000 0 0\n"
    "called 0 0 1 900 10 5 0\n"
    "block 0 1000 16 0 0 -1 1 4 1 1 0\n"
    "call 0 0 0 0 2 30 4 1 0\n"
    "block 1 1010 16 0 0 0 100 5 1 0 2\n"
    "jump 1 1\n"
    "loop 0 1 -1 0 1\n"
    "total 0 0 3 500 100 0 200\n"
    "trips 0 0 1 99 1\n"
    "end\n";

RawProfile read(const std::string& text) {
  std::istringstream in(text);
  return read_raw_profile(in, "file");
}

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return {};
}

std::string with(const std::string& old, const std::string& now) {
  std::string text = kFile;
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), now);
}

TEST_CASE("Raw profile: a file - is read as it was written") {
  const RawProfile raw = read(kFile);
  CHECK(raw.process == 12);
  CHECK(raw.command == "./app 7");
  REQUIRE(raw.blocks.size() == 2);
  CHECK(raw.blocks[1].runs == 100);
  CHECK(raw.blocks[1].of_one_run == Counts{5, 1, 0, 2});
  REQUIRE(raw.blocks[0].edges.size() == 1);
  CHECK(raw.blocks[0].edges[0].calls.calls == 2);
  REQUIRE(raw.loops.size() == 1);
  CHECK(raw.loops[0].latches == std::vector<std::uint32_t>{1});
  CHECK(raw.loops[0].counts[0].inherited == 3);
  CHECK(raw.loops[0].counts[0].trips[0].backs == 99);
}

TEST_CASE("Raw profile: damaged - one line says where and what") {
  CHECK(error_of("") == "file:1: the file ends too early: the process was killed");
  CHECK(error_of("hello\n") == "file:1: it is no file of loops");
  CHECK(error_of("refrain-loops 2\nend\n") ==
        "file:1: the file is of another version of Refrain");
  CHECK(error_of(with("end\n", "")) ==
        "file:14: the file ends too early: the process was killed");
  const std::pair<const char*, const char*> changes[] = {
      {"function 0 1000 0", "function 0 1000 9"},  // no such module
      {"function 0 1000 0", "function 5 1000 0"},  // lines are missing
      {"call 0 0", "call 0 8"},                    // no such function
      {"call 0 0", "call 7 0"},                    // no such block
      {"block 1 1010 16 0 0 0", "block 1 1010 16 0 0 4"},
      {"block 1 1010 16", "block 1 1010 99999999"},
      {"jump 1 1", "jump 1 2"},
      {"loop 0 1 -1", "loop 0 6 -1"},
      {"loop 0 1 -1", "loop 0 1 0"},  // in itself
      {"loop 0 1 -1", "loop 0 1 3"},
      {"loop 0 1 -1", "loop 99999999999 1 -1"},
      {"trips 0 0 1", "trips 0 0 77"},
      {"trips 0 0 1", "trips 0 5 1"},
      {"trips 0 0 1 99 1", "trips 0 0 1 99 x"},
      {"trips 0 0 1 99 1", "trips 0 0 1 99 -1"},
      {"module 0 1000 2000", "module 0 2000 1000"},
      {"process 12 3", "process 12"},
      {"total 0", "tutal 0"},
  };
  for (const auto& [old, now] : changes) {
    INFO(now);
    const std::string error = error_of(with(old, now));
    CHECK(error.starts_with("file:"));
    CHECK(error.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace refrain::loops
