#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "convert/formats.h"

namespace refrain::convert {
namespace {

using Kind = reader::EventKind;

// Numbers of fields, as Perfetto's .proto files have them.
namespace trace {
constexpr unsigned kPacket = 1;
}
namespace packet {
constexpr unsigned kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11,
                   kInternedData = 12, kSequenceFlags = 13, kCompressed = 50, kClockId = 58,
                   kDefaults = 59, kTrackDescriptor = 60;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
constexpr std::uint64_t kBootTime = 6, kIncremental = 64;  // clocks
}  // namespace packet
namespace clock_snapshot {
constexpr unsigned kClock = 1, kId = 1, kTimestamp = 2, kIsIncremental = 3;
}
namespace track {
constexpr unsigned kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5,
                   kCounter = 8;
constexpr unsigned kPid = 1, kTid = 2, kThreadName = 5, kProcessName = 6;
constexpr unsigned kUnitName = 6;  // of a counter
}  // namespace track
namespace track_event {
constexpr unsigned kCategoryIid = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11,
                   kName = 23, kCounterValue = 30, kSourceIid = 34, kDoubleValue = 44,
                   kFlow = 47, kFlowEnd = 48;
constexpr unsigned kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
}  // namespace track_event
namespace annotation {
constexpr unsigned kNameIid = 1, kUnsigned = 3, kSigned = 4, kText = 6;
}
namespace interned {
constexpr unsigned kCategory = 1, kEventName = 2, kAnnotationName = 3, kSource = 4;
constexpr unsigned kIid = 1, kName = 2;
constexpr unsigned kFile = 2, kLine = 4;  // of a source location
}  // namespace interned

constexpr const char* kCategories[] = {"region", "mpi",       "openmp",  "user", "function",
                                       "cuda",   "iteration", "message", "other"};
enum Category : unsigned {
  kRegion,
  kMpi,
  kOpenMp,
  kUser,
  kFunction,
  kCuda,
  kIterations,
  kMessage,
  kOther
};

constexpr const char* kAnnotations[] = {"bytes", "tag", "iteration", "value", "text"};
enum Annotation : unsigned { kBytes, kTag, kIterationNumber, kValue, kText };

// Names of events come after those of regions, and then those of parameters.
enum OwnName : std::uint64_t { kOff, kSend, kReceive, kOwnNames };

constexpr std::size_t kChunk = 256 << 10;  // half of what Perfetto allows

Category category_of(const reader::RegionInfo& region) {
  if (region.is_loop) return kIterations;
  switch (region.paradigm) {
    case OTF2_PARADIGM_MPI:
      return kMpi;
    case OTF2_PARADIGM_OPENMP:
      return kOpenMp;
    case OTF2_PARADIGM_USER:
      return kUser;
    case OTF2_PARADIGM_COMPILER:
      return kFunction;
    case OTF2_PARADIGM_CUDA:
      return kCuda;
    default:
      return kRegion;
  }
}

}  // namespace

base::Result<> PerfettoSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  if (!file_.open(path_)) return base::Failure{file_.error()};
  interned_.assign(
      definitions.regions.size() + kOwnNames + definitions.parameters.size() + 1, false);
  locations_.resize(definitions.locations.size());
  messages_ = std::make_unique<reader::MessageMatcher>(
      definitions, [this](const reader::MatchedMessage& found) { message(found); });
  start();
  tracks();
  if (!file_.error().empty()) return base::Failure{file_.error()};
  return {};
}

// The first packet of the sequence: its clock, what packets have if they do not say otherwise, and names.
void PerfettoSink::start() {
  packet_.clear();
  packet_.number(packet::kTimestamp, 0);
  packet_.number(packet::kClockId, packet::kBootTime);
  packet_.number(packet::kSequence, 1);
  packet_.number(packet::kSequenceFlags, packet::kStateCleared);
  data_.clear();
  for (const std::uint64_t id : {packet::kBootTime, packet::kIncremental}) {
    inner_.clear();
    inner_.number(clock_snapshot::kId, id);
    inner_.number(clock_snapshot::kTimestamp, 0);
    if (id == packet::kIncremental) inner_.number(clock_snapshot::kIsIncremental, 1);
    data_.message(clock_snapshot::kClock, inner_);
  }
  packet_.message(packet::kClockSnapshot, data_);
  inner_.clear();
  inner_.number(packet::kClockId, packet::kIncremental);
  packet_.message(packet::kDefaults, inner_);
  data_.clear();
  const auto intern = [&](unsigned field, const auto& names) {
    std::uint64_t iid = 0;
    for (const char* each : names) {
      inner_.clear();
      inner_.number(interned::kIid, ++iid);
      inner_.text(interned::kName, each);
      data_.message(field, inner_);
    }
  };
  intern(interned::kCategory, kCategories);
  intern(interned::kAnnotationName, kAnnotations);
  packet_.message(packet::kInternedData, data_);
  put_packet();
}

