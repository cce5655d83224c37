#include "tracer/runtime/recorder_pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "spool/summary_format.h"
#include "tracer/recorder/clock.h"

namespace refrain::runtime {

using recorder::Clock;
using recorder::SpoolResult;
using recorder::ThreadRecorder;

namespace {

constexpr double kPatience_s = 0.2;

spool::LossCause cause_of(SpoolResult result) noexcept {
  switch (result) {
    case SpoolResult::kMemory:
      return spool::kLossMemory;
    case SpoolResult::kDiskLimit:
      return spool::kLossDiskLimit;
    default:
      return spool::kLossDiskFull;
  }
}

// How the memory for a summary is shared: whoever needs it takes it, the event flow graph and the rows
// of iterations not more than a part. What the call tree could take if it were alone has no
// bound but that memory.
constexpr std::uint64_t kMaxTree = 2;
constexpr std::uint64_t kMaxFlow = 4;           // a quarter
constexpr std::uint64_t kMaxRows = 3, kOf = 5;  // three fifths

std::uint32_t components_of(const filters::Settings& settings) {
  constexpr std::pair<const char*, spool::FlowComponent> kComponents[] = {
      {"site", spool::kFlowSite},
      {"callers", spool::kFlowCallers},
      {"partner", spool::kFlowPartner},
      {"size", spool::kFlowSize}};
  std::uint32_t components = 0;
  for (const auto& [name, component] : kComponents)
    if (filters::has_word(settings.graph, name)) components |= component;
  return components;
}

std::uint64_t bytes_of_rows(std::uint64_t summary, std::uint64_t rows, unsigned counters) {
  constexpr std::uint64_t kLeast = 64 << 10;
  if (rows == 0 || summary < kLeast) return 0;
  const std::uint64_t most = std::min(rows, spool::kMaxRows) * spool::row_bytes(counters);
  return spool::kIterationRowsHeaderBytes + std::min(most, summary / kOf * kMaxRows);
}

}  // namespace

RecorderPool::RecorderPool(const filters::Settings& settings, bool has_mpi)
    : writes_(!settings.summary_only),
      ring_bytes_(writes_ ? settings.ring_bytes : 0),
      summary_bytes_(settings.summary_bytes),
      has_flow_(has_mpi && settings.graph != "none"),
      flow_components_(components_of(settings)),
      most_rows_(settings.summary_iterations),
      chunk_bytes_(settings.chunk_bytes),
      budget_(settings.memory_limit_bytes, settings.disk_limit_bytes) {}

RecorderPool::Taken RecorderPool::take(const std::string& folder,
                                       const RecordingStart& start,
                                       spool::LocationRole role,
                                       const recorder::DecisionBoard& board, int descriptor,
                                       std::uint64_t function) {
  const auto free = std::find_if(free_.rbegin(), free_.rend(), [&](auto* recorder) {
    return recorder->header().thread_function == function;
  });
  if (free != free_.rend()) {
    ThreadRecorder* const reused = *free;
    free_.erase(std::next(free).base());
    reused->thread_begins(false);
    return {reused, {}};
  }
  auto fresh = std::make_unique<ThreadRecorder>();
  // give_back() and the end shall need no memory.
  if (recorders_.size() == recorders_.capacity())
    recorders_.reserve(2 * recorders_.size() + 16);
  free_.reserve(recorders_.capacity());
  spool::Header header{};
  start.fill(header, spool::kLocationFile);
  header.role = role;
  header.location = static_cast<std::uint32_t>(recorders_.size());
  header.thread_function = function;
  const std::string name = "location-" + std::to_string(recorders_.size()) + ".spool";
  const std::string path = descriptor >= 0 ? name : folder + "/" + name;
  const std::uint64_t summary = budget_.share_of(summary_bytes_);
  const std::uint64_t flow = has_flow_ ? summary / kMaxFlow : 0;
  const std::uint64_t rows = bytes_of_rows(summary, most_rows_, counters_);
  const SpoolResult result =
      fresh->open(descriptor >= 0 ? descriptor : AT_FDCWD, path.c_str(), header,
                  {.ring_bytes = budget_.share_of(ring_bytes_),
                   .tree_bytes = kMaxTree * summary,
                   .chunk_bytes = chunk_bytes_,
                   .flow_bytes = flow,
                   .summary_bytes = summary,
                   .flow_components = flow_components_,
                   .rows_bytes = rows,
                   .most_rows = most_rows_,
                   .counters = counters_,
                   .writes = writes_},
                  budget_);
  if (result != SpoolResult::kOk) return {nullptr, cause_of(result)};
  fresh->follow_from_now(board);
  fresh->thread_begins(false);
  recorders_.push_back(std::move(fresh));
  return {recorders_.back().get(), {}};
}

ThreadRecorder* RecorderPool::of_thread(pthread_t thread) const noexcept {
  for (const auto& recorder : recorders_)
    if (recorder->is_of(thread)) return recorder.get();
  return nullptr;
}

void RecorderPool::wait_until_idle(const recorder::ThreadRecorder* own) noexcept {
  const std::uint64_t until = Clock::now() + Clock::ticks_of_seconds(kPatience_s);
  for (auto& recorder : recorders_)
    while (!recorder->at_rest() && recorder.get() != own && Clock::now() < until)
      usleep(100);
}

void RecorderPool::close(const recorder::DecisionBoard& board,
                         const recorder::IterationBoard& iterations) noexcept {
  for (auto& recorder : recorders_) {
    if (!recorder->at_rest()) continue;
    recorder->follow(board);
    recorder->follow_to_end(iterations, Clock::now());
    recorder->close();
  }
}

void RecorderPool::abandon() noexcept {
  for (auto& recorder : recorders_) recorder->abandon();
}

}  // namespace refrain::runtime
