#include "waits/parallel/step_bytes.h"

#include <array>
#include <type_traits>
#include <utility>

namespace refrain::waits {
namespace {

enum class Type : std::uint8_t {
  kHere,
  kPath,
  kMessage,
  kGroup,
  kEnteredMpi,
  kLeft,
  kSegment,
  kForked,
  kForkedMaster,
  kFork,
  kJoin,
  kWaited,
  kTeam,
  kCount
};

struct Header {
  std::uint64_t ticks;
  std::uint32_t number;
  std::uint32_t bytes;  // of the step
  JointSteps::Part part;
  Type type;
  std::uint8_t unused[6];
};

struct Here {};
struct Path {
  ProcessId process;
  PathId parent;
  RegionId region;
  std::uint32_t site;
};
struct AtTime {
  std::uint32_t number;
  Ticks time;
};
struct SegmentHead {
  LocationId location;
  bool last;
  Ticks begin, end;
};
struct Forked {
  LocationId location;
  PathId path;
  LocationId master;
  Ticks time, management, first;
};
struct Fork {
  LocationId location;
  Ticks time;
  std::uint64_t threads;
};
struct Waited {
  paths::WaitKind kind;
  LocationId causer;
  Call call;
  Ticks ticks, until;
};

}  // namespace

template <typename Kind, typename Step>
void StepWriter::put(Kind kind, const Step& step) {
  static_assert(std::is_trivially_copyable_v<Step>);
  const Header header{place_.ticks, place_.number, sizeof(Step), place_.part, kind, {}};
  append(&header, sizeof header);
  append(&step, sizeof step);
  if (bytes_.size() >= batch_) flush();
}

void StepWriter::flush() {
  events_ = 0;
  if (bytes_.size() <= kPrefix) return;
  send_(bytes_);
  bytes_.resize(kPrefix);
}

void StepWriter::here() {
  put(Type::kHere, Here{});
  flush();
}

void StepWriter::path(ProcessId process, const CallPaths::Path& path) {
  put(Type::kPath, Path{process, path.parent, path.region, path.site});
}

void StepWriter::message(const MessageStep& step) { put(Type::kMessage, step); }

void StepWriter::group(const GroupStep& step) { put(Type::kGroup, step); }

void StepWriter::entered_mpi(ProcessId process, Ticks time) {
  put(Type::kEnteredMpi, AtTime{process, time});
}

void StepWriter::left(const Call& call, const RegionKind&) { put(Type::kLeft, call); }

void StepWriter::segment(const paths::Segment& segment) {
  const SegmentHead head{segment.location, segment.last, segment.begin, segment.end};
  const std::size_t times = segment.times.size() * sizeof(paths::PathTime);
  const Header header{
      place_.ticks, place_.number,  static_cast<std::uint32_t>(sizeof head + times),
      place_.part,  Type::kSegment, {}};
  append(&header, sizeof header);
  append(&head, sizeof head);
  append(segment.times.data(), times);
  if (bytes_.size() >= batch_) flush();
}

void StepWriter::forked(LocationId location, PathId path, Ticks time, Ticks management,
                        LocationId master, Ticks first) {
  put(Type::kForked, Forked{location, path, master, time, management, first});
}

void StepWriter::forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                               Ticks first) {
  put(Type::kForkedMaster, Forked{location, path, {}, time, enter, first});
}

void StepWriter::fork(LocationId location, Ticks time, std::uint64_t threads) {
  put(Type::kFork, Fork{location, time, threads});
}

void StepWriter::join(LocationId location, Ticks time) {
  put(Type::kJoin, AtTime{location, time});
}

void StepWriter::waited(paths::WaitKind kind, const Call& call, Ticks ticks,
                        LocationId causer, Ticks until) {
  put(Type::kWaited, Waited{kind, causer, call, ticks, until});
}

void StepWriter::team(LocationId location, Ticks enter) {
  put(Type::kTeam, AtTime{location, enter});
}

StepBatch::StepBatch(exchange::Bytes bytes)
    : bytes_(std::move(bytes)), at_(StepWriter::kPrefix) {
  look();
}

void StepBatch::look() {
  if (at_ >= bytes_.size()) return;
  Header header;
  if (bytes_.size() - at_ >= sizeof header) {
    std::memcpy(&header, bytes_.data() + at_, sizeof header);
    if (header.type < Type::kCount && bytes_.size() - at_ - sizeof header >= header.bytes) {
      at_ += sizeof header;
      size_ = header.bytes;
      type_ = static_cast<std::uint8_t>(header.type);
      place_ = {header.part, header.ticks, header.number};
      return;
    }
  }
  damaged_ = true;
  at_ = bytes_.size();
}

template <typename Step>
Step StepBatch::step() const {
  Step out{};
  if (size_ >= sizeof out) std::memcpy(&out, bytes_.data() + at_, sizeof out);
  return out;
}

void StepBatch::take(ReplayState& state, JointSteps& to) {
  switch (static_cast<Type>(type_)) {
    case Type::kPath: {
      const auto path = step<Path>();
      state.processes[path.process].paths.child(path.parent, path.region, path.site);
      break;
    }
    case Type::kMessage:
      to.message(step<MessageStep>());
      break;
    case Type::kGroup:
      to.group(step<GroupStep>());
      break;
    case Type::kEnteredMpi: {
      const auto entered = step<AtTime>();
      to.entered_mpi(ProcessId(entered.number), entered.time);
      break;
    }
    case Type::kLeft: {
      const auto call = step<Call>();
      const auto& path = state.processes[call.process].paths.paths()[call.path];
      to.left(call, state.kinds[path.region]);
      break;
    }
    case Type::kSegment: {
      const auto head = step<SegmentHead>();
      segment_.location = head.location;
      segment_.last = head.last;
      segment_.begin = head.begin;
      segment_.end = head.end;
      segment_.times.resize((size_ - sizeof head) / sizeof(paths::PathTime));
      if (!segment_.times.empty())
        std::memcpy(segment_.times.data(), bytes_.data() + at_ + sizeof head,
                    segment_.times.size() * sizeof(paths::PathTime));
      to.segment(segment_);
      break;
    }
    case Type::kForked: {
      const auto fork = step<Forked>();
      to.forked(fork.location, fork.path, fork.time, fork.management, fork.master,
                fork.first);
      break;
    }
    case Type::kForkedMaster: {
      const auto fork = step<Forked>();
      to.forked_master(fork.location, fork.path, fork.time, fork.management, fork.first);
      break;
    }
    case Type::kFork: {
      const auto fork = step<Fork>();
      to.fork(fork.location, fork.time, fork.threads);
      break;
    }
    case Type::kJoin: {
      const auto join = step<AtTime>();
      to.join(LocationId(join.number), join.time);
      break;
    }
    case Type::kWaited: {
      const auto waited = step<Waited>();
      to.waited(waited.kind, waited.call, waited.ticks, waited.causer, waited.until);
      break;
    }
    case Type::kTeam: {
      const auto team = step<AtTime>();
      to.team(LocationId(team.number), team.time);
      break;
    }
    default:
      break;
  }
  at_ += size_;
  look();
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
