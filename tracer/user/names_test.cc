#include "tracer/user/names.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace refrain::user::names_test {

TEST_CASE("NameTable: numbers - equal texts, and only those") {
  static NameTable table(100);  // as all are: their texts stay
  const auto first = table.number("solve", "a.c", 1);
  CHECK(first.number == 1);
  CHECK(first.is_new);
  std::string copy = "solve";
  CHECK(table.number(copy, "a.c", 1).number == 1);
  CHECK_FALSE(table.number(copy, "a.c", 1).is_new);
  copy[0] = 'S';  // the table keeps what it was
  CHECK(table.number("solve", "a.c", 1).number == 1);
  CHECK(table.number(copy, "a.c", 1).number == 2);
  CHECK(table.number("solve", "a.c", 2).number == 3);
  CHECK(table.number("solve", "b.c", 1).number == 4);
  // Where one text ends and the other begins counts.
  CHECK(table.number("ab", "c").number != table.number("a", "bc").number);
  CHECK(table.number("", "").number != 0);
  CHECK(table.number(std::string_view("\0\0", 2)).number !=
        table.number(std::string_view("\0", 1)).number);
}

TEST_CASE("NameTable: full - no number, those known stay") {
  static NameTable table(2);
  CHECK(table.number("a").number == 1);
  CHECK(table.number("b").number == 2);
  CHECK(table.number("c").number == 0);
  CHECK_FALSE(table.number("c").is_new);
  CHECK(table.number("b").number == 2);
  CHECK(table.number(std::string(2 << 20, 'x')).number == 0);
}

TEST_CASE("NameTable: threads - agree, and each name is new to one of them") {
  static NameTable table(100000);
  constexpr int kTexts = 5000;
  std::vector<std::vector<std::uint32_t>> numbers(4, std::vector<std::uint32_t>(kTexts));
  std::vector<int> fresh(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTexts; ++i) {
        const auto found = table.number("region " + std::to_string(i));
        numbers[t][static_cast<std::size_t>(i)] = found.number;
        fresh[t] += found.is_new;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(fresh[0] + fresh[1] + fresh[2] + fresh[3] == kTexts);
  for (std::size_t t = 1; t < 4; ++t) CHECK(numbers[t] == numbers[0]);
  CHECK(std::set<std::uint32_t>(numbers[0].begin(), numbers[0].end()).size() == kTexts);
}

}  // namespace refrain::user::names_test