void PerfettoSink::tracks() {
  std::uint64_t tid = 0;
  for (const reader::ProcessInfo& process : definitions_->processes) {
    const std::uint64_t pid = tid + 1;
    const std::uint64_t of_process = next_track_++;
    inner_.clear();
    inner_.number(track::kPid, pid);
    inner_.text(track::kProcessName, process.name);
    data_.clear();
    data_.number(track::kUuid, of_process);
    data_.message(track::kProcess, inner_);
    packet_.clear();
    packet_.number(packet::kSequence, 1);
    packet_.message(packet::kTrackDescriptor, data_);
    put_packet();
    for (const LocationId location : process.locations) {
      inner_.clear();
      inner_.number(track::kPid, pid);
      inner_.number(track::kTid, ++tid);
      inner_.text(track::kThreadName, definitions_->locations[location].name);
      data_.clear();
      data_.number(track::kUuid, locations_[location].track = next_track_++);
      data_.number(track::kParent, of_process);
      data_.message(track::kThread, inner_);
      packet_.clear();
      packet_.number(packet::kSequence, 1);
      packet_.message(packet::kTrackDescriptor, data_);
      put_packet();
    }
  }
}

std::uint64_t PerfettoSink::child_track(std::uint64_t parent, std::string_view name,
                                        const std::string* unit) {
  data_.clear();
  data_.number(track::kUuid, next_track_);
  data_.text(track::kName, name);
  if (parent != 0) data_.number(track::kParent, parent);
  if (unit != nullptr) {
    inner_.clear();
    inner_.text(track::kUnitName, *unit);
    data_.message(track::kCounter, inner_);
  }
  packet_.clear();
  packet_.number(packet::kSequence, 1);
  packet_.message(packet::kTrackDescriptor, data_);
  put_packet();
  return next_track_++;
}

// The event that is being made: after it come its name and annotations, and then it is put.
void PerfettoSink::begin_event(unsigned type, std::uint64_t track) {
  data_.clear();
  event_.clear();
  event_.number(track_event::kType, type);
  event_.number(track_event::kTrack, track);
}

void PerfettoSink::name(std::uint64_t iid, std::string_view text) {
  event_.number(track_event::kNameIid, iid);
  if (interned_[iid]) return;
  interned_[iid] = true;
  inner_.clear();
  inner_.number(interned::kIid, iid);
  inner_.text(interned::kName, text);
  data_.message(interned::kEventName, inner_);
}

void PerfettoSink::annotate(unsigned name, std::uint64_t value, bool is_signed) {
  inner_.clear();
  inner_.number(annotation::kNameIid, name + 1);
  inner_.number(is_signed ? annotation::kSigned : annotation::kUnsigned, value);
  event_.message(track_event::kAnnotation, inner_);
}

void PerfettoSink::annotate_text(unsigned name, std::string_view text) {
  inner_.clear();
  inner_.number(annotation::kNameIid, name + 1);
  inner_.text(annotation::kText, text);
  event_.message(track_event::kAnnotation, inner_);
}

// At a time that is not before that of the event before.
void PerfettoSink::put_event(std::uint64_t ns) {
  packet_.clear();
  packet_.number(packet::kTimestamp, ns - std::min(ns, last_ns_));
  last_ns_ = std::max(last_ns_, ns);
  packet_.number(packet::kSequence, 1);
  packet_.number(packet::kSequenceFlags, packet::kNeedsState);
  if (!data_.bytes().empty()) packet_.message(packet::kInternedData, data_);
  packet_.message(packet::kTrackEvent, event_);
  put_packet();
}

