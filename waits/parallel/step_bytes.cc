#include "waits/parallel/step_bytes.h"

#include <algorithm>
#include <array>

#include "reader/archive_shares.h"

namespace refrain::waits {

void StepBytes::grow(std::size_t bytes) {
  memory_.resize(std::max(2 * memory_.size(), used_ + bytes + 4096));
}

void StepQueue::add(SharedBytes steps, const paths::Place& until) {
  until_ = until;
  if (!steps.empty()) batches_.push_back(std::move(steps));
  if (has_step()) return;
  if (batches_.empty())
    place_ = until_;
  else
    look(0);
}

void StepQueue::damage() {
  damaged_ = true;
  batches_.clear();
  at_ = 0;
  place_ = until_;
}

void StepQueue::end_batch() {
  if (exchange::Bytes memory = batches_.front().take_memory();
      !memory.empty() && spare_.size() < kMostSpare)
    spare_.push_back(std::move(memory));
  batches_.pop_front();
  if (!batches_.empty()) return look(0);
  at_ = 0;
  place_ = until_;
}

Shares::Shares(const reader::TraceDefinitions& definitions, std::uint32_t readers,
               std::uint32_t own) {
  // Accesses of windows are part of more than one pair of processes; of more communicators than that not all are remembered.
  // Two have most of it if one reads and the other one puts together.
  apart = definitions.windows.empty() &&
          definitions.comms.size() < paths::Delays::kMaxGroups && readers != 2;
  // Where the first one puts all together, it reads nothing.
  const std::uint32_t first = !apart && readers > 1 ? 1 : 0;
  reader = reader::share_processes(definitions, readers - first);
  for (std::uint32_t& each : reader) each += first;
  const std::size_t processes = reader.size();
  for (LocationId i; i < definitions.locations.size(); ++i) {
    const ProcessId process = definitions.locations[i].process;
    if ((process < processes ? reader[process] : 0) == own) locations.push_back(i);
  }
  joint = apart ? reader : std::vector<std::uint32_t>(processes);
}

}  // namespace refrain::waits

namespace refrain::waits {
namespace {

using Row = std::vector<std::uint64_t>;

void put(exchange::ByteWriter& out, const Row& row) {
  out.number(row.size());
  for (const std::uint64_t each : row) out.number(each);
}

Row row_of(exchange::ByteReader& in) {
  Row row(in.count());
  for (std::uint64_t& each : row) each = in.number();
  return row;
}

std::array<std::uint64_t*, sizeof(Problems) / sizeof(std::uint64_t)> fields_of(
    Problems& problems) {
  return {&problems.sends_without_receive, &problems.receives_without_send,
          &problems.unknown_ends,          &problems.incomplete_collectives,
          &problems.mixed_collectives,     &problems.unknown_collectives,
          &problems.lone_epochs,           &problems.leaves_without_enter,
          &problems.enters_without_leave,  &problems.clock_violations,
          &problems.worst_violation,       &problems.gaps};
}

void put_location(exchange::ByteWriter& out, const ReplayState& state, std::size_t metrics,
                  std::uint32_t number) {
  const LocationState& at = state.locations[number];
  out.number(number);
  out.number(at.begun ? 1 : 0);
  out.number(at.last);
  out.number(at.outside);
  for (const Row* row : {&at.own, &at.skipped, &at.visits, &at.squares, &at.without_message,
                         &at.own_without_message})
    put(out, *row);
  for (std::uint32_t metric = 0; metric < metrics; ++metric) {
    put(out, state.severities->of(LocationId(number), metric));
    put(out, state.severities->products(LocationId(number), metric));
    put(out, state.severities->squares(LocationId(number), metric));
  }
}

bool add_location(exchange::ByteReader& in, ReplayState& state, std::size_t metrics) {
  const std::uint32_t number = in.number32();
  if (!in.ok() || number >= state.locations.size()) return false;
  LocationState& at = state.locations[number];
  at.begun = in.number() != 0;
  at.last = in.number();
  at.outside = in.number();
  for (Row* row : {&at.own, &at.skipped, &at.visits, &at.squares, &at.without_message,
                   &at.own_without_message})
    *row = row_of(in);
  for (std::uint32_t metric = 0; metric < metrics; ++metric) {
    const Row ticks = row_of(in);
    const Row products = row_of(in);
    state.severities->add(LocationId(number), metric, ticks, products, row_of(in));
  }
  return in.ok();
}

bool add_paths(exchange::ByteReader& in, CallPaths& paths) {
  for (std::size_t count = in.count(); count > 0; --count) {
    const PathId parent(in.number32());
    const RegionId region(in.number32());
    const std::uint32_t site = in.number32();
    if (!in.ok() || parent >= paths.paths().size()) return false;
    paths.child(parent, region, site);
  }
  return true;
}

}  // namespace

void put_state(exchange::ByteWriter& out, const ReplayState& state, std::size_t metrics,
               const std::vector<ProcessId>& processes) {
  Problems problems = state.problems;
  for (const std::uint64_t* each : fields_of(problems)) out.number(*each);
  std::vector<bool> own(state.processes.size());
  out.number(processes.size());
  for (const std::uint32_t number : processes) {
    const ProcessState& process = state.processes[number];
    own[number] = true;
    out.number(number);
    out.number(process.primary);
    out.number(process.begin);
    out.number(process.end);
    const auto& paths = process.paths.paths();
    out.number(paths.size() - 1);
    for (std::size_t i = 1; i < paths.size(); ++i) {
      out.number(paths[i].parent);
      out.number(paths[i].region);
      out.number(paths[i].site);
    }
  }
  std::vector<std::uint32_t> locations;
  for (std::uint32_t i = 0; i < state.locations.size(); ++i)
    if (state.locations[i].counts && own[state.locations[i].process])
      locations.push_back(i);
  out.number(locations.size());
  for (const std::uint32_t each : locations) put_location(out, state, metrics, each);
}

bool add_state(exchange::ByteReader& in, ReplayState& state, std::size_t metrics) {
  Problems problems;
  for (std::uint64_t* each : fields_of(problems)) *each = in.number();
  state.problems.add(problems);
  for (std::size_t count = in.count(); count > 0; --count) {
    const std::uint32_t number = in.number32();
    if (!in.ok() || number >= state.processes.size()) return false;
    ProcessState& process = state.processes[number];
    process.primary = LocationId(in.number32());
    process.begin = in.number();
    process.end = in.number();
    if (!add_paths(in, process.paths)) return false;
  }
  for (std::size_t count = in.count(); count > 0; --count)
    if (!add_location(in, state, metrics)) return false;
  return in.done();
}

}  // namespace refrain::waits
