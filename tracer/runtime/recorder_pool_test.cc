// What a thread's summary takes with the default settings, when all of its parts are full.
#include "tracer/runtime/recorder_pool.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "spool/spool_reader.h"
#include "test/support/files.h"
#include "test/support/summary_bytes.h"

namespace refrain::runtime::recorder_pool_test {
namespace {

using recorder::FrameMark;
using recorder::IterationStep;
using recorder::ThreadRecorder;

// Bytes of this process' mappings of no file and without a name (the heap has one): those of indices.
std::uint64_t anonymous_bytes() {
  std::ifstream mappings("/proc/self/maps");
  REQUIRE(mappings.is_open());
  std::uint64_t sum = 0;
  for (std::string line; std::getline(mappings, line);) {
    std::istringstream words(line);
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    char dash = 0;
    std::string skipped;
    std::string name;
    words >> std::hex >> begin >> dash >> end >> skipped >> skipped >> skipped >> skipped >>
        name;
    if (name.empty()) sum += end - begin;
  }
  return sum;
}

// Different calls, each made once from its own place; or iterations.
class Thread {
 public:
  explicit Thread(ThreadRecorder& recorder) : recorder_(recorder) {}

  void call_from_everywhere(std::uint64_t calls) {
    for (std::uint64_t site = 1; site <= calls; ++site) {
      const std::uint64_t payload = std::uint64_t{7} << 48 | site;
      FrameMark mark;
      REQUIRE(recorder_.enter(mark));
      recorder_.begin_call(spool::record_words(spool::kMpiEnter, ++ticks_, payload),
                           payload, spool::kNoPath);
      recorder_.moved(site, 0);
      recorder_.end_call(spool::record_words(spool::kMpiLeave, ++ticks_, payload));
      recorder_.leave();
    }
  }
  void iterate(std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) {
      IterationStep step{.first = i == 0, .loop = 1, .number = i, .total = i};
      recorder_.step(step, i, ++ticks_);
    }
  }

 private:
  ThreadRecorder& recorder_;
  std::uint64_t ticks_ = recorder::Clock::now();
};

}  // namespace

TEST_CASE("RecorderPool: default settings, all tables full - a summary takes 1 MiB") {
  constexpr std::uint64_t kMax = 1 << 20;
  const bool loop_first = GENERATE(false, true);
  const unsigned counters = GENERATE(0U, 4U);
  CAPTURE(loop_first, counters);
  const test::TemporaryFolder folder;
  filters::Settings settings;
  settings.summary_only = true;  // no log and no ring next to it
  RecorderPool pool(settings, true);
  pool.set_counters(counters);
  RecordingStart start;
  start.take();
  const auto board = std::make_unique<recorder::DecisionBoard>();
  const auto iterations = std::make_unique<recorder::IterationBoard>();
  const std::string path = folder / "location-0.spool";
  ThreadRecorder* const recorder =
      pool.take(folder.path(), start, spool::LocationRole{}, *board).recorder;
  REQUIRE(recorder != nullptr);
  const std::uint64_t before = anonymous_bytes();
  Thread thread(*recorder);
  if (loop_first) thread.iterate(100'000);
  thread.call_from_everywhere(20'000);
  if (!loop_first) thread.iterate(100'000);
  const std::uint64_t indices = anonymous_bytes() - before;
  const test::SummaryBytes area = test::summary_bytes_of(path);
  CAPTURE(indices, area.on_disk, area.in_memory);
  CHECK(area.on_disk + indices <= kMax);
  CHECK(area.in_memory + indices <= kMax);
  // What is not in the area and no index (recorder::OwnEntries) is a tenth.
  CHECK(area.in_memory + indices > kMax / 8 * 6);
  CHECK(indices > 0);
  const spool::SpoolFile file = spool::SpoolFile::open(path);
  REQUIRE(file.usable());
  // All three are full.
  const spool::CallTree tree = file.call_tree();
  const auto other = std::ranges::find_if(
      tree.nodes, [](const auto& node) { return node.key.what == spool::kOtherRegions; });
  CHECK(other != tree.nodes.end());
  CHECK(file.flow_graph().nodes_elsewhere > 0);
  const auto rows = file.iteration_rows(tree, 0, recorder::Clock::now()).rows;
  CHECK(std::ranges::any_of(rows, [](const auto& row) { return row.count > 1; }));
  pool.close(*board, *iterations);
}

}  // namespace refrain::runtime::recorder_pool_test
