#include <fmt/chrono.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <utility>

#include "convert/formats.h"

namespace refrain::convert {
namespace {

namespace fs = std::filesystem;
using Kind = reader::EventKind;

constexpr std::uint64_t kDetail = 3, kNoDetail = 0;

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

bool adds_up(OTF2_MetricMode mode) {
  return (mode & OTF2_METRIC_VALUE_MASK) == OTF2_METRIC_VALUE_ACCUMULATED;
}

// Paraver's values are unsigned integers.
std::uint64_t whole(const reader::ExtraValue& value) {
  if (value.type == OTF2_TYPE_DOUBLE) {
    const double number = std::bit_cast<double>(value.bits);
    return number > 0 && number < 9e18 ? static_cast<std::uint64_t>(std::llround(number))
                                       : 0;
  }
  if (value.type == OTF2_TYPE_INT64 && static_cast<std::int64_t>(value.bits) < 0) return 0;
  return value.bits;
}

}  // namespace

ParaverSink::ParaverSink(std::string path)
    : path_(std::move(path)), records_(folder_of(path_)) {}

base::Result<> ParaverSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  if (!prv_.open(path_)) return base::Failure{prv_.error()};
  if (!pcf_.open(fs::path(path_).replace_extension(".pcf")))
    return base::Failure{pcf_.error()};
  if (!row_.open(fs::path(path_).replace_extension(".row")))
    return base::Failure{row_.error()};
  regions_ = paraver_regions(definitions);
  objects_ = paraver_objects(definitions);
  metric_types_ = paraver_metric_types(definitions);
  locations_.resize(definitions.locations.size());
  ended_.resize(definitions.processes.size());
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const reader::LocationInfo& location = definitions.locations[i];
    locations_[i].first_thread = location.thread == 0;
    if (location.thread == 0 || location.name == "Master thread")
      locations_[i].base = kRunning;
  }
  messages_ = std::make_unique<reader::MessageMatcher>(
      definitions,
      [this](const reader::MatchedMessage& message) { communication(message); });
  return {};
}

// A send is done when the message has arrived, at the latest.
void ParaverSink::communication(const reader::MatchedMessage& m) {
  const std::uint64_t sent = std::max(m.send.posted, std::min(m.send.done, m.receive.done));
  records_.communication({m.send.posted, sent, m.receive.posted, m.receive.done,
                          m.receive.bytes, m.send.location, m.receive.location,
                          m.channel.tag});
}

void ParaverSink::event(const reader::TraceEvent& event) {
  Location& location = locations_[event.location];
  if (!location.begun) begin_location(event, location);
  switch (event.kind) {
    case Kind::kEnter:
      enter(event, location);
      break;
    case Kind::kLeave:
      messages_->send_call_left(event.location, event.ns);
      leave(event, location);
      break;
    default:
      other(event, location);
  }
  update_state(event.location, location, event.ns);
}

void ParaverSink::begin_location(const reader::TraceEvent& event, Location& location) {
  location.begun = true;
  if (location.first_thread) records_.event(event.location, event.ns, kTypeApplication, 1);
  if (!definitions_->is_refrain()) return;
  records_.event(event.location, event.ns, kTypeTracing, 1);
  records_.event(event.location, event.ns, kTypeDetail, kDetail);
}

void ParaverSink::enter(const reader::TraceEvent& event, Location& location) {
  const ParaverRegion& region = regions_.regions[event.ref];
  Frame frame{event.ref, region.state, false, event.ns};
  if (region.is_loop) {
    // The surrounding state continues.
    frame.state = location.frames.empty() ? location.base : location.frames.back().state;
    enter_iteration(event, location);
  } else {
    records_.event(event.location, event.ns, region.type, region.value);
    if (region.has_line)
      records_.event(event.location, event.ns, region.type + kLineOffset, region.value);
  }
  const std::uint32_t site = region.is_mpi ? reader::call_site(event) : reader::kNone;
  frame.has_place = site != reader::kNone;
  if (frame.has_place)
    records_.event(event.location, event.ns, kTypeCallLine, std::uint64_t{site} + 1);
  location.frames.push(frame);
}

