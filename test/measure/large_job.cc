// Makes the archive of a hybrid job that never ran: large_job RANKS THREADS ITERATIONS ARCHIVE.
//
// A ring of ranks, each with a team of threads: in each iteration a parallel region whose threads have different amounts of
// work, a message to the next rank, one from the rank before, and an allreduce. The same every time. Spools by the builder of
// the writer's tests, the archive by the writer; the summaries are what the events say, with rows of iterations.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/profile/event_summary.h"
#include "summary/run_summary.h"
#include "writer/archive_writer.h"
#include "writer/testing/spool_builder.h"

namespace refrain {
namespace {

using spool::RecordBuilder;
using spool::SpoolBuilder;

constexpr std::uint64_t kRegion = 0x5000;
constexpr std::uint64_t kBegin = 100'000;      // of the first iteration
constexpr std::uint64_t kIteration = 200'000;  // ticks, which are ns
constexpr std::uint64_t kRegionEnd = 100'000;  // of an iteration
constexpr std::uint64_t kSend = 110'000, kReceive = 130'000, kAllreduce = 180'000;
constexpr std::uint8_t kImplicitParallel = 9;  // ompt_sync_region_barrier_implicit_parallel

struct Shape {
  std::uint32_t ranks = 1, threads = 1;
  std::uint64_t iterations = 1;

  // When a thread has done its part of the region: later on higher threads and on ranks in the middle.
  std::uint64_t work_ns(std::uint32_t rank, std::uint32_t thread, std::uint64_t i) const {
    const std::uint64_t middle = rank < ranks / 2 ? rank : ranks - rank;
    return 40'000 + 30'000 * thread / threads + 20'000 * middle / ranks +
           (i % 10 == 7 ? 4'000 : 0);
  }
};

// A part of a team: implicit task, worksharing loop, and the wait until all have come.
void work(RecordBuilder& to, std::uint64_t epoch, std::uint64_t begin, std::uint64_t done,
          std::uint64_t end, std::uint32_t thread, std::uint32_t threads) {
  const std::uint64_t team = std::uint64_t{threads} << 32 | thread;
  to.add(spool::kImplicitTaskBegin, begin + 1, epoch, team);
  to.add(spool::kWorkBegin, begin + 2, 100, kRegion + 0x10, 1);
  to.add(spool::kWorkEnd, done, 0, kRegion + 0x10, 1);
  spool::Record barrier =
      spool::make_record(spool::kSyncRegionBegin, done + 1, 0, kRegion, kImplicitParallel);
  barrier.aux16 = spool::kWaitToo;
  to.add(barrier);
  barrier.kind = spool::kSyncRegionEnd;
  barrier.ticks = end - 2;
  to.add(barrier);
  to.add(spool::kImplicitTaskEnd, end - 1, epoch, team);
}

void add_region(SpoolBuilder& process, const Shape& shape, std::uint32_t rank,
                std::uint64_t epoch, std::uint64_t begin, std::uint64_t i) {
  const std::uint64_t end = begin + kRegionEnd;
  for (std::uint32_t thread = 0; thread < shape.threads; ++thread) {
    RecordBuilder& to = process.location(thread);
    to.sync(epoch, begin + (thread == 0 ? 0 : 1));
    if (thread == 0)
      to.add(spool::kParallelBegin, begin, epoch,
             kRegion | std::uint64_t{shape.threads} << 48);
    work(to, epoch, begin, begin + shape.work_ns(rank, thread, i), end, thread,
         shape.threads);
    if (thread == 0) to.add(spool::kParallelEnd, end, epoch, kRegion);
  }
}

void write_rank(const Shape& shape, std::uint32_t rank, const std::string& archive) {
  SpoolBuilder process(shape.threads);
  process.mpi(rank, shape.ranks);
  const std::uint32_t next = (rank + 1) % shape.ranks,
                      before = (rank + shape.ranks - 1) % shape.ranks;
  process.loop(1, kBegin + 2 * kIteration + 50, kRegion);
  std::uint64_t epoch = 0;
  for (std::uint64_t i = 0; i < shape.iterations; ++i) {
    const std::uint64_t begin = kBegin + i * kIteration;
    process.iteration(1, i, begin);
    add_region(process, shape, rank, ++epoch, begin, i);
    if (shape.ranks > 1) {
      spool::send(process, ++epoch, begin + kSend + 40 * rank,
                  {.peer = next, .tag = 7, .number = i, .bytes = 8192});
      spool::receive(process, ++epoch, begin + kReceive + 40 * rank,
                     {.peer = before, .tag = 7, .number = i, .bytes = 8192});
    }
    spool::allreduce(process, ++epoch, begin + kAllreduce, static_cast<std::uint32_t>(i));
  }
  process.left(1, shape.iterations, kBegin + shape.iterations * kIteration);
  process.write(archive, rank);
}

// What the rows of a run with a summary would have: in each iteration what the schedule above says.
summary::IterationRows rows_of(const Shape& shape, const summary::RunSummary& process,
                               const summary::RunSummary::Location& location) {
  using summary::TimeClass;
  summary::IterationRows rows;
  rows.rows.emplace_back().begin = process.begin;
  rows.rows.back().times[static_cast<std::size_t>(TimeClass::kUseful)] = kBegin;
  for (std::uint64_t i = 0; i < shape.iterations; ++i) {
    summary::IterationRows::Row row;
    row.begin = process.begin + kBegin + i * kIteration;
    row.loop = 0;
    row.first = i;
    row.count = 1;
    const auto done =
        static_cast<std::int64_t>(shape.work_ns(process.rank, location.number, i));
    const auto give = [&](TimeClass cls, std::int64_t ns) {
      row.times[static_cast<std::size_t>(cls)] += ns;
    };
    give(TimeClass::kUseful, done);
    give(TimeClass::kImbalance, static_cast<std::int64_t>(kRegionEnd) - done);
    const auto rest = static_cast<std::int64_t>(kIteration - kRegionEnd);
    if (location.primary) {
      give(TimeClass::kUseful, rest - 19);
      give(TimeClass::kMpiPointToPoint, 10);
      give(TimeClass::kMpiCollective, 9);
    } else {
      give(TimeClass::kLimitedParallelism, rest);
    }
    rows.rows.push_back(row);
  }
  rows.end = process.begin + kBegin + shape.iterations * kIteration;
  return rows;
}

std::string add_summaries(const Shape& shape, const std::string& archive,
                          const std::string& loop) {
  auto events = analysis::summarize_events(archive);
  if (!events) return events.error();
  for (summary::RunSummary& process : events->processes) {
    process.loops = {{1, loop}};
    for (summary::RunSummary::Location& location : process.locations)
      location.iterations = rows_of(shape, process, location);
    if (const auto written = summary::write_summary(archive, process); !written)
      return written.error();
  }
  return {};
}

std::string make(const Shape& shape, const std::string& archive) {
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) write_rank(shape, rank, archive);
  writer::WriteOptions options;
  options.archive = archive;
  const auto result = writer::write_archive(options);
  if (!result) return result.error();
  return add_summaries(shape, archive, result->loops.empty() ? "" : result->loops[0].name);
}

}  // namespace
}  // namespace refrain

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "large_job RANKS THREADS ITERATIONS ARCHIVE\n");
    return 2;
  }
  const auto number = [&](int i) {
    return static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10));
  };
  const std::string error = refrain::make({number(1), number(2), number(3)}, argv[4]);
  if (error.empty()) return 0;
  std::fprintf(stderr, "large_job: %s\n", error.c_str());
  return 1;
}