// At any time.
void PerfettoSink::put_apart(std::uint64_t ns) {
  packet_.clear();
  packet_.number(packet::kTimestamp, ns);
  packet_.number(packet::kClockId, packet::kBootTime);
  packet_.number(packet::kSequence, 1);
  packet_.number(packet::kSequenceFlags, packet::kNeedsState);
  if (!data_.bytes().empty()) packet_.message(packet::kInternedData, data_);
  packet_.message(packet::kTrackEvent, event_);
  put_packet();
}

void PerfettoSink::put_packet() {
  packets_.message(trace::kPacket, packet_);
  if (packets_.bytes().size() >= kChunk) write_packets();
}

void PerfettoSink::write_packets() {
  if (packets_.bytes().empty()) return;
  const std::string compressed = compress_ ? compress_(packets_.bytes()) : std::string();
  if (compressed.empty()) {
    file_.text(packets_.bytes());
  } else {
    packet_.clear();
    packet_.text(packet::kCompressed, compressed);
    part_.clear();
    part_.message(trace::kPacket, packet_);
    file_.text(part_.bytes());
  }
  packets_.clear();
}

void PerfettoSink::event(const reader::TraceEvent& event) {
  Location& location = locations_[event.location];
  switch (event.kind) {
    case Kind::kEnter:
      return enter(event, location);
    case Kind::kLeave:
      messages_->send_call_left(event.location, event.ns);
      return leave(event, location);
    case Kind::kMeasurementOnOff:
      return on_off(location, event.ns, event.op == OTF2_MEASUREMENT_ON);
    case Kind::kParameterInt:
    case Kind::kParameterUnsignedInt:
    case Kind::kParameterString:
      return parameter(event, location);
    case Kind::kMetric:
      return metric(event, location);
    default:
      return messages_->event(
          event, location.frames.empty() ? event.ns : location.frames.back().begin_ns);
  }
}

void PerfettoSink::enter(const reader::TraceEvent& event, Location& location) {
  const reader::RegionInfo& region = definitions_->regions[event.ref];
  location.after_iteration = region.is_loop;
  std::uint64_t track = location.track;
  if (region.is_loop) {
    if (location.iterations_track == 0)
      location.iterations_track = child_track(location.track, "iterations");
    track = location.iterations_track;
    location.iterations.emplace_back();
  } else {
    location.frames.push({event.ref, event.ns});
  }
  begin_event(track_event::kBegin, track);
  event_.number(track_event::kCategoryIid, category_of(region) + 1);
  const std::uint64_t iid = event.ref + std::uint64_t{1};
  const bool is_new = !interned_[iid];
  name(iid, region.name);
  if (!region.file.empty() && region.line != 0) {
    event_.number(track_event::kSourceIid, iid);
    if (is_new) {
      inner_.clear();
      inner_.number(interned::kIid, iid);
      inner_.text(interned::kFile, region.file);
      inner_.number(interned::kLine, region.line);
      data_.message(interned::kSource, inner_);
    }
  }
  put_event(event.ns);
}

void PerfettoSink::leave(const reader::TraceEvent& event, Location& location) {
  location.after_iteration = false;
  if (definitions_->regions[event.ref].is_loop) return end_iteration(location, event.ns);
  const std::size_t ended = location.frames.ended_by(event.ref);
  not_nested_ += ended == 0 ? 1 : ended - 1;
  for (std::size_t i = 0; i < ended; ++i) {
    location.frames.pop();
    end_slice(location.track, event.ns);
  }
}

void PerfettoSink::end_slice(std::uint64_t track, std::uint64_t ns) {
  begin_event(track_event::kEnd, track);
  put_event(ns);
}

void PerfettoSink::end_iteration(Location& location, std::uint64_t ns) {
  if (location.iterations.empty()) return;
  const Iteration iteration = location.iterations.back();
  location.iterations.pop_back();
  begin_event(track_event::kEnd, location.iterations_track);
  if (iteration.numbered) annotate(kIterationNumber, iteration.number);
  put_event(ns);
}

void PerfettoSink::on_off(Location& location, std::uint64_t ns, bool on) {
  if (location.off == !on) return;
  location.off = !on;
  if (location.off_track == 0)
    location.off_track = child_track(location.track, "measurement off");
  if (on) return end_slice(location.off_track, ns);
  begin_event(track_event::kBegin, location.off_track);
  event_.number(track_event::kCategoryIid, kOther + 1);
  name(definitions_->regions.size() + 1 + kOff, "measurement off");
  put_event(ns);
}

