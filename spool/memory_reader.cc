#include "spool/memory_reader.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "spool/format.h"
#include "spool/memory_format.h"
#include "spool/summary_areas.h"

namespace refrain::spool {
namespace {

class MemoryTableParser {
 public:
  explicit MemoryTableParser(std::span<const std::byte> file) : file_(file) {}

  const char* read(MemoryTable& table) {
    if (file_.size() < kMemoryTableBytes) return "is cut off: its end is missing";
    if (std::memcmp(file_.data(), kMemoryMagic, sizeof kMemoryMagic) != 0)
      return "has no allocations: it is another file";
    if (at<std::uint32_t>(offsetof(MemoryHeader, byte_order)) != kByteOrder)
      return "is of a machine with another byte order";
    if (at<std::uint32_t>(offsetof(MemoryHeader, version)) != kMemoryVersion)
      return "is of another version of Refrain";
    base::MemoryCalls& totals = table.totals;
    totals.from_bytes =
        std::max<std::uint64_t>(1, at<std::uint64_t>(offsetof(MemoryHeader, from_bytes)));
    totals.untracked = at<std::uint64_t>(offsetof(MemoryHeader, untracked));
    totals.high_water_ticks = at<std::uint64_t>(offsetof(MemoryHeader, mark_ticks));
    mark_ = at<std::uint64_t>(offsetof(MemoryHeader, mark));
    for (std::uint32_t i = 0; i < kMemoryShards; ++i) take_shard(i, totals);
    for (std::uint32_t slot = 0; slot < kMemoryPaths; ++slot) take_path(slot, table);
    settle(totals);
    return nullptr;
  }

 private:
  template <typename T>
  T at(std::size_t offset) const {
    return copy_at<T>(file_, offset);
  }
  // Blocks that were allocated before anything was counted are given back, too: less than nothing is nothing.
  static std::uint64_t whole(std::int64_t value) noexcept {
    return value < 0 ? 0 : static_cast<std::uint64_t>(value);
  }

  void take_shard(std::uint32_t number, base::MemoryCalls& totals) {
    const std::size_t begin = kMemoryShardsOffset + number * sizeof(MemoryShard);
    small_bytes_ += at<std::uint64_t>(begin + offsetof(MemoryShard, small_bytes));
    for (std::size_t i = 0; i < totals.calls.size(); ++i)
      totals.calls[i] += at<std::uint64_t>(begin + offsetof(MemoryShard, calls) +
                                           i * sizeof(std::uint64_t));
    totals.failed += at<std::uint64_t>(begin + offsetof(MemoryShard, failed));
    released_ += at<std::uint64_t>(begin + offsetof(MemoryShard, released));
    totals.unknown_frees += at<std::uint64_t>(begin + offsetof(MemoryShard, unknown_frees));
    for (std::size_t i = 0; i < totals.sizes.size(); ++i) {
      const std::size_t size =
          begin + offsetof(MemoryShard, sizes) + i * sizeof(MemoryShard::Size);
      totals.sizes[i].calls += at<std::uint64_t>(size + offsetof(MemoryShard::Size, calls));
      totals.sizes[i].bytes += at<std::uint64_t>(size + offsetof(MemoryShard::Size, bytes));
    }
  }

  base::MemoryUse use_at(std::size_t begin) const {
    base::MemoryUse use;
    use.calls = at<std::uint64_t>(begin + offsetof(MemoryPath, calls));
    use.bytes = at<std::uint64_t>(begin + offsetof(MemoryPath, bytes));
    use.frees = at<std::uint64_t>(begin + offsetof(MemoryPath, frees));
    use.current_bytes = whole(at<std::int64_t>(begin + offsetof(MemoryPath, current)));
    use.peak_bytes = whole(at<std::int64_t>(begin + offsetof(MemoryPath, peak)));
    const bool changed =
        at<std::uint64_t>(begin + offsetof(MemoryPath, latest_mark)) == mark_;
    use.high_water_bytes =
        changed ? whole(at<std::int64_t>(begin + offsetof(MemoryPath, at_mark)))
                : use.current_bytes;
    use.high_water_blocks =
        changed ? at<std::uint64_t>(begin + offsetof(MemoryPath, blocks_at_mark))
                : use.blocks();
    return use;
  }

  void take_path(std::uint32_t slot, MemoryTable& table) {
    const std::size_t begin = kMemoryPathsOffset + slot * sizeof(MemoryPath);
    base::MemoryCalls& totals = table.totals;
    if (slot == kPathOfSmall) {
      totals.small = use_at(begin);
      current_ = at<std::uint64_t>(begin + offsetof(MemoryPath, current));
      return;
    }
    const bool ready =
        at<std::uint32_t>(begin + offsetof(MemoryPath, ready)) != 0 && slot != kPathOfRest;
    const base::MemoryUse use = use_at(begin);
    with_path_.add(use);
    if (!ready) return totals.rest.add(use);
    MemoryTable::Path& path = table.paths.emplace_back();
    path.use = use;
    const std::uint32_t count =
        std::min(at<std::uint32_t>(begin + offsetof(MemoryPath, count)), kMemoryFrames);
    for (std::uint32_t i = 0; i < count; ++i)
      path.frames.push_back(at<std::uint64_t>(begin + offsetof(MemoryPath, frames) +
                                              i * sizeof(std::uint64_t)));
  }

  // What is known of small blocks is what is left of all.
  void settle(base::MemoryCalls& totals) const {
    const auto less = [](std::uint64_t from, std::uint64_t value) {
      return from - std::min(from, value);
    };
    totals.small.calls = less(totals.allocations(), with_path_.calls);
    totals.small.bytes = less(totals.bytes(), with_path_.bytes);
    totals.small.frees = less(less(released_, totals.unknown_frees),
                              less(with_path_.frees, totals.untracked));
    totals.small.high_water_blocks = 0;
    totals.small.current_bytes = whole(static_cast<std::int64_t>(current_ + small_bytes_));
    totals.current_bytes = totals.small.current_bytes + with_path_.current_bytes;
    totals.high_water_bytes = whole(at<std::int64_t>(offsetof(MemoryHeader, high_water)));
    // What the threads had not handed over yet.
    const std::uint64_t more = less(totals.current_bytes, totals.high_water_bytes);
    totals.small.high_water_bytes += more;
    totals.high_water_bytes += more;
    totals.small.peak_bytes = std::max({totals.small.peak_bytes, totals.small.current_bytes,
                                        totals.small.high_water_bytes});
  }

  std::span<const std::byte> file_;
  std::uint64_t mark_ = 0;
  std::uint64_t released_ = 0;
  // Signed numbers, without their overflows.
  std::uint64_t small_bytes_ = 0;  // that the path of small blocks does not have
  std::uint64_t current_ = 0;      // of that path
  base::MemoryUse with_path_;      // of all others
};

}  // namespace

base::Result<MemoryTable> read_memory(std::span<const std::byte> file,
                                      const std::string& name) {
  MemoryTable table;
  const char* const problem = MemoryTableParser(file).read(table);
  if (problem != nullptr) return base::Failure{name + " " + problem};
  return table;
}

base::Result<MemoryTable> read_memory(const std::string& folder) {
  const std::string path = folder + "/memory";
  std::ifstream in(path, std::ios::binary);
  if (!in) return MemoryTable{};
  std::vector<char> bytes(kMemoryTableBytes);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return read_memory(std::as_bytes(std::span<const char>(bytes)), path);
}

}  // namespace refrain::spool
