#include "writer/model/file_handles.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace refrain::writer::file_handles_test {
namespace {

using spool::FileOperation;

FileMoment call(std::uint64_t ticks, FileOperation operation, std::uint16_t descriptor = 3,
                std::uint16_t slot = 7) {
  return {ticks, {operation, {descriptor, slot, spool::kFileSeen}, 0}};
}

// "o" open, "w" write, "c" close, a tick each; what of it is written, with "." for what is not, after "*" if pre-created.
std::string written(const std::string& calls) {
  std::vector<std::vector<FileMoment>> locations(2);
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::vector<FileMoment>& at = locations[i % 2];
    places.emplace_back(i % 2, at.size());
    at.push_back(call(i, calls[i] == 'o'   ? FileOperation::kOpen
                         : calls[i] == 'c' ? FileOperation::kClose
                                           : FileOperation::kWrite));
  }
  const FileHandles handles(locations);
  REQUIRE(handles.handles().size() == 1);
  std::string out = handles.handles()[0].pre_created ? "*" : "";
  for (std::size_t i = 0; i < calls.size(); ++i)
    out += calls[i] == 'w' || handles.writes(places[i].first, places[i].second) ? calls[i]
                                                                                : '.';
  return out;
}

// OTF2's rule.
bool is_valid(const std::string& records) {
  bool active = records.front() == '*';
  for (const char c : records) {
    if (c == '*' || c == '.') continue;
    if (active == (c == 'o')) return false;
    active = c != 'c';
  }
  return true;
}

}  // namespace

TEST_CASE("File handles: opens and closes that fit are written") {
  CHECK(written("owwcowc") == "owwcowc");
  CHECK(written("ww") == "*ww");
  CHECK(written("wcowc") == "*wcowc");
}

TEST_CASE("File handles: what would contradict others is not written") {
  CHECK(written("owowc") == "ow.wc");  // a close is missing
  CHECK(written("owcwc") == "ow.wc");  // an open
  CHECK(written("cc") == "*.c");
  CHECK(written("oo") == "o.");
}

TEST_CASE("File handles: any calls give a valid archive") {
  std::mt19937 random(5);
  std::size_t opens = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string calls;
    for (unsigned left = 1 + random() % 12; left != 0; --left) calls += "owc"[random() % 3];
    const std::string records = written(calls);
    INFO(calls << " " << records);
    CHECK(is_valid(records));
    CHECK(std::ranges::count(records, 'w') == std::ranges::count(calls, 'w'));
    opens += static_cast<std::size_t>(std::ranges::count(records, 'o'));
  }
  CHECK(opens > 1000);
}

TEST_CASE("File handles: a handle is a descriptor of a file, by POSIX or a C stream") {
  const FileHandles handles(
      {{call(1, FileOperation::kOpen), call(2, FileOperation::kWrite),
        call(3, FileOperation::kFwrite), call(4, FileOperation::kWrite, 4),
        call(5, FileOperation::kWrite, 3, 8)}});
  CHECK(handles.handles() == std::vector<FileHandle>{{7, 3, false, false},
                                                     {7, 3, true, true},
                                                     {7, 4, false, true},
                                                     {8, 3, false, true}});
  CHECK(handles.of(call(0, FileOperation::kClose, 3, 8).call) == 3);
  CHECK(handles.of(call(0, FileOperation::kRead, 9).call) == kNoHandle);
  CHECK(handles.writes(0, 0));
  CHECK_FALSE(handles.writes(1, 0));
}

}  // namespace refrain::writer::file_handles_test
