#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include "test/support/files.h"
#include "tracer/sampler/sampler.h"

namespace refrain::sampler::sample_table_test {
namespace {

using Stack = std::vector<std::uint64_t>;  // outermost first, with the thread

// What is in a file, read here on its own: samples of each stack.
struct Content {
  std::vector<char> bytes;
  std::map<Stack, std::uint64_t> stacks;

  explicit Content(const std::string& path) {
    const std::string text = test::read_file(path);
    bytes.assign(text.begin(), text.end());
    const spool::SampleHeader& head = header();
    REQUIRE(bytes.size() == spool::kSampleHeaderBytes + 24UL * head.capacity);
    REQUIRE(std::memcmp(head.magic, "RFSAMPLE", 8) == 0);
    const std::uint32_t count = std::min(head.nodes.load(), head.capacity);
    for (std::uint32_t i = 1; i < count; ++i) {
      if (node(i).samples == 0) continue;
      Stack stack;
      for (std::uint32_t at = i; at != 0; at = node(at).parent) {
        REQUIRE(node(at).ready == 1);
        REQUIRE(node(at).parent < at);
        stack.insert(stack.begin(), node(at).address);
      }
      stacks[stack] += node(i).samples;
    }
  }
  const spool::SampleHeader& header() const {
    return *reinterpret_cast<const spool::SampleHeader*>(bytes.data());
  }
  const spool::SampleNode& node(std::uint32_t number) const {
    return reinterpret_cast<const spool::SampleNode*>(bytes.data() +
                                                      spool::kSampleHeaderBytes)[number];
  }
  std::uint64_t sum() const {
    std::uint64_t all = 0;
    for (const auto& [stack, samples] : stacks) all += samples;
    return all;
  }
};

constexpr std::uint64_t at_end(std::uint64_t address) {
  return address | spool::kInnermost;
}

TEST_CASE("SampleTable: stacks - each has its count, with the ends that are not known") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "samples";
  SampleTable table;
  REQUIRE(table.open(path, 10'000'000).empty());
  const std::uint32_t thread = table.thread(table.next_thread());
  const std::uint64_t deep[] = {0x30, 0x20, 0x10};
  const std::uint64_t flat[] = {0x20, 0x10};
  for (int i = 0; i != 5; ++i) table.add(thread, deep, 3, 0, 1);
  table.add(thread, flat, 2, 0, 4);
  table.add(thread, flat, 2, spool::kUnknownCaller, 1);
  table.add(thread, flat, 2, spool::kDeeper, 2);
  table.end();
  const Content content(path);
  CHECK(content.stacks ==
        std::map<Stack, std::uint64_t>{{{0, 0x10, 0x20, at_end(0x30)}, 5},
                                       {{0, 0x10, at_end(0x20)}, 4},
                                       {{0, spool::kUnknownCaller, 0x10, at_end(0x20)}, 1},
                                       {{0, spool::kDeeper, 0x10, at_end(0x20)}, 2}});
  CHECK(content.header().taken == 12);
  CHECK(content.header().missed == 4);
  CHECK(content.header().not_followed == 1);
  CHECK(content.header().lost == 0);
  CHECK(content.header().shortened == 0);
  CHECK(content.header().threads == 1);
  CHECK(content.header().period_ns == 10'000'000);
  CHECK(content.header().ended == 1);
}

TEST_CASE("SampleTable: several threads - none of their samples is lost or doubled") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "samples";
  SampleTable table;
  REQUIRE(table.open(path, 1).empty());
  constexpr unsigned kThreads = 4, kEach = 20000;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t != kThreads; ++t)
    threads.emplace_back([&] {
      // All below one node, so that they meet.
      for (std::uint64_t i = 0; i != kEach; ++i) {
        const std::uint64_t frames[] = {i % 400 + 1, i % 20 + 1, 7};
        table.add(table.thread(0), frames, 3, 0, 1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  const Content content(path);
  CHECK(content.stacks.size() == 400);
  for (const auto& [stack, samples] : content.stacks)
    CHECK(samples == std::uint64_t{kThreads} * kEach / 400);
}

TEST_CASE(
    "SampleTable: full - samples count further out, and nothing is written behind it") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "samples";
  SampleTable table;
  REQUIRE(table.open(path, 1, 16).empty());
  const std::uint32_t thread = table.thread(0);
  for (std::uint64_t i = 0; i != 100; ++i) {
    const std::uint64_t frames[] = {i + 1, 7};
    table.add(thread, frames, 2, 0, 1);
  }
  // A thread that found no place at all.
  const std::uint64_t frames[] = {1};
  table.add(table.thread(1), frames, 1, 0, 1);
  const Content content(path);
  const std::uint64_t whole = 16 - 3;  // root, thread, 7
  CHECK(content.header().taken == 101);
  CHECK(content.header().shortened == 100 - whole);
  CHECK(content.header().lost == 1);
  CHECK(content.stacks.at({0, 7}) == 100 - whole);
  CHECK(content.sum() == 100);
}

TEST_CASE("SampleTable: killed - what was counted is in the file") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "samples";
  const pid_t child = fork();
  if (child == 0) {
    SampleTable table;
    if (!table.open(path, 1).empty()) _exit(1);
    const std::uint64_t frames[] = {3, 2, 1};
    for (int i = 0; i != 1000; ++i) table.add(table.thread(0), frames, 3, 0, 1);
    raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  const Content content(path);
  CHECK(content.stacks == std::map<Stack, std::uint64_t>{{{0, 1, 2, at_end(3)}, 1000}});
  CHECK(content.header().ended == 0);
}

TEST_CASE("SampleTable: no file - said in a line") {
  const test::TemporaryFolder folder;
  SampleTable table;
  CHECK(table.open(folder.path() / "missing" / "samples", 1).find("cannot make '") == 0);
  const std::string path = folder.path() / "there";
  std::ofstream(path) << "mine";
  CHECK_FALSE(table.open(path, 1).empty());
  CHECK(test::read_file(path) == "mine");
}

}  // namespace
}  // namespace refrain::sampler::sample_table_test
