#include "filters/region_filter.h"

#include <catch2/catch.hpp>

namespace refrain::filters::region_filter_test {
namespace {

RegionFilter parsed(std::string_view text) {
  RegionFilter filter;
  const auto done = filter.parse(text);
  INFO(done.error());
  REQUIRE(done.ok());
  return filter;
}

std::string problem_of(std::string_view text) {
  RegionFilter filter;
  const auto done = filter.parse(text);
  CHECK(filter.empty());
  return done.error();
}

TEST_CASE("Glob: patterns - wildcards, sets and escapes") {
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("a*c", "abbbc"));
  CHECK(glob_matches("a*b*c", "a/b/b c"));
  CHECK_FALSE(glob_matches("a*c", "abcd"));
  CHECK(glob_matches("f?o", "foo"));
  CHECK_FALSE(glob_matches("f?o", "fo"));
  CHECK(glob_matches("t[0-9]", "t7"));
  CHECK_FALSE(glob_matches("t[!0-9]", "t7"));
  CHECK(glob_matches("t[^0-9]", "tx"));
  CHECK(glob_matches("[]x]", "]"));
  CHECK(glob_matches("a\\*b", "a*b"));
  CHECK_FALSE(glob_matches("a\\*b", "axb"));
  CHECK(glob_matches("a[", "a["));
  CHECK(glob_matches("\\!$omp\\ for*", "!$omp for @a.c:3"));
  CHECK_FALSE(glob_matches("", "x"));
}

TEST_CASE("Glob: cost - many stars do not explode") {
  const std::string text(200, 'a');
  CHECK_FALSE(glob_matches("a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

TEST_CASE("RegionFilter: rules - the last that matches decides") {
  const RegionFilter filter = parsed(
      "SCOREP_REGION_NAMES_BEGIN\n"
      "  EXCLUDE *\n"
      "  INCLUDE main solve*   # two patterns\n"
      "  EXCLUDE solve_tiny\n"
      "SCOREP_REGION_NAMES_END\n");
  CHECK_FALSE(filter.excludes("main", "main", "a.c"));
  CHECK_FALSE(filter.excludes("solve_big", "", "a.c"));
  CHECK(filter.excludes("solve_tiny", "", "a.c"));
  CHECK(filter.excludes("other", "", "a.c"));
}

TEST_CASE("RegionFilter: files - the regions of an excluded file are excluded") {
  const RegionFilter filter = parsed(
      "SCOREP_FILE_NAMES_BEGIN EXCLUDE */lib/* INCLUDE */lib/keep.c\n"
      "SCOREP_FILE_NAMES_END\n"
      "SCOREP_REGION_NAMES_BEGIN INCLUDE * SCOREP_REGION_NAMES_END");
  CHECK(filter.excludes("f", "f", "/x/lib/a.c"));
  CHECK_FALSE(filter.excludes("f", "f", "/x/lib/keep.c"));
  CHECK_FALSE(filter.excludes("f", "f", "/x/a.c"));
}

TEST_CASE("RegionFilter: mangled - applies to the rest of its rule only") {
  const RegionFilter filter = parsed(
      "SCOREP_REGION_NAMES_BEGIN\n"
      "EXCLUDE MANGLED _ZN3foo* _ZN3bar*\n"
      "EXCLUDE plain\n"
      "SCOREP_REGION_NAMES_END\n");
  CHECK(filter.excludes("foo::f()", "_ZN3foo1fEv", ""));
  CHECK(filter.excludes("bar::f()", "_ZN3bar1fEv", ""));
  CHECK_FALSE(filter.excludes("_ZN3foo1fEv", "x", ""));
  CHECK(filter.excludes("plain", "x", ""));
}

TEST_CASE("RegionFilter: text - continuation, escapes, comments, CRLF") {
  const RegionFilter filter = parsed(
      "# a comment\r\n"
      "SCOREP_REGION_NAMES_BEGIN\r\n"
      "EXCLUDE one \\\r\n"
      "  two\\ words hash\\#tag#comment\r\n"
      "SCOREP_REGION_NAMES_END");
  CHECK(filter.excludes("one", "", ""));
  CHECK(filter.excludes("two words", "", ""));
  CHECK(filter.excludes("hash#tag", "", ""));
  CHECK_FALSE(filter.excludes("comment", "", ""));
  CHECK(parsed("").empty());
}

TEST_CASE("RegionFilter: errors - each names its line") {
  CHECK_THAT(problem_of("\n\nfoo\n"), Catch::StartsWith("line 3: 'foo' stands outside"));
  CHECK_THAT(problem_of("SCOREP_REGION_NAMES_BEGIN\nfoo\nSCOREP_REGION_NAMES_END"),
             Catch::StartsWith("line 2: pattern 'foo' without"));
  CHECK_THAT(problem_of("\nSCOREP_REGION_NAMES_BEGIN\nEXCLUDE a\n"),
             Catch::StartsWith("line 2: this block is not closed"));
  CHECK_THAT(problem_of("SCOREP_FILE_NAMES_BEGIN\nEXCLUDE\nINCLUDE a\n"),
             Catch::StartsWith("line 3: EXCLUDE before this has no pattern"));
  CHECK_THAT(problem_of("SCOREP_FILE_NAMES_BEGIN\nEXCLUDE MANGLED a\n"),
             Catch::Contains("MANGLED has no meaning"));
  CHECK_THAT(problem_of("SCOREP_FILE_NAMES_END\n"), Catch::Contains("closes no open"));
  CHECK_THAT(problem_of("SCOREP_FILE_NAMES_BEGIN SCOREP_FILE_NAMES_BEGIN"),
             Catch::Contains("begins inside the block of line 1"));
}

}  // namespace
TEST_CASE("RegionFilter: begin of a name - whether it may be one that is excluded") {
  const auto may = [](const char* rules, const char* begin) {
    RegionFilter filter;
    REQUIRE(filter.parse(rules).ok());
    return filter.may_exclude(begin);
  };
  const auto regions = [&](const std::string& rules, const char* begin) {
    const std::string text =
        "SCOREP_REGION_NAMES_BEGIN " + rules + " SCOREP_REGION_NAMES_END";
    return may(text.c_str(), begin);
  };
  CHECK_FALSE(may("", "!$omp"));
  CHECK_FALSE(regions("EXCLUDE MPI_Test*", "!$omp barrier"));
  CHECK_FALSE(regions("EXCLUDE !$omp", "!$omp barrier"));  // a longer name
  CHECK_FALSE(regions("INCLUDE *", "!$omp barrier"));
  CHECK(regions("EXCLUDE MPI_Test* *barrier*", "!$omp barrier"));
  CHECK(regions("EXCLUDE !$omp\\ barrier*", "!$omp barrier"));
  CHECK(regions("EXCLUDE omp_set_lock?@a.c:1", "omp_set_lock"));
  CHECK(regions("EXCLUDE omp_set_lock", "omp_set_lock"));
  CHECK(regions("EXCLUDE MANGLED main", "!$omp barrier"));
  CHECK(may("SCOREP_FILE_NAMES_BEGIN EXCLUDE */lib/* SCOREP_FILE_NAMES_END", "!$omp"));
}

}  // namespace refrain::filters::region_filter_test