// Frames of suspended tasks need not be the innermost ones.
void ParaverSink::leave(const reader::TraceEvent& event, Location& location) {
  const ParaverRegion& region = regions_.regions[event.ref];
  const std::size_t ended = location.frames.ended_by(event.ref),
                    depth = location.frames.size() - ended;
  const bool known = ended != 0;
  if (region.is_loop) {
    if (known) leave_iteration(event.ns, location);
  } else {
    records_.event(event.location, event.ns, region.type, 0);
    if (region.has_line)
      records_.event(event.location, event.ns, region.type + kLineOffset, 0);
    if (known && location.frames[depth].has_place)
      records_.event(event.location, event.ns, kTypeCallLine, 0);
  }
  if (known) location.frames.remove(depth);
}

void ParaverSink::enter_iteration(const reader::TraceEvent& event, Location& location) {
  const std::size_t at = location.loops++;
  if (location.levels.size() <= at) location.levels.resize(at + 1);
  Level& level = location.levels[at];
  if (level.open &&
      (!definitions_->adjoins(level.ended_ns, event.ns) || level.region != event.ref))
    close_level(event.location, at, level.ended_ns);
  if (at == 0 && !level.open)
    records_.event(event.location, event.ns, kTypePeriod,
                   regions_.regions[event.ref].value);
  level.open = true;
  level.ended = false;
  level.region = event.ref;
}

void ParaverSink::leave_iteration(std::uint64_t ns, Location& location) {
  if (location.loops == 0) return;
  Level& level = location.levels[--location.loops];
  level.ended = true;
  level.ended_ns = ns;
}

void ParaverSink::close_level(LocationId location, std::size_t at, std::uint64_t ns) {
  Level& level = locations_[location].levels[at];
  if (!level.open) return;
  level.open = false;
  const auto type = at == 0 ? static_cast<std::uint32_t>(kTypeIteration)
                            : kTypeInnerIteration + static_cast<std::uint32_t>(at);
  records_.event(location, ns, type, 0);
  if (at == 0) records_.event(location, ns, kTypePeriod, 0);
}

void ParaverSink::iteration_number(const reader::TraceEvent& event,
                                   const Location& location) {
  if (location.frames.empty() || location.frames.back().region == reader::kNone) return;
  if (!regions_.regions[location.frames.back().region].is_loop || location.loops == 0)
    return;
  const std::size_t level = location.loops - 1;
  records_.event(event.location, event.ns,
                 level == 0 ? static_cast<std::uint32_t>(kTypeIteration)
                            : kTypeInnerIteration + static_cast<std::uint32_t>(level),
                 event.value + 1);
}

void ParaverSink::device_bytes(const reader::TraceEvent& event, const Location& location) {
  if (location.frames.empty() || location.frames.back().region == reader::kNone) return;
  if (regions_.regions[location.frames.back().region].type == kTypeTargetData)
    records_.event(event.location, event.ns, kTypeTargetBytes, event.value);
}