// The end of an arrow lies inside the call in which the message arrived.
void PerfettoSink::message(const reader::MatchedMessage& message) {
  ++message_;
  const auto end = [&](OwnName own, const char* text, const reader::MessageSide& side,
                       std::uint64_t ns) {
    begin_event(track_event::kInstant, locations_[side.location].track);
    event_.number(track_event::kCategoryIid, kMessage + 1);
    name(definitions_->regions.size() + 1 + own, text);
    annotate(kBytes, message.receive.bytes);
    annotate(kTag, message.channel.tag);
    event_.fixed(own == kSend ? track_event::kFlow : track_event::kFlowEnd, message_);
    put_apart(ns);
  };
  const std::uint64_t arrived = message.receive.done;
  end(kSend, "send", message.send, message.send.posted);
  end(kReceive, "receive", message.receive,
      arrived > message.receive.posted ? arrived - 1 : arrived);
}

void PerfettoSink::parameter(const reader::TraceEvent& event, Location& location) {
  if (location.after_iteration && event.kind != Kind::kParameterString) {
    location.iterations.back() = {true, event.value};
    location.after_iteration = false;
    return;
  }
  const bool known = event.ref < definitions_->parameters.size();
  begin_event(track_event::kInstant, location.track);
  event_.number(track_event::kCategoryIid, kOther + 1);
  name(definitions_->regions.size() + 1 + kOwnNames +
           (known ? event.ref : definitions_->parameters.size()),
       known ? definitions_->parameters[event.ref].name : "parameter");
  if (event.kind == Kind::kParameterString)
    annotate_text(kValue, definitions_->text(static_cast<std::uint32_t>(event.value)));
  else
    annotate(kValue, event.value, event.kind == Kind::kParameterInt);
  put_event(event.ns);
}

void PerfettoSink::metric(const reader::TraceEvent& event, Location& location) {
  const auto found = definitions_->metric_classes.find(event.ref);
  if (found == definitions_->metric_classes.end()) return;
  for (std::uint16_t i = 0; i < event.metrics && i < found->second.size(); ++i) {
    const std::uint32_t metric = found->second[i];
    if (metric == reader::kNone) continue;
    if (metric >= location.counters.size())
      location.counters.resize(metric + std::size_t{1});
    const reader::MetricInfo& info = definitions_->metrics[metric];
    if (location.counters[metric] == 0)
      location.counters[metric] = child_track(location.track, info.name, &info.unit);
    const reader::ExtraValue& value = event.extras[i];
    begin_event(track_event::kCounter, location.counters[metric]);
    if (value.type == OTF2_TYPE_DOUBLE)
      event_.fixed(track_event::kDoubleValue, value.bits);
    else if (value.type == OTF2_TYPE_FLOAT)
      event_.fixed(track_event::kDoubleValue,
                   std::bit_cast<std::uint64_t>(static_cast<double>(
                       std::bit_cast<float>(static_cast<std::uint32_t>(value.bits)))));
    else
      event_.number(track_event::kCounterValue, value.bits);
    put_event(event.ns);
  }
}

void PerfettoSink::marker(const reader::MarkerInfo& marker) {
  std::uint64_t track = markers_track_;
  if (marker.location < locations_.size())
    track = locations_[marker.location].track;
  else if (track == 0)
    track = markers_track_ = child_track(0, "markers");
  begin_event(track_event::kInstant, track);
  event_.number(track_event::kCategoryIid, kOther + 1);
  event_.text(track_event::kName, marker.category);
  annotate_text(kText, marker.text);
  put_apart(marker.ns);
}

base::Result<> PerfettoSink::finish(std::uint64_t end_ns) {
  messages_->flush();
  for (Location& location : locations_) {
    for (; !location.frames.empty(); location.frames.pop())
      end_slice(location.track, end_ns);
    while (!location.iterations.empty()) end_iteration(location, end_ns);
    on_off(location, end_ns, true);
  }
  for (const reader::MarkerInfo& each : definitions_->markers) marker(each);
  write_packets();
  if (not_nested_ != 0)
    notes_.push_back(
        fmt::format("{} regions are not nested in their thread (suspended tasks): "
                    "they end with the region around them, or not at all",
                    not_nested_));
  return file_.finish();
}

}  // namespace refrain::convert
