// Events with their state: one after the other and in a window, or many as arrays.
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "python/module/reading.h"
#include "reader/trace_access.h"

namespace refrain::python {
namespace {

using reader::EventId;
using reader::EventKind;
using reader::StatefulEvent;
using reader::TraceAccess;

constexpr std::uint64_t kMaxWindow = std::uint64_t{1} << 32;

struct Trace {
  Trace(const std::string& archive, std::uint64_t before, std::uint64_t after)
      : access(std::make_unique<TraceAccess>(TraceAccess::Window{
            std::min(before, kMaxWindow), std::min(after, kMaxWindow)})) {
    reading([&] { require(access->open(archive)); });
  }
  ~Trace() {
    const ReadingLock lock;
    access.reset();
  }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  const StatefulEvent* next() {
    const ReadingLock lock;
    const StatefulEvent* event = access->next();
    require(access->error());
    if (event == nullptr) warn_of_notes();
    return event;
  }
  const reader::TraceDefinitions& definitions() const { return access->definitions(); }
  std::int64_t ns(std::uint64_t ticks) const {
    return static_cast<std::int64_t>(definitions().ns(ticks));
  }

  std::unique_ptr<TraceAccess> access;
};
using TracePointer = std::shared_ptr<Trace>;

// A copy: the window moves on.
struct PyEvent {
  TracePointer trace;
  StatefulEvent event;
};

py::object id_of(EventId id) {
  return id.known() ? py::object(py::make_tuple(id.location, id.number))
                    : py::object(py::none());
}

py::object event_of(const TracePointer& trace, const StatefulEvent* event) {
  if (event == nullptr) return py::none();
  PyEvent copy{trace, *event};
  copy.event.event.extras = copy.event.extras.data();
  return py::cast(std::move(copy));
}

py::object region_name(const Trace& trace, std::uint32_t region) {
  const auto& regions = trace.definitions().regions;
  return region < regions.size() ? py::object(text(regions[region].name))
                                 : py::object(py::none());
}

// (region, ns of its enter, its Enter)
py::tuple open_region(const Trace& trace, const reader::OpenRegion& open) {
  return py::make_tuple(region_name(trace, open.region), trace.ns(open.enter_ticks),
                        id_of(open.enter));
}

py::object stack(const PyEvent& self) {
  const StatefulEvent* in_window = self.trace->access->find(self.event.id());
  if (in_window == nullptr)
    throw Error("the event is no longer in the window: its stack is not known any more");
  py::list out;
  for (const reader::OpenRegion& open : self.trace->access->open_regions(*in_window))
    out.append(open_region(*self.trace, open));
  return out;
}

py::dict end_of(const Trace& trace, const reader::MessageEnd& end) {
  py::dict out;
  out["event"] = id_of(end.event);
  out["enter"] = id_of(end.enter);
  out["ns"] = end.event.known() ? py::object(py::int_(trace.ns(end.ticks))) : py::none();
  out["enter_ns"] =
      end.event.known() ? py::object(py::int_(trace.ns(end.enter_ticks))) : py::none();
  out["begun_ns"] =
      end.event.known() ? py::object(py::int_(trace.ns(end.begun_ticks))) : py::none();
  return out;
}

py::object message(const PyEvent& self) {
  if (self.event.message == nullptr) return py::none();
  const reader::Message& from = *self.event.message;
  py::dict out;
  out["send"] = end_of(*self.trace, from.send);
  out["receive"] = end_of(*self.trace, from.receive);
  out["bytes"] = from.bytes;
  out["tag"] = from.tag;
  out["communicator"] = number(from.comm);
  return out;
}

py::object collective(const PyEvent& self) {
  if (self.event.collective == nullptr) return py::none();
  const reader::CollectiveInstance& from = *self.event.collective;
  py::list members;
  for (const auto& member : from.members) {
    py::dict each;
    each["rank"] = member.rank;
    each["enter"] = id_of(member.enter);
    each["end"] = id_of(member.end);
    each["enter_ns"] = self.trace->ns(member.enter_ticks);
    each["end_ns"] = self.trace->ns(member.end_ticks);
    members.append(each);
  }
  py::dict out;
  out["communicator"] = number(from.comm);
  out["number"] = from.number;
  out["operation"] = from.op;
  out["root"] = number(from.root);
  out["size"] = from.size;
  out["complete"] = from.complete();
  out["members"] = members;
  return out;
}

py::object team(const PyEvent& self) {
  if (self.event.team == nullptr) return py::none();
  py::list members;
  for (const EventId id : self.event.team->members) members.append(id_of(id));
  py::dict out;
  out["fork"] = id_of(self.event.team->fork);
  out["join"] = id_of(self.event.team->join);
  out["members"] = members;
  return out;
}

py::object barrier(const PyEvent& self) {
  if (self.event.barrier == nullptr) return py::none();
  py::list members;
  for (const auto& member : self.event.barrier->members) {
    py::dict each;
    each["enter"] = id_of(member.enter);
    each["leave"] = id_of(member.leave);
    each["enter_ns"] = self.trace->ns(member.enter_ticks);
    each["leave_ns"] = member.leave.known()
                           ? py::object(py::int_(self.trace->ns(member.leave_ticks)))
                           : py::none();
    members.append(each);
  }
  py::dict out;
  out["number"] = self.event.barrier->number;
  out["members"] = members;
  return out;
}

py::object request(const PyEvent& self) {
  const reader::RequestLinks& from = self.event.request;
  if (!from.begun.known()) return py::none();
  py::dict out;
  out["number"] = self.event.event.request;
  out["begun"] = id_of(from.begun);
  out["begun_ns"] = self.trace->ns(from.begun_ticks);
  out["before"] = id_of(from.before);
  out["after"] = id_of(from.after);
  return out;
}

// Many events, column by column. -1: there is none.
struct Columns {
  std::vector<std::uint32_t> location;
  std::vector<std::uint64_t> number, ticks;
  std::vector<std::int64_t> ns;
  std::vector<std::uint8_t> kind;
  std::vector<std::int64_t> region, enter_ns, peer, tag, communicator;
  std::vector<std::int32_t> depth;
  std::vector<std::uint64_t> bytes, request, value;
  std::vector<std::int64_t> other_location, other_number, other_enter_ns;