void ParaverSink::other(const reader::TraceEvent& event, Location& location) {
  switch (event.kind) {
    case Kind::kMpiSend:
    case Kind::kMpiIsend:
    case Kind::kMpiIrecvRequest:
    case Kind::kMpiRequestCancelled:
    case Kind::kMpiRecv:
    case Kind::kMpiIrecv:
      return messages_->event(
          event, location.frames.empty() ? event.ns : location.frames.back().begin_ns);
    case Kind::kMpiCollectiveEnd:
    case Kind::kNonBlockingCollectiveComplete:
      return collective(event, location);
    case Kind::kMeasurementOnOff:
      return on_off(event, location);
    case Kind::kOmpFork:
    case Kind::kThreadFork:
      records_.event(event.location, event.ns, kTypeParallel, 3);
      location.frames.push({reader::kNone, kForkJoin, false, event.ns});
      return;
    case Kind::kOmpJoin:
    case Kind::kThreadJoin:
      records_.event(event.location, event.ns, kTypeParallel, 0);
      if (const std::size_t ended = location.frames.ended_by(reader::kNone))
        location.frames.remove(location.frames.size() - ended);
      return;
    case Kind::kParameterUnsignedInt:
      device_bytes(event, location);
      [[fallthrough]];
    case Kind::kParameterInt:
      return iteration_number(event, location);
    case Kind::kMetric:
      return metric(event, location);
    case Kind::kBufferFlush: {
      const std::uint64_t end = std::max(event.ns, definitions_->ns(event.value));
      records_.event(event.location, event.ns, kTypeFlush, 1);
      records_.late_event(event.location, end, kTypeFlush, 0);
      return;
    }
    case Kind::kProgramEnd: {
      const std::uint32_t process = definitions_->locations[event.location].process;
      if (location.first_thread && !ended_[process])
        records_.event(event.location, event.ns, kTypeApplication, 0);
      if (location.first_thread) ended_[process] = true;
      return;
    }
    default:
      return task(event);
  }
}

void ParaverSink::task(const reader::TraceEvent& event) {
  switch (event.kind) {
    case Kind::kThreadTaskCreate:
    case Kind::kThreadTaskSwitch:
      // Number 0 is the implicit task.
      records_.event(event.location, event.ns, kTypeTaskId,
                     event.value == 0 ? 0 : std::uint64_t{event.tag} << 32 | event.value);
      return;
    case Kind::kOmpTaskCreate:
    case Kind::kOmpTaskSwitch:
      records_.event(event.location, event.ns, kTypeTaskId, event.value);
      return;
    case Kind::kThreadTaskComplete:
    case Kind::kOmpTaskComplete:
      records_.event(event.location, event.ns, kTypeTaskId, 0);
      return;
    default:
      return;
  }
}

void ParaverSink::collective(const reader::TraceEvent& event, const Location& location) {
  const std::uint32_t process = definitions_->locations[event.location].process;
  std::uint64_t ns = event.ns;
  if (event.kind == Kind::kMpiCollectiveEnd && !location.frames.empty())
    ns = location.frames.back().begin_ns;
  records_.event(event.location, ns, kTypeBytesSent, event.bytes);
  records_.event(event.location, ns, kTypeBytesReceived, event.received);
  if (event.peer == OTF2_COLLECTIVE_ROOT_SELF ||
      definitions_->process_of(event.ref, event.peer, ProcessId(process)) == process)
    records_.event(event.location, ns, kTypeRoot, 1);
  if (event.ref != reader::kNone)
    records_.event(event.location, ns, kTypeComm,
                   paraver_comm(*definitions_, event.ref, process));
}

void ParaverSink::metric(const reader::TraceEvent& event, Location& location) {
  const auto found = definitions_->metric_classes.find(event.ref);
  if (found == definitions_->metric_classes.end()) return;
  if (location.counters.empty()) location.counters.resize(metric_types_.size());
  for (std::uint16_t i = 0; i < event.metrics && i < found->second.size(); ++i) {
    const std::uint32_t metric = found->second[i];
    if (metric == reader::kNone) continue;
    std::uint64_t value = whole(event.extras[i]);
    if (adds_up(definitions_->metrics[metric].mode)) {
      const std::uint64_t before = std::exchange(location.counters[metric], value);
      value = value > before ? value - before : 0;
    }
    records_.event(event.location, event.ns, metric_types_[metric], value);
  }
}

void ParaverSink::on_off(const reader::TraceEvent& event, Location& location) {
  const bool on = event.op == OTF2_MEASUREMENT_ON;
  location.off = !on;
  records_.event(event.location, event.ns, kTypeTracing, on ? 1 : 0);
  records_.event(event.location, event.ns, kTypeDetail, on ? kDetail : kNoDetail);
}

