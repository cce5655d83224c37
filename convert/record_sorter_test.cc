#include <catch2/catch.hpp>
#include <random>

#include "convert/paraver_records.h"
#include "test/support/files.h"

namespace refrain::convert::record_sorter_test {
namespace {

struct Entry {
  std::uint64_t time, order;
  std::uint64_t key() const { return time; }
  bool operator==(const Entry&) const = default;
};

TEST_CASE("RecordSorter: any order - the same as a stable sort, on disk and in memory") {
  const test::TemporaryFolder folder;
  std::mt19937 random(7);
  for (const std::size_t run_bytes : {64UL, 1024UL, 1UL << 20}) {
    for (const std::uint64_t disorder : {0, 3, 1000}) {
      for (const std::uint64_t count : {0, 1, 4, 5, 63, 64, 65, 10'000}) {
        std::vector<Entry> entries;
        RecordSorter<Entry> sorter(folder.path(), run_bytes);
        for (std::uint64_t i = 0; i < count; ++i) {
          entries.push_back({i + (disorder == 0 ? 0 : random() % disorder), i});
          sorter.add(entries.back());
        }
        std::stable_sort(entries.begin(), entries.end(),
                         [](const Entry& a, const Entry& b) { return a.time < b.time; });
        sorter.finish();
        CHECK(sorter.size() == count);
        std::vector<Entry> sorted;
        for (; !sorter.empty(); sorter.pop()) sorted.push_back(sorter.front());
        CAPTURE(run_bytes, disorder, count);
        CHECK((sorted == entries));
        CHECK(sorter.error() == "");
      }
    }
  }
}

TEST_CASE("RecordSorter: no temporary file - an error that says where") {
  RecordSorter<Entry> sorter("/proc/no-such-folder", 64);
  for (std::uint64_t i = 0; i < 100; ++i) sorter.add({100 - i, i});
  CHECK_THAT(sorter.error(), Catch::Contains("/proc/no-such-folder"));
}

}  // namespace
}  // namespace refrain::convert::record_sorter_test