  void add(const Trace& trace, const StatefulEvent& from) {
    const reader::TraceEvent& event = from.event;
    const auto or_none = [](std::uint32_t value) {
      return value == reader::kNone ? std::int64_t{-1} : std::int64_t{value};
    };
    const bool mpi =
        event.kind >= EventKind::kMpiSend && event.kind <= EventKind::kCommDestroy;
    location.push_back(event.location);
    number.push_back(from.number);
    ticks.push_back(event.ticks);
    ns.push_back(trace.ns(event.ticks));
    kind.push_back(static_cast<std::uint8_t>(event.kind));
    region.push_back(from.of_iteration ? or_none(event.ref) : or_none(from.region.region));
    depth.push_back(from.in_region ? static_cast<std::int32_t>(from.region.depth) : -1);
    enter_ns.push_back(from.in_region ? trace.ns(from.region.enter_ticks) : -1);
    peer.push_back(or_none(event.peer));
    tag.push_back(mpi ? std::int64_t{event.tag} : -1);
    communicator.push_back(mpi ? or_none(event.ref) : -1);
    bytes.push_back(event.bytes);
    request.push_back(event.request);
    value.push_back(event.value);
    const reader::MessageEnd* other = nullptr;
    if (from.message != nullptr && from.message->complete())
      other = from.message->send.event == from.id() ? &from.message->receive
                                                    : &from.message->send;
    other_location.push_back(other == nullptr ? -1 : std::int64_t{other->event.location});
    other_number.push_back(
        other == nullptr ? -1 : static_cast<std::int64_t>(other->event.number));
    other_enter_ns.push_back(other == nullptr ? -1 : trace.ns(other->enter_ticks));
  }