void ParaverSink::update_state(LocationId index, Location& location, std::uint64_t ns) {
  std::uint8_t state = location.base;
  if (location.off)
    state = kTracingDisabled;
  else if (!location.frames.empty())
    state = location.frames.back().state;
  if (state == location.state) return;
  records_.state(index, location.since, ns, location.state);
  location.state = state;
  location.since = ns;
}

std::string ParaverSink::header(std::uint64_t end_ns) const {
  const reader::TraceDefinitions& d = *definitions_;
  const std::time_t when = d.realtime_ns != 0
                               ? static_cast<std::time_t>(d.realtime_ns / 1'000'000'000)
                               : std::time(nullptr);
  std::string text = fmt::format("#Paraver ({:%d/%m/%Y at %H:%M}):{}_ns:{}(",
                                 fmt::localtime(when), end_ns, d.nodes.size());
  for (std::size_t i = 0; i < objects_.node_cpus.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", objects_.node_cpus[i]);
  text += fmt::format("):1:{}(", d.processes.size());
  for (std::size_t i = 0; i < d.processes.size(); ++i)
    text += fmt::format("{}{}:{}", i == 0 ? "" : ",", d.processes[i].locations.size(),
                        d.processes[i].node + 1);
  text += ')';
  std::string comms;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < d.comms.size(); ++i) {
    const reader::CommInfo& comm = d.comms[i];
    if (comm.self)
      for (std::uint32_t process = 0; process < d.processes.size(); ++process, ++count)
        comms += fmt::format("c:1:{}:1:{}\n", paraver_comm(d, i, process), process + 1);
    if (comm.self || comm.group == reader::kNone) continue;
    std::vector<ProcessId> members = d.groups[comm.group];
    if (comm.remote != reader::kNone)
      members.insert(members.end(), d.groups[comm.remote].begin(),
                     d.groups[comm.remote].end());
    std::erase(members, ProcessId{reader::kNone});
    comms += fmt::format("c:1:{}:{}", i + 1, members.size());
    for (const ProcessId member : members) comms += fmt::format(":{}", member + 1);
    comms += '\n';
    ++count;
  }
  if (count != 0) text += fmt::format(",{}", count);
  return text + '\n' + comms;
}

base::Result<> ParaverSink::finish(std::uint64_t end_ns) {
  messages_->flush();
  end_ns = std::max(end_ns, records_.last_ns());
  std::vector<std::string> objects;
  for (LocationId i; i < locations_.size(); ++i) {
    Location& location = locations_[i];
    const reader::LocationInfo& info = definitions_->locations[i];
    records_.state(i, location.since, end_ns, location.state);
    for (std::size_t level = 0; level < location.levels.size(); ++level)
      close_level(i, level,
                  location.levels[level].ended ? location.levels[level].ended_ns : end_ns);
    if (location.first_thread && location.begun && !ended_[info.process])
      records_.event(i, end_ns, kTypeApplication, 0);
    objects.push_back(
        fmt::format("{}:1:{}:{}:", objects_.cpus[i], info.process + 1, info.thread + 1));
  }
  if (messages_->unmatched_sends() + messages_->unmatched_receives() +
          messages_->unknown() !=
      0)
    notes_.push_back(fmt::format(
        "{} sends and {} receives have no other end in the archive, {} ends have no known "
        "communicator: they are not communications in the Paraver trace",
        messages_->unmatched_sends(), messages_->unmatched_receives(),
        messages_->unknown()));
  prv_.text(header(end_ns));
  records_.write(prv_, objects, share_);
  write_pcf(pcf_, *definitions_, regions_, metric_types_);
  write_row(row_, *definitions_, objects_);
  if (std::string error = records_.error(); !error.empty()) return base::Failure{error};
  if (const auto done = pcf_.finish(); !done) return done;
  if (const auto done = row_.finish(); !done) return done;
  return prv_.finish();
}

}  // namespace refrain::convert
