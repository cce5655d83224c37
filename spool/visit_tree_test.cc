#include <catch2/catch.hpp>

#include "spool/journal.h"

namespace refrain::spool::visit_tree_test {
namespace {

// Reported by the journal's records [first, end), lasts for ticks [begin, left).
LoopVisit visit(std::uint32_t loop, std::size_t first, std::size_t end, std::uint64_t begin,
                std::uint64_t left) {
  LoopVisit v;
  v.loop = loop;
  v.first_record = first;
  v.end_record = end;
  v.first_ticks = begin;
  v.left_ticks = left;
  v.left = true;
  return v;
}

}  // namespace

TEST_CASE("VisitTree: outer loop reported last - the inner visits before it lie in it") {
  std::vector<LoopVisit> visits = {visit(0, 0, 5, 10, 20), visit(0, 5, 9, 30, 40),
                                   visit(1, 9, 30, 5, 100), visit(0, 12, 20, 50, 60)};
  nest_visits(visits);
  REQUIRE(visits[0].loop == 1);
  CHECK(visits[0].level == 0);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(visits[i].level == 1);
    CHECK(visits[i].parent == 1);
    CHECK(visits[i].cut_ticks == LoopVisit::kNotCut);
  }
}

TEST_CASE("VisitTree: a loop that begins in a broken iteration ends it") {
  SECTION("and goes on after it") {
    std::vector<LoopVisit> visits = {visit(0, 0, 9, 10, 50), visit(1, 9, 20, 40, 90)};
    nest_visits(visits);
    CHECK(visits[0].cut_ticks == 40);
    CHECK(visits[1].level == 0);
  }
  SECTION("and is left there") {
    std::vector<LoopVisit> visits = {visit(0, 0, 9, 10, 50), visit(0, 9, 20, 40, 48)};
    nest_visits(visits);
    CHECK(visits[0].cut_ticks == 40);
    CHECK(visits[1].level == 0);
    CHECK(visits[1].parent == LoopVisit::kNoParent);
  }
}

TEST_CASE("VisitTree: equal begins - the longer loop is the outer one") {
  std::vector<LoopVisit> visits = {visit(0, 0, 5, 10, 20), visit(1, 5, 30, 10, 100)};
  nest_visits(visits);
  CHECK(visits[0].loop == 1);
  CHECK(visits[1].parent == 1);
}

}  // namespace refrain::spool::visit_tree_test