  py::dict take() {
    py::dict out;
    out["location"] = array_of(std::move(location));
    out["number"] = array_of(std::move(number));
    out["ns"] = array_of(std::move(ns));
    out["ticks"] = array_of(std::move(ticks));
    out["kind"] = array_of(std::move(kind));
    out["region"] = array_of(std::move(region));
    out["depth"] = array_of(std::move(depth));
    out["enter_ns"] = array_of(std::move(enter_ns));
    out["peer"] = array_of(std::move(peer));
    out["tag"] = array_of(std::move(tag));
    out["communicator"] = array_of(std::move(communicator));
    out["bytes"] = array_of(std::move(bytes));
    out["request"] = array_of(std::move(request));
    out["value"] = array_of(std::move(value));
    out["other_location"] = array_of(std::move(other_location));
    out["other_number"] = array_of(std::move(other_number));
    out["other_enter_ns"] = array_of(std::move(other_enter_ns));
    return out;
  }
};

// The next events, `most` at most; none: the end.
py::object read(Trace& trace, std::size_t most) {
  Columns columns;
  const std::size_t count = reading([&] {
    std::size_t done = 0;
    for (; done < most; ++done) {
      const StatefulEvent* event = trace.access->next();
      require(trace.access->error());
      if (event == nullptr) break;
      columns.add(trace, *event);
    }
    return done;
  });
  return count == 0 ? py::object(py::none()) : py::object(columns.take());
}

py::list kinds() {
  py::list names;
  for (unsigned i = 0; i < static_cast<unsigned>(EventKind::kCount); ++i)
    names.append(reader::event_name(static_cast<EventKind>(i)));
  return names;
}

}  // namespace

void bind_trace(py::module_& module) {
  module.attr("event_kinds") = kinds();
  const auto field = [](auto member) {
    return [member](const PyEvent& self) { return self.event.event.*member; };
  };
  py::class_<PyEvent>(module, "Event")
      .def_property_readonly(
          "kind",
          [](const PyEvent& self) { return reader::event_name(self.event.event.kind); })
      .def_property_readonly("location", field(&reader::TraceEvent::location))
      .def_property_readonly("number",
                             [](const PyEvent& self) { return self.event.number; })
      .def_property_readonly("id",
                             [](const PyEvent& self) { return id_of(self.event.id()); })
      .def_property_readonly(
          "ns", [](const PyEvent& self) { return self.trace->ns(self.event.event.ticks); })
      .def_property_readonly("ticks", field(&reader::TraceEvent::ticks))
      .def_property_readonly("bytes", field(&reader::TraceEvent::bytes))
      .def_property_readonly("tag", field(&reader::TraceEvent::tag))
      .def_property_readonly("value", field(&reader::TraceEvent::value))
      .def_property_readonly(
          "peer", [](const PyEvent& self) { return number(self.event.event.peer); })
      .def_property_readonly("of_iteration",
                             [](const PyEvent& self) { return self.event.of_iteration; })
      .def_property_readonly("region",
                             [](const PyEvent& self) {
                               return region_name(*self.trace,
                                                  self.event.of_iteration
                                                      ? self.event.event.ref
                                                      : self.event.region.region);
                             })
      .def_property_readonly(
          "depth",
          [](const PyEvent& self) {
            return self.event.in_region ? static_cast<std::int64_t>(self.event.region.depth)
                                        : std::int64_t{-1};
          })
      .def_property_readonly(
          "enter", [](const PyEvent& self) { return id_of(self.event.region.enter); })
      .def_property_readonly(
          "enter_ns",
          [](const PyEvent& self) {
            return self.event.in_region
                       ? py::object(py::int_(self.trace->ns(self.event.region.enter_ticks)))
                       : py::object(py::none());
          })
      .def_property_readonly("leave",
                             [](const PyEvent& self) { return id_of(self.event.leave); })
      .def_property_readonly("stack", stack)
      .def_property_readonly("message", message)
      .def_property_readonly("request", request)
      .def_property_readonly("collective", collective)
      .def_property_readonly("team", team)
      .def_property_readonly("barrier", barrier);
  py::class_<Trace, TracePointer>(module, "Trace")
      .def(py::init<const std::string&, std::uint64_t, std::uint64_t>(), py::arg("archive"),
           py::arg("before"), py::arg("after"))
      .def("next", [](const TracePointer& self) { return event_of(self, self->next()); })
      .def(
          "find",
          [](const TracePointer& self, std::uint32_t location, std::uint64_t at) {
            return event_of(self, self->access->find({LocationId(location), at}));
          },
          py::arg("location"), py::arg("number"))
      .def(
          "read", [](Trace& self, std::size_t most) { return read(self, most); },
          py::arg("most"));
}

}  // namespace refrain::python
