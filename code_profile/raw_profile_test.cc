#include "code_profile/raw_profile.h"

#include <catch2/catch.hpp>
#include <sstream>

namespace refrain::code_profile::raw_profile_test {
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
  auto profile = read_raw_profile(in, "file");
  REQUIRE(profile);
  return *std::move(profile);
}

std::string error_of(const std::string& text) {
  std::istringstream in(text);
  return read_raw_profile(in, "file").error();
}

std::string with(const std::string& old, const std::string& now) {
  std::string text = kFile;
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), now);
}

TEST_CASE("Raw profile: a call that never returns - does not close a loop") {
  // Around the loop of kFile another one, whose last block calls something and does not come back.
  const std::string text =
      "refrain-loops 1\nprocess 1 1\ncommand a\nmodule 0 1000 2000 0 -\n"
      "function 0 1000 0 0\nfunction 1 1800 0 0\n"
      "block 0 1000 16 0 0 1 1 4 1 1 0\njump 0 1\n"
      "block 1 1010 16 0 0 0 100 5 1 0 2\njump 1 1\njump 1 2\n"
      "block 2 1020 16 0 0 1 1 4 1 1 0\ncall 2 1 0 0 1 30 4 1 0\njump 2 0\n"
      "loop 0 1 1 0 1\ntotal 0 0 0 500 100 0 200\ntrips 0 0 1 99 1\n"
      "loop 1 0 -1 0 0\ntotal 1 0 0 538 100 0 200\ntrips 1 0 2 BACKS 1\nend\n";
  const auto with_backs = [&](const char* backs) {
    std::string now = text;
    return read(now.replace(now.find("BACKS"), 5, backs));
  };
  const RawProfile closed = with_backs("1");
  CHECK(closed.loops[1].exists);
  CHECK(closed.loops[0].parent == 1);
  CHECK(closed.blocks[2].loop == 1);
  const RawProfile open = with_backs("0");
  CHECK_FALSE(open.loops[1].exists);
  CHECK(open.loops[0].exists);
  CHECK(open.loops[0].parent == kNone);
  CHECK(open.blocks[1].loop == 0);
  CHECK(open.blocks[2].loop == kNone);
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
  CHECK(error_of("hello\n") == "file:1: it is not a file of loops");
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
}  // namespace refrain::code_profile::raw_profile_test
