#include "tools/output/cause_comparison.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/output/analyze_output.h"

namespace refrain::tools::cause_comparison_test {
namespace {

analysis::RootCause cause(const char* what, std::uint32_t rank, const char* where,
                          double ns) {
  analysis::RootCause out;
  out.what = what;
  out.text = std::string("Lost in ") + where + ".";
  out.ranks = {rank};
  out.where = where;
  out.lost_ns = ns;
  out.share = ns / 1e9;
  return out;
}

}  // namespace

TEST_CASE(
    "Compared causes: the same are one row, by kind, place and ranks; what changed most first") {
  analysis::Conclusions a, b;
  a.causes = {cause("Uneven", 1, "in f", 300e6), cause("Uneven", 2, "in f", 100e6)};
  b.causes = {cause("Uneven", 1, "in f", 250e6), cause("Uneven", 2, "in g", 90e6)};
  const std::vector<ComparedCause> found = compare_causes(a, b);
  REQUIRE(found.size() == 3);
  CHECK(found[0].title == "Uneven, rank 2, in f");
  CHECK(found[0].b_seconds == 0);
  CHECK(found[1].title == "Uneven, rank 2, in g");
  CHECK(found[2].a_seconds == Approx(0.3));
  CHECK(found[2].b_seconds == Approx(0.25));
  const std::vector<std::string> lines = compared_causes_screen(found);
  REQUIRE(lines.size() == 7);
  CHECK(lines[2].find("100 ms  10.0 %") != std::string::npos);
  CHECK(lines[2].ends_with("-100 ms"));
  CHECK(lines[6].ends_with("-50 ms"));
  CHECK(compared_causes_value(found)[2]["b_seconds"] == Approx(0.25));
  CHECK(compared_causes_screen({}).empty());
}

TEST_CASE("Compared causes: info's last line is the first cause") {
  analysis::Conclusions of;
  CHECK(first_cause_screen(of, 100).empty());
  of.causes = {cause("Uneven", 1, "in f", 300e6), cause("Uneven", 2, "in f", 100e6)};
  const std::vector<std::string> lines = first_cause_screen(of, 100);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "Largest loss Uneven: Lost in in f. (refrain analyze: 1 more)");
}

}  // namespace refrain::tools::cause_comparison_test
