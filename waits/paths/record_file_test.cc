#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "waits/paths/records.h"

namespace refrain::waits::paths::record_file_test {
namespace {

std::string text(int number) {
  return std::string(number % 50, 'a') + std::to_string(number);
}

void check(std::size_t block) {
  RecordFile file("/nowhere/at/all", block);
  for (int i = 0; i < 5000; ++i) file.append(text(i));
  std::string_view record;
  for (int i = 5000; i-- > 0;) {
    REQUIRE(file.previous(record));
    REQUIRE(record == text(i));
  }
  CHECK(!file.previous(record));
  CHECK(file.error().empty());
  // Again, and after a part.
  for (const int count : {1, 3000, 5000}) {
    file.rewind();
    for (int i = 5000; i-- > 5000 - count;) {
      REQUIRE(file.previous(record));
      REQUIRE(record == text(i));
    }
  }
  CHECK(!file.previous(record));
}

// What has not been read yet is not lost.
void check_rewound_first(std::size_t block) {
  RecordFile file("/nowhere/at/all", block);
  file.append("first of a pair, ", "second");
  file.append(text(1));
  file.rewind();
  std::string_view record;
  REQUIRE(file.previous(record));
  CHECK(record == text(1));
  REQUIRE(file.previous(record));
  CHECK(record == "first of a pair, second");
}

}  // namespace

TEST_CASE("Record file: reads backwards what it was given, from memory") {
  check(RecordFile::kBlock);
  check_rewound_first(RecordFile::kBlock);
}

TEST_CASE("Record file: reads backwards what it was given, from a file") {
  check(4096);
  check(1);
  check_rewound_first(16);
}

TEST_CASE("Record file: a record longer than a block, and an empty one") {
  RecordFile file("", 64);
  file.append("");
  file.append(std::string(1000, 'x'));
  file.append("end");
  std::string_view record;
  REQUIRE(file.previous(record));
  CHECK(record == "end");
  REQUIRE(file.previous(record));
  CHECK(record == std::string(1000, 'x'));
  REQUIRE(file.previous(record));
  CHECK(record.empty());
  CHECK(!file.previous(record));
}

TEST_CASE("Record file: nothing to read") {
  RecordFile file("");
  std::string_view record;
  CHECK(!file.previous(record));
}

}  // namespace refrain::waits::paths::record_file_test
