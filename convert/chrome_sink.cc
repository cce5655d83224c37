#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "convert/formats.h"

namespace refrain::convert {
namespace {

using Kind = reader::EventKind;

const char* category(const reader::RegionInfo& region) {
  switch (region.paradigm) {
    case OTF2_PARADIGM_MPI:
      return "mpi";
    case OTF2_PARADIGM_OPENMP:
      return "openmp";
    case OTF2_PARADIGM_USER:
      return "user";
    case OTF2_PARADIGM_COMPILER:
      return "function";
    case OTF2_PARADIGM_CUDA:
      return "cuda";
    default:
      return "region";
  }
}

}  // namespace

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

base::Result<> ChromeSink::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  if (!file_.open(path_)) return base::Failure{file_.error()};
  for (const reader::LocationInfo& location : definitions.locations)
    locations_.emplace_back().ids =
        fmt::format("\"pid\":{},\"tid\":{},", location.process, location.thread);
  for (const reader::RegionInfo& region : definitions.regions) {
    regions_.push_back(fmt::format("\"name\":{},\"cat\":\"{}\"", json_string(region.name),
                                   region.is_loop ? "iteration" : category(region)));
    std::string place;
    if (!region.file.empty() && region.line != 0)
      place = fmt::format(",\"args\":{{\"file\":{},\"line\":{}}}", json_string(region.file),
                          region.line);
    places_.push_back(place + "}");
  }
  messages_ = std::make_unique<reader::MessageMatcher>(
      definitions, [this](const reader::MatchedMessage& found) { message(found); });
  file_.text(
      fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"creator\":{},"
                  "\"machine\":{}}},\"traceEvents\":[\n",
                  json_string(definitions.creator), json_string(definitions.machine)));
  names();
  if (!file_.error().empty()) return base::Failure{file_.error()};
  return {};
}

// Other events begin with a comma; the first name comes before all of them.
void ChromeSink::names() {
  file_.text("{\"ph\":\"M\",\"pid\":0,\"name\":\"trace\",\"args\":{}}");
  for (std::size_t i = 0; i < definitions_->processes.size(); ++i)
    file_.text(
        fmt::format(",\n{{\"ph\":\"M\",\"pid\":{0},\"name\":\"process_name\",\"args\":{{"
                    "\"name\":{1}}}}},\n"
                    "{{\"ph\":\"M\",\"pid\":{0},\"name\":\"process_sort_index\",\"args\":{{"
                    "\"sort_index\":"
                    "{0}}}}}",
                    i, json_string(definitions_->processes[i].name)));
  for (std::size_t i = 0; i < definitions_->locations.size(); ++i)
    file_.text(
        fmt::format(",\n{{\"ph\":\"M\",{0}\"name\":\"thread_name\",\"args\":{{\"name\":"
                    "{1}}}}},\n{{\"ph\":\"M\",{0}\"name\":\"thread_sort_index\","
                    "\"args\":{{\"sort_index\":{2}}}}}",
                    locations_[i].ids, json_string(definitions_->locations[i].name),
                    definitions_->locations[i].thread));
}

