#include "spool/sample_reader.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "spool/sample_format.h"
#include "test/support/files.h"
#include "writer/testing/sample_builder.h"

namespace refrain::spool::sample_reader_test {
namespace {

base::Result<SampleTree> read(const std::string& file) {
  return read_samples(std::as_bytes(std::span<const char>(file)), "file");
}

std::string problem_of(const std::string& file) { return read(file).error(); }

template <typename T>
std::string with(std::string file, std::size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
  return file;
}

constexpr std::size_t node_offset(std::size_t node) {
  return kSampleHeaderBytes + node * sizeof(SampleNode);
}

// A thread, main, and what it calls twice.
SampleBuilder tree_of_main() {
  SampleBuilder builder;
  builder.add({0, 0x401010, 0x402000 | kInnermost}, 7);
  builder.add({0, 0x401010, 0x402008 | kInnermost}, 2);
  return builder;
}

TEST_CASE("Sample reader: a file - threads, frames, samples") {
  const SampleTree tree = *read(tree_of_main().file());
  CHECK(tree.period_ns == 10'000'000);
  CHECK(tree.taken == 9);
  CHECK(tree.threads == 1);
  REQUIRE(tree.nodes.size() == 5);
  CHECK(tree.nodes[1].parent == 0);
  CHECK(tree.nodes[2].address == 0x401010);
  CHECK(tree.nodes[3].samples == 7);
  CHECK(tree.nodes[4].parent == 2);
}

TEST_CASE("Sample reader: equal nodes - are one, with what is below both") {
  SampleBuilder builder = tree_of_main();
  const std::uint32_t twin = builder.node(0x401010, 1, 0);
  builder.node(0x402000 | kInnermost, twin, 5);
  const SampleTree tree = *read(builder.file());
  REQUIRE(tree.nodes.size() == 5);
  CHECK(tree.nodes[3].samples == 12);
}

TEST_CASE("Sample reader: nodes that are not ready - do not count") {
  const std::string file = tree_of_main().file();
  const std::size_t last = node_offset(4) + offsetof(SampleNode, ready);
  CHECK(read(with(file, last, 0U))->nodes.size() == 4);
  // More numbers were given than there are nodes.
  CHECK(read(with(file, offsetof(SampleHeader, nodes), 0x7fffffffU))->nodes.size() == 5);
}

TEST_CASE("Sample reader: what is no such file - is refused with one line") {
  const std::string file = tree_of_main().file();
  REQUIRE(problem_of(file).empty());
  CHECK_THAT(problem_of({}), Catch::Contains("too short"));
  CHECK_THAT(problem_of(file.substr(0, 4000)), Catch::Contains("too short"));
  CHECK_THAT(problem_of(file.substr(0, file.size() - 1)), Catch::Contains("cut off"));
  CHECK_THAT(problem_of(with(file, 0, 'x')), Catch::Contains("another file"));
  CHECK_THAT(problem_of(with(file, offsetof(SampleHeader, version), 2U)),
             Catch::Contains("another version"));
  CHECK_THAT(problem_of(with(file, offsetof(SampleHeader, byte_order), 0x04030201U)),
             Catch::Contains("byte order"));
  CHECK_THAT(problem_of(with(file, offsetof(SampleHeader, period_ns), std::uint64_t{0})),
             Catch::Contains("damaged"));
  CHECK_THAT(problem_of(with(file, offsetof(SampleHeader, taken), ~std::uint64_t{0})),
             Catch::Contains("damaged"));
  for (const std::uint32_t capacity : {0U, kSampleNodes + 1, ~0U})
    CHECK_THAT(problem_of(with(file, offsetof(SampleHeader, capacity), capacity)),
               Catch::Contains("damaged"));
}

TEST_CASE("Sample reader: frames with impossible callers - are not believed") {
  const std::string file = tree_of_main().file();
  const std::size_t parent = node_offset(3) + offsetof(SampleNode, parent);
  for (const std::uint32_t to : {3U, 4U, 1000U, ~0U})
    CHECK_THAT(problem_of(with(file, parent, to)), Catch::Contains("damaged"));
  // Its caller was never completed.
  CHECK_THAT(problem_of(with(file, node_offset(2) + offsetof(SampleNode, ready), 0U)),
             Catch::Contains("damaged"));
  CHECK_THAT(problem_of(with(file, node_offset(2) + offsetof(SampleNode, ready), 7U)),
             Catch::Contains("damaged"));
  CHECK_THAT(problem_of(with(file, node_offset(3) + offsetof(SampleNode, samples),
                             ~std::uint64_t{0})),
             Catch::Contains("damaged"));
}

TEST_CASE(
    "Sample reader: sums - of more samples than a process can have are not believed") {
  std::string file = tree_of_main().file();
  for (const std::size_t node : {3, 4})
    file = with(file, node_offset(node) + offsetof(SampleNode, samples),
                std::uint64_t{1} << 43);
  CHECK(problem_of(file).empty());
  file = with(file, node_offset(2) + offsetof(SampleNode, samples), std::uint64_t{1});
  CHECK_THAT(problem_of(file), Catch::Contains("damaged"));
}

TEST_CASE("Sample reader: from disk - and what is not there") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "samples";
  CHECK_THAT(read_samples(path).error(), Catch::Contains("cannot be read"));
  tree_of_main().write(path);
  CHECK(read_samples(path)->nodes.size() == 5);
  CHECK_FALSE(read_samples(folder.path().string()));
}

}  // namespace
}  // namespace refrain::spool::sample_reader_test
