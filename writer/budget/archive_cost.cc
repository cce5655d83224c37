#include "writer/budget/archive_cost.h"

#include <algorithm>
#include <cstdlib>

namespace refrain::writer {
namespace {

using spool::Record;

// --- The summary, which is text ---

std::uint64_t digits_of(std::uint64_t number) {
  std::uint64_t digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

std::uint64_t bytes_of(const spool::IterationRows& rows) {
  std::uint64_t bytes = 0;
  for (const spool::IterationRows::Row& row : rows.rows) {
    bytes += digits_of(row.begin) + digits_of(row.first) + digits_of(row.count) + 5;
    for (const std::int64_t time : row.times)
      bytes += digits_of(static_cast<std::uint64_t>(std::abs(time))) + 1;
    for (const std::uint64_t value : row.counters) bytes += digits_of(value) + 1;
  }
  return bytes;
}

// Of the process, and in the graph of the job.
std::uint64_t bytes_of(const spool::FlowGraph& graph) {
  constexpr std::uint64_t kNode = 2 * 150;
  constexpr std::uint64_t kEdge = 2 * 75;
  return kNode * graph.nodes.size() + kEdge * graph.edges.size();
}

}  // namespace

ArchiveCost::ArchiveCost(const ProcessModel& process) {
  constexpr std::uint64_t kProcess = 1000;
  constexpr std::uint64_t kLocation = 200;
  constexpr std::uint64_t kRegion = 60;
  constexpr std::uint64_t kCallPath = 210;  // in the summary and in profile.cubex
  constexpr std::uint64_t kGapOfLocation = 22 + 4 * 13;  // off, on, regions around both
  constexpr std::uint64_t kMarkers = 70;
  definitions_ = kProcess;
  gap_ = kMarkers;
  for (std::size_t i = 0; i < process.locations(); ++i) {
    const spool::SpoolFile& file = process.spool().locations[i];
    const spool::CallTree tree = file.call_tree();
    definitions_ += kLocation + kRegion * process.scan(i).keys.size() +
                    kCallPath * tree.nodes.size() + bytes_of(file.flow_graph());
    rows_ += bytes_of(file.iteration_rows(tree, 0, process.end_ticks()));
    gap_ += kGapOfLocation;
    const spool::RecordSequence& records = process.records(i);
    std::uint64_t bytes = 0;
    std::uint64_t latest = 0;
    for (std::size_t k = 0; k < records.size(); ++k) {
      const Record& record = records[k];
      if (spool::is_cut(record) && bytes != 0) {
        samples_.push_back({record.ticks, bytes});
        bytes = 0;
      }
      bytes += spool::kind_row(record.kind).archive_bytes;
      latest = std::max(latest, record.ticks);
    }
    if (bytes != 0) samples_.push_back({latest + 1, bytes});
  }
  std::sort(samples_.begin(), samples_.end(),
            [](const Sample& a, const Sample& b) { return a.ticks < b.ticks; });
  std::uint64_t sum = 0;
  for (Sample& sample : samples_) sample.bytes = sum += sample.bytes;
}

std::uint64_t ArchiveCost::up_to(std::uint64_t ticks) const noexcept {
  const auto after = std::upper_bound(
      samples_.begin(), samples_.end(), ticks,
      [](std::uint64_t value, const Sample& sample) { return value < sample.ticks; });
  return after == samples_.begin() ? 0 : (after - 1)->bytes;
}

std::uint64_t ArchiveCost::between(std::uint64_t begin_ticks,
                                   std::uint64_t end_ticks) const noexcept {
  const std::uint64_t begin = up_to(begin_ticks);
  return std::max(begin, up_to(end_ticks)) - begin;
}

}  // namespace refrain::writer
