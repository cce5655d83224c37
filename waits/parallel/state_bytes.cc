#include "waits/parallel/state_bytes.h"

#include <array>

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
  }
  for (std::size_t count = in.count(); count > 0; --count)
    if (!add_location(in, state, metrics)) return false;
  return in.done();
}

}  // namespace refrain::waits
