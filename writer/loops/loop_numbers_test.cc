#include "writer/loops/loop_numbers.h"

#include <catch2/catch.hpp>

#include "exchange/tree.h"

namespace refrain::writer::loop_numbers_test {
namespace {

spool::LoopVisit visit(std::uint32_t loop, std::uint64_t first_ticks,
                       std::uint32_t parent = spool::LoopVisit::kNoParent) {
  spool::LoopVisit out;
  out.loop = loop;
  out.first_ticks = first_ticks;
  out.parent = parent;
  return out;
}

std::vector<std::uint32_t> order_of(const std::vector<LoopNode>& tree) {
  std::vector<std::uint32_t> out;
  for (const LoopNode& node : tree) out.push_back(node.loop);
  return out;
}

// Like a process' job_loops(): key, parent.
JobLoops loops(std::vector<std::pair<std::string, std::uint32_t>> all) {
  JobLoops out;
  std::uint32_t line = 10;
  for (auto& [key, parent] : all) {
    JobLoop loop;
    loop.key = key;
    loop.parent = parent;
    loop.function = key;
    loop.file = "/src/" + key + ".c";
    loop.first_line = loop.last_line = line++;
    out.loops.push_back(loop);
  }
  return out;
}

constexpr std::uint32_t kNone = JobLoop::kNoParent;

std::vector<LoopNode> tree_of(const JobLoops& all) {
  std::vector<LoopNode> tree;
  for (std::uint32_t i = 0; i < all.loops.size(); ++i)
    tree.push_back({.loop = 100 + i,
                    .parent = all.loops[i].parent == kNone ? LoopNode::kNoParent
                                                           : all.loops[i].parent});
  return tree;
}

std::map<std::string, std::uint32_t> numbers(const JobLoops& own, const JobLoops& all) {
  std::map<std::string, std::uint32_t> out;
  for (const auto& [id, label] : loop_labels(tree_of(own), own, all))
    out[label.loop.key] = label.number;
  return out;
}

}  // namespace

TEST_CASE("LoopTree: order - outer loops first, then by their first begin") {
  spool::Journal journal;
  for (const std::uint32_t id : {1u, 2u, 3u, 4u}) journal.loops[id].id = id;
  // Detected from the inside: 1 in 2 in 4; 3 by itself, before them.
  journal.visits = {visit(4, 100),   visit(2, 110, 4), visit(1, 120, 2),
                    visit(1, 50, 2), visit(2, 300, 4), visit(3, 20)};
  const std::vector<LoopNode> tree = loop_tree(journal);
  CHECK(order_of(tree) == std::vector<std::uint32_t>{3, 4, 2, 1});
  CHECK(tree[0].level == 0);
  CHECK(tree[3].level == 2);
  CHECK(tree[3].parent == 2);
  // Contradictory nesting of two loops is ignored.
  journal.visits = {visit(1, 10, 2), visit(2, 20, 1)};
  CHECK(loop_tree(journal).size() == 4);
}

TEST_CASE("LoopNumbers: ranks - one number for each loop") {
  const JobLoops a = loops({{"init", kNone}, {"main", kNone}, {"solve", 1}, {"halo", 2}});
  const JobLoops b = loops({{"main", kNone}, {"edge", 0}, {"solve", 0}, {"end", kNone}});
  const JobLoops all = merge(merge(JobLoops{}, a), b);
  CHECK(numbers(a, all) == std::map<std::string, std::uint32_t>{
                               {"init", 1}, {"main", 2}, {"solve", 3}, {"halo", 4}});
  CHECK(numbers(b, all) == std::map<std::string, std::uint32_t>{
                               {"main", 2}, {"solve", 3}, {"edge", 5}, {"end", 6}});
  // The lines of both: a rank at the edge calls less.
  const LoopLabel main = loop_labels(tree_of(b), b, all).at(100);
  CHECK(main.loop.first_line == 10);
  CHECK(main.loop.last_line == 11);
  CHECK(main.region_name() == "loop 2 @ main main.c:10-11");
  CHECK(main.parent == -1);
  CHECK(loop_labels(tree_of(b), b, all).at(102).parent == 2);
}

TEST_CASE("LoopNumbers: merging - in any grouping, and as bytes") {
  std::vector<JobLoops> ranks{loops({{"x", kNone}, {"y", 0}}), loops({{"z", kNone}}),
                              loops({{"z", kNone}, {"y", 0}, {"x", kNone}}),
                              loops({{"y", kNone}, {"x", 0}})};
  JobLoops in_a_row;
  for (const JobLoops& rank : ranks) in_a_row = merge(std::move(in_a_row), rank);
  const JobLoops in_tree = exchange::merge_in_tree(ranks);
  for (const JobLoops& rank : ranks)
    CHECK(numbers(rank, in_a_row) == numbers(rank, in_tree));
  const auto read =
      exchange::from_bytes<JobLoops>(exchange::to_bytes(std::optional<JobLoops>(in_tree)));
  REQUIRE(read);
  for (const JobLoops& rank : ranks) CHECK(numbers(rank, *read) == numbers(rank, in_tree));
  // A parent that is not there yet.
  JobLoops wrong = loops({{"x", kNone}});
  wrong.loops[0].parent = 7;
  CHECK_FALSE(
      exchange::from_bytes<JobLoops>(exchange::to_bytes(std::optional<JobLoops>(wrong))));
}

TEST_CASE("LoopNumbers: names - of the program's phases, and where nothing is known") {
  LoopLabel label;
  label.number = 3;
  CHECK(label.region_name() == "loop 3");
  label.loop.function = "main+0x12";
  CHECK(label.region_name() == "loop 3 @ main+0x12");
  label.loop.function.clear();
  label.loop.file = "/a/b.c";
  label.loop.first_line = label.loop.last_line = 7;
  CHECK(label.region_name() == "loop 3 @ b.c:7");
  label.loop.named = true;
  label.loop.function = "timestep";
  CHECK(label.region_name() == "timestep");
  CHECK(label.region().description == "phase that the program names");
}

}  // namespace refrain::writer::loop_numbers_test