void ChromeSink::time(std::uint64_t ns) {
  file_.number(ns / 1000);
  const auto rest = static_cast<unsigned>(ns % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  file_.text({decimals, sizeof decimals});
}

// {"ph":"B","pid":0,"tid":0,"ts":1.000
void ChromeSink::open(char phase, const Location& location, std::uint64_t ns) {
  file_.text(",\n{\"ph\":\"");
  file_.put(phase);
  file_.text("\",");
  file_.text(location.ids);
  file_.text("\"ts\":");
  time(ns);
}

void ChromeSink::id(LocationId location, std::size_t level) {
  file_.text(",\"id\":\"");
  file_.number(location);
  file_.put('.');
  file_.number(level);
  file_.put('"');
}

void ChromeSink::event(const reader::TraceEvent& event) {
  Location& location = locations_[event.location];
  switch (event.kind) {
    case Kind::kEnter:
      return enter(event, location);
    case Kind::kLeave:
      messages_->send_call_left(event.location, event.ns);
      return leave(event, location);
    case Kind::kMeasurementOnOff:
      return on_off(event, location, event.op == OTF2_MEASUREMENT_ON);
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

void ChromeSink::enter(const reader::TraceEvent& event, Location& location) {
  location.after_iteration = false;
  if (definitions_->regions[event.ref].is_loop) {
    open('b', location, event.ns);
    id(event.location, location.iterations.size());
    file_.put(',');
    file_.text(regions_[event.ref]);
    file_.put('}');
    location.iterations.push_back({event.ref});
    location.after_iteration = true;
    return;
  }
  location.frames.push({event.ref, event.ns});
  open('B', location, event.ns);
  file_.put(',');
  file_.text(regions_[event.ref]);
  file_.text(places_[event.ref]);
}

void ChromeSink::leave(const reader::TraceEvent& event, Location& location) {
  location.after_iteration = false;
  if (definitions_->regions[event.ref].is_loop)
    return end_iteration(event.location, location, event.ns);
  const std::size_t ended = location.frames.ended_by(event.ref);
  not_nested_ += ended == 0 ? 1 : ended - 1;
  for (std::size_t i = 0; i < ended; ++i) end_region(location, event.ns);
}

void ChromeSink::end_region(Location& location, std::uint64_t ns) {
  location.frames.pop();
  open('E', location, ns);
  file_.put('}');
}

void ChromeSink::end_iteration(LocationId index, Location& location, std::uint64_t ns) {
  if (location.iterations.empty()) return;
  const Iteration iteration = location.iterations.back();
  location.iterations.pop_back();
  open('e', location, ns);
  id(index, location.iterations.size());
  file_.put(',');
  file_.text(regions_[iteration.region]);
  if (iteration.numbered) {
    file_.text(",\"args\":{\"iteration\":");
    file_.number(iteration.number);
    file_.put('}');
  }
  file_.put('}');
}

void ChromeSink::on_off(const reader::TraceEvent& event, Location& location, bool on) {
  if (location.off == !on) return;
  location.off = !on;
  open(on ? 'e' : 'b', location, event.ns);
  id(event.location, 0);
  file_.text(",\"name\":\"measurement off\",\"cat\":\"measurement off\"}");
}

// The end of an arrow lies inside the call in which the message arrived: at the end of the
// call it would lie after it.
void ChromeSink::message(const reader::MatchedMessage& message) {
  ++message_;
  const auto end = [&](char phase, const reader::MessageSide& side, std::uint64_t ns) {
    open(phase, locations_[side.location], ns);
    if (phase == 'f') file_.text(",\"bp\":\"e\"");
    file_.text(",\"id\":");
    file_.number(message_);
    file_.text(",\"name\":\"message\",\"cat\":\"message\",\"args\":{\"bytes\":");
    file_.number(message.receive.bytes);
    file_.text(",\"tag\":");
    file_.number(message.channel.tag);
    file_.text("}}");
  };
  const std::uint64_t arrived = message.receive.done;
  end('s', message.send, message.send.posted);
  end('f', message.receive, arrived > message.receive.posted ? arrived - 1 : arrived);
}

void ChromeSink::parameter(const reader::TraceEvent& event, Location& location) {
  if (location.after_iteration && event.kind != Kind::kParameterString) {
    location.iterations.back().numbered = true;
    location.iterations.back().number = static_cast<std::int64_t>(event.value);
    location.after_iteration = false;
    return;
  }
  const std::string name = event.ref < definitions_->parameters.size()
                               ? definitions_->parameters[event.ref].name
                               : "parameter";
  open('i', location, event.ns);
  file_.text(",\"s\":\"t\",\"cat\":\"parameter\",\"name\":" + json_string(name) +
             ",\"args\":{\"value\":");
  if (event.kind == Kind::kParameterString)
    file_.text(json_string(definitions_->text(static_cast<std::uint32_t>(event.value))));
  else if (event.kind == Kind::kParameterInt)
    file_.number(static_cast<std::int64_t>(event.value));
  else
    file_.number(event.value);
  file_.text("}}");
}

void ChromeSink::metric(const reader::TraceEvent& event, const Location& location) {
  const auto found = definitions_->metric_classes.find(event.ref);
  if (found == definitions_->metric_classes.end()) return;
  for (std::uint16_t i = 0; i < event.metrics && i < found->second.size(); ++i) {
    const std::uint32_t metric = found->second[i];
    if (metric == reader::kNone) continue;
    std::string value =
        definitions_->value_text(event.extras[i].type, event.extras[i].bits);
    if (value.find_first_of("naif") != std::string::npos)
      value = "0";  // not numbers in JSON
    open('C', location, event.ns);
    file_.text(fmt::format(
        ",\"name\":{},\"args\":{{\"value\":{}}}}}",
        json_string(definitions_->metrics[metric].name + " of thread " +
                    std::to_string(definitions_->locations[event.location].thread)),
        value));
  }
}

void ChromeSink::marker(const reader::MarkerInfo& marker) {
  if (marker.location < locations_.size()) {
    open('i', locations_[marker.location], marker.ns);
    file_.text(",\"s\":\"t\"");
  } else {
    file_.text(",\n{\"ph\":\"i\",\"pid\":0,\"tid\":0,\"ts\":");
    time(marker.ns);
    file_.text(",\"s\":\"g\"");
  }
  file_.text(",\"cat\":\"marker\",\"name\":" + json_string(marker.category) +
             ",\"args\":{\"text\":" + json_string(marker.text) + "}}");
}

base::Result<> ChromeSink::finish(std::uint64_t end_ns) {
  messages_->flush();
  for (LocationId i; i < locations_.size(); ++i) {
    Location& location = locations_[i];
    while (!location.frames.empty()) end_region(location, end_ns);
    while (!location.iterations.empty()) end_iteration(i, location, end_ns);
    reader::TraceEvent on;
    on.ns = end_ns;
    on.location = LocationId(i);
    on_off(on, location, true);
  }
  for (const reader::MarkerInfo& each : definitions_->markers) marker(each);
  file_.text("\n]}\n");
  if (not_nested_ != 0)
    notes_.push_back(
        fmt::format("{} regions are not nested in their thread (suspended tasks): "
                    "they end with the region around them, or not at all",
                    not_nested_));
  return file_.finish();
}

}  // namespace refrain::convert
