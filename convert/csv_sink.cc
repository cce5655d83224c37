#include <fmt/format.h>

#include "convert/formats.h"

namespace refrain::convert {
namespace {

using Kind = reader::EventKind;

// The columns of an event kind.
struct Columns {
  bool comm = false, peer = false, tag = false, bytes = false, received = false,
       request = false;
};

Columns columns_of(Kind kind) {
  switch (kind) {
    case Kind::kMpiSend:
    case Kind::kMpiRecv:
      return {.comm = true, .peer = true, .tag = true, .bytes = true};
    case Kind::kMpiIsend:
    case Kind::kMpiIrecv:
      return {.comm = true, .peer = true, .tag = true, .bytes = true, .request = true};
    case Kind::kMpiCollectiveEnd:
      return {.comm = true, .peer = true, .bytes = true, .received = true};
    case Kind::kNonBlockingCollectiveComplete:
      return {.comm = true, .peer = true, .bytes = true, .received = true, .request = true};
    case Kind::kMpiIsendComplete:
    case Kind::kMpiIrecvRequest:
    case Kind::kMpiRequestTest:
    case Kind::kMpiRequestCancelled:
    case Kind::kNonBlockingCollectiveRequest:
    case Kind::kRmaOpCompleteBlocking:
    case Kind::kRmaOpCompleteNonBlocking:
    case Kind::kRmaOpTest:
    case Kind::kRmaOpCompleteRemote:
    case Kind::kThreadAcquireLock:
    case Kind::kThreadReleaseLock:
    case Kind::kOmpAcquireLock:
    case Kind::kOmpReleaseLock:
    case Kind::kIoOperationTest:
    case Kind::kIoOperationIssued:
    case Kind::kIoOperationCancelled:
      return {.request = true};
    case Kind::kRmaRequestLock:
    case Kind::kRmaAcquireLock:
    case Kind::kRmaTryLock:
    case Kind::kRmaReleaseLock:
      return {.peer = true, .request = true};
    case Kind::kRmaPut:
    case Kind::kRmaGet:
      return {.peer = true, .bytes = true, .request = true};
    case Kind::kRmaAtomic:
      return {.peer = true, .bytes = true, .received = true, .request = true};
    case Kind::kRmaCollectiveEnd:
      return {.peer = true, .bytes = true, .received = true};
    case Kind::kRmaSync:
      return {.peer = true};
    case Kind::kIoOperationBegin:
    case Kind::kIoOperationComplete:
      return {.bytes = true, .request = true};
    case Kind::kThreadTaskCreate:
    case Kind::kThreadTaskSwitch:
    case Kind::kThreadTaskComplete:
      return {.comm = true, .tag = true};
    case Kind::kThreadTeamBegin:
    case Kind::kThreadTeamEnd:
    case Kind::kThreadCreate:
    case Kind::kThreadBegin:
    case Kind::kThreadWait:
    case Kind::kThreadEnd:
    case Kind::kCommCreate:
    case Kind::kCommDestroy:
      return {.comm = true};
    default:
      return {};
  }
}

bool of_window(Kind kind) {
  return kind >= Kind::kRmaWinCreate && kind <= Kind::kRmaOpCompleteRemote;
}

bool of_io(Kind kind) { return kind >= Kind::kIoCreateHandle && kind <= Kind::kIoTryLock; }

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

base::Result<> CsvSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  if (!file_.open(path_)) return base::Failure{file_.error()};
  for (const reader::LocationInfo& location : definitions.locations) {
    const reader::ProcessInfo& process = definitions.processes[location.process];
    places_.push_back(fmt::format(
        ",{},{},", process.rank != reader::kNone ? process.rank : location.process,
        location.thread));
  }
  for (const reader::RegionInfo& region : definitions.regions)
    regions_.push_back(fmt::format(",{},{},{},,,,,,,,", csv_field(region.name),
                                   csv_field(region.file),
                                   region.line == 0 ? "" : std::to_string(region.line)));
  for (const reader::CommInfo& comm : definitions.comms)
    comms_.push_back(csv_field(comm.name));
  file_.text(
      "time_ns,process,thread,event,name,file,line,communicator,peer,tag,bytes,received,"
      "request,value,attributes\r\n");
  if (!file_.error().empty()) return base::Failure{file_.error()};
  return {};
}

void CsvSink::event(const reader::TraceEvent& event) {
  if (next_marker_ < definitions_->markers.size()) markers_until(event.ns);
  file_.number(event.ns);
  file_.text(places_[event.location]);
  file_.text(reader::event_name(event.kind));
  if (event.kind == Kind::kEnter || event.kind == Kind::kLeave) {
    file_.text(regions_[event.ref]);
  } else {
    general(event);
  }
  if (event.attributes != 0) attributes(event);
  file_.text("\r\n");
}

void CsvSink::general(const reader::TraceEvent& event) {
  const Columns columns = columns_of(event.kind);
  file_.put(',');
  file_.text(csv_field(name_of(event)));
  file_.text(",,,");
  if (columns.comm && event.ref < comms_.size()) file_.text(comms_[event.ref]);
  file_.put(',');
  if (columns.peer && event.peer != reader::kNone) file_.number(event.peer);
  file_.put(',');
  if (columns.tag) file_.number(event.tag);
  file_.put(',');
  if (columns.bytes) file_.number(event.bytes);
  file_.put(',');
  if (columns.received) file_.number(event.received);
  file_.put(',');
  if (columns.request) file_.number(event.request);
  file_.put(',');
  file_.text(csv_field(value_of(event)));
  file_.put(',');
}

std::string CsvSink::name_of(const reader::TraceEvent& event) const {
  const reader::TraceDefinitions& d = *definitions_;
  switch (event.kind) {
    case Kind::kParameterInt:
    case Kind::kParameterUnsignedInt:
    case Kind::kParameterString:
      return event.ref < d.parameters.size() ? d.parameters[event.ref].name : std::string();
    case Kind::kMetric:
      return "metric " + std::to_string(event.ref);
    case Kind::kProgramBegin:
      return d.text(static_cast<std::uint32_t>(event.value));
    default:
      if (of_window(event.kind) && event.ref < d.windows.size())
        return d.windows[event.ref].name;
      if (of_io(event.kind)) return std::to_string(event.ref);
      return {};
  }
}

std::string CsvSink::value_of(const reader::TraceEvent& event) const {
  const reader::TraceDefinitions& d = *definitions_;
  switch (event.kind) {
    case Kind::kParameterInt:
    case Kind::kProgramEnd:
      return std::to_string(static_cast<std::int64_t>(event.value));
    case Kind::kParameterString:
      return d.text(static_cast<std::uint32_t>(event.value));
    case Kind::kMeasurementOnOff:
      return event.op == OTF2_MEASUREMENT_ON ? "on" : "off";
    case Kind::kBufferFlush:
      return std::to_string(d.ns(event.value));  // when it ended
    case Kind::kMpiCollectiveEnd:
    case Kind::kNonBlockingCollectiveComplete:
    case Kind::kRmaCollectiveEnd:
    case Kind::kRmaSync:
    case Kind::kRmaGroupSync:
    case Kind::kRmaAtomic:
    case Kind::kRmaRequestLock:
    case Kind::kRmaAcquireLock:
    case Kind::kRmaTryLock:
    case Kind::kThreadJoin:
    case Kind::kIoOperationBegin:
    case Kind::kIoAcquireLock:
    case Kind::kIoReleaseLock:
    case Kind::kIoTryLock:
      return std::to_string(event.op);
    case Kind::kParameterUnsignedInt:
    case Kind::kOmpFork:
    case Kind::kThreadFork:
    case Kind::kOmpAcquireLock:
    case Kind::kOmpReleaseLock:
    case Kind::kThreadAcquireLock:
    case Kind::kThreadReleaseLock:
    case Kind::kOmpTaskCreate:
    case Kind::kOmpTaskSwitch:
    case Kind::kOmpTaskComplete:
    case Kind::kThreadTaskCreate:
    case Kind::kThreadTaskSwitch:
    case Kind::kThreadTaskComplete:
    case Kind::kThreadCreate:
    case Kind::kThreadBegin:
    case Kind::kThreadWait:
    case Kind::kThreadEnd:
    case Kind::kIoSeek:
      return std::to_string(event.value);
    case Kind::kMetric: {
      const auto found = d.metric_classes.find(event.ref);
      std::string text;
      for (std::uint16_t i = 0; i < event.metrics; ++i) {
        const bool known = found != d.metric_classes.end() && i < found->second.size() &&
                           found->second[i] != reader::kNone;
        text += (i == 0 ? "" : ";") +
                (known ? d.metrics[found->second[i]].name : std::to_string(i)) + "=" +
                d.value_text(event.extras[i].type, event.extras[i].bits);
      }
      return text;
    }
    default:
      return {};
  }
}

void CsvSink::attributes(const reader::TraceEvent& event) {
  std::string text;
  for (std::uint32_t i = event.metrics; i < event.metrics + event.attributes; ++i) {
    const reader::ExtraValue& extra = event.extras[i];
    const auto name = definitions_->attributes.find(extra.ref);
    text += (text.empty() ? "" : ";") +
            (name != definitions_->attributes.end() ? name->second.name
                                                    : std::to_string(extra.ref)) +
            "=" + definitions_->value_text(extra.type, extra.bits);
  }
  file_.text(csv_field(text));
}

void CsvSink::markers_until(std::uint64_t ns) {
  const auto& markers = definitions_->markers;
  for (; next_marker_ < markers.size() && markers[next_marker_].ns <= ns; ++next_marker_)
    marker(markers[next_marker_]);
}

void CsvSink::marker(const reader::MarkerInfo& marker) {
  file_.number(marker.ns);
  file_.text(marker.location < places_.size() ? places_[marker.location] : ",,,");
  file_.text("Marker,");
  file_.text(csv_field(marker.category));
  file_.text(",,,,,,,,,");
  file_.text(csv_field(marker.text));
  file_.text(",\r\n");
}

base::Result<> CsvSink::finish(std::uint64_t) {
  markers_until(~std::uint64_t{0});
  return file_.finish();
}

}  // namespace refrain::convert
