// What patterns of Python get: compound events, copied, and a way to charge time.
#include <pybind11/stl.h>

#include <array>
#include <exception>
#include <span>
#include <vector>

#include "python/module/python_pattern.h"
#include "python/module/reading.h"

namespace refrain::python {
namespace {

using Owner = std::shared_ptr<PythonPattern>;

struct PyCall {
  refrain_call call;
  Owner pattern;
  std::uint64_t sequence;

  std::uint64_t take(std::uint64_t wanted) const {
    return pattern->take(call, sequence, wanted);
  }
  std::uint64_t wait_until(std::uint64_t time) const {
    const std::uint64_t end = std::min(time, call.leave);
    return end > call.enter ? end - call.enter : 0;
  }
};

struct PyAccess {
  PyCall call;
  std::uint64_t posted;
};
struct PyLockAccess {
  PyCall call;
  std::uint32_t target;
  std::uint64_t progress;
};

// An event with its calls as Python has them.
struct PyReceive {
  PyCall call;
  std::vector<refrain_message> messages;
};
struct PyLateSender {
  PyCall call;
  refrain_message message;
  std::uint64_t wait;
};
struct PySend {
  PyCall call;
  std::vector<refrain_posted> posted;
  bool late_sender;
};
struct PyCollective {
  PyCall call;
  refrain_collective member;
};
struct PyCompletion {
  PyCall call;
  std::uint64_t until;
};
struct PyAccessEpoch {
  PyCall start, complete;
  std::vector<PyAccess> accesses;
  std::uint64_t latest_post;
};
struct PyExposureEpoch {
  PyCall wait;
  std::uint64_t latest_complete, last_access;
};
struct PyLockEpoch {
  std::vector<PyLockAccess> accesses;
  std::uint64_t released;
};
struct PyBarrier {
  PyCall call;
  bool is_explicit;
  std::uint64_t latest_enter;
  std::uint64_t ran;
};
struct PyTaskWait {
  PyCall call;
  std::uint64_t children_done;
  std::uint64_t ran;
};

constexpr std::array<const char*, REFRAIN_EVENT_KINDS> kMethods = {
    "begin",        "call",           "receive",    "late_sender",
    "wrong_order",  "send",           "collective", "collective_completion",
    "access_epoch", "exposure_epoch", "lock_epoch", "barrier",
    "task_wait",    "fork",           "lock_wait",  "left_out",
    "finish"};

constexpr std::array<const char*, REFRAIN_KIND_OTHER + 1> kCollectiveKinds = {
    "barrier", "one_to_all", "all_to_one",  "all_to_all",   "scan",  "neighbours",
    "init",    "finalize",   "window_made", "window_freed", "fence", "other"};

template <typename T>
const T& as(const void* event) {
  return *static_cast<const T*>(event);
}

// What the method of an event's kind gets.
py::object argument(const Owner& owner, std::uint32_t kind, const void* event) {
  const auto call = [&](const refrain_call& from) {
    return PyCall{from, owner, owner->sequence()};
  };
  switch (kind) {  // NOLINTBEGIN(bugprone-branch-clone): each is of a type of its own
    case REFRAIN_BEGIN:
      return py::cast(as<refrain_run>(event));
    case REFRAIN_CALL:
      return py::cast(call(as<refrain_call>(event)));
    case REFRAIN_RECEIVE: {
      const auto& it = as<refrain_receive>(event);
      return py::cast(PyReceive{call(it.call), {it.messages, it.messages + it.count}});
    }
    case REFRAIN_LATE_SENDER: {
      const auto& it = as<refrain_late_sender>(event);
      return py::cast(PyLateSender{call(it.call), it.message, it.wait});
    }
    case REFRAIN_WRONG_ORDER:
      return py::cast(as<refrain_wrong_order>(event));
    case REFRAIN_SEND: {
      const auto& it = as<refrain_send>(event);
      return py::cast(
          PySend{call(it.call), {it.posted, it.posted + it.count}, it.late_sender != 0});
    }
    case REFRAIN_COLLECTIVE: {
      const auto& it = as<refrain_collective>(event);
      return py::cast(PyCollective{call(it.call), it});
    }
    case REFRAIN_COLLECTIVE_COMPLETION: {
      const auto& it = as<refrain_collective_completion>(event);
      return py::cast(PyCompletion{call(it.call), it.until});
    }
    case REFRAIN_ACCESS_EPOCH: {
      const auto& it = as<refrain_access_epoch>(event);
      PyAccessEpoch epoch{call(it.start), call(it.complete), {}, it.latest_post};
      for (const refrain_access& each : std::span(it.accesses, it.count))
        epoch.accesses.push_back({call(each.call), each.posted});
      return py::cast(std::move(epoch));
    }
    case REFRAIN_EXPOSURE_EPOCH: {
      const auto& it = as<refrain_exposure_epoch>(event);
      return py::cast(PyExposureEpoch{call(it.wait), it.latest_complete, it.last_access});
    }
    case REFRAIN_LOCK_EPOCH: {
      const auto& it = as<refrain_lock_epoch>(event);
      PyLockEpoch epoch{{}, it.released};
      for (const refrain_lock_access& each : std::span(it.accesses, it.count))
        epoch.accesses.push_back({call(each.call), each.target, each.progress});
      return py::cast(std::move(epoch));
    }
    case REFRAIN_BARRIER: {
      const auto& it = as<refrain_barrier>(event);
      return py::cast(
          PyBarrier{call(it.call), it.is_explicit != 0, it.latest_enter, it.ran});
    }
    case REFRAIN_TASK_WAIT: {
      const auto& it = as<refrain_task_wait>(event);
      return py::cast(PyTaskWait{call(it.call), it.children_done, it.ran});
    }
    case REFRAIN_FORK:
      return py::cast(as<refrain_fork>(event));
    case REFRAIN_LOCK_WAIT:
      return py::cast(as<refrain_lock_wait>(event));
    default:
      return py::cast(as<refrain_left_out>(event));
  }  // NOLINTEND(bugprone-branch-clone)
}

}  // namespace

PythonPattern::PythonPattern(const py::object& object, Metric metric,
                             const std::vector<std::string>& methods)
    : object_(object), metric_(std::move(metric)) {
  info_ = {.name = metric_.name.c_str(),
           .parent = metric_.parent.c_str(),
           .title = metric_.title.c_str(),
           .description = metric_.description.c_str(),
           .cause = metric_.cause.c_str(),
           .wants = 0,
           .data = this,
           .create =
               [](const refrain_host* host, void* data) {
                 static_cast<PythonPattern*>(data)->host_ = host;
                 return data;
               },
           .destroy = [](void* it) { static_cast<PythonPattern*>(it)->host_ = nullptr; },
           .event =
               [](void* it, std::uint32_t kind, const void* event) {
                 static_cast<PythonPattern*>(it)->event(kind, event);
               }};
  for (std::uint32_t kind = 0; kind < kMethods.size(); ++kind)
    for (const std::string& method : methods)
      if (method == kMethods[kind]) info_.wants |= std::uint64_t{1} << kind;
}

PythonPattern::~PythonPattern() {
  const py::gil_scoped_acquire acquire;
  raised_ = nullptr;
  object_.reset();
}

std::unique_ptr<waits::Pattern> PythonPattern::make() {
  return std::make_unique<waits::ModulePattern>(info_, "of Python");
}

void PythonPattern::raise() {
  if (raised_ != nullptr) std::rethrow_exception(std::exchange(raised_, nullptr));
}

void PythonPattern::event(std::uint32_t kind, const void* event) noexcept {
  if ((info_.wants >> kind & 1) == 0) return;
  const py::gil_scoped_acquire acquire;
  try {
    notify(kind, event);
  } catch (...) {
    raised_ = std::current_exception();
    host_->fail(host_->self, "exception of Python");
  }
  running_ = false;
}

void PythonPattern::notify(std::uint32_t kind, const void* event) {
  ++sequence_;
  running_ = true;
  const py::object method = object_->attr(kMethods[kind]);
  if (kind == REFRAIN_FINISH)
    method();
  else
    method(argument(shared_from_this(), kind, event));
}

const refrain_host& PythonPattern::host() const {
  if (!running_ || host_ == nullptr)
    throw Error("a pattern can charge and ask only while it is called for an event");
  return *host_;
}

void PythonPattern::charge(std::uint32_t location, std::uint32_t path,
                           std::uint64_t ticks) {
  host().charge(host().self, location, path, ticks);
}

void PythonPattern::charge(const refrain_call& call, std::uint64_t ticks) {
  host().charge_call(host().self, &call, ticks);
}

std::uint64_t PythonPattern::take(const refrain_call& call, std::uint64_t sequence,
                                  std::uint64_t wanted) {
  const refrain_host& from = host();
  if (sequence != sequence_)
    throw Error("time can be taken of a call only while the pattern is called for it");
  return from.take(from.self, &call, wanted);
}

refrain_region PythonPattern::region(std::uint32_t process, std::uint32_t path) {
  refrain_region found{};
  if (host().region(host().self, process, path, &found) == 0)
    throw py::index_error("there is no such call path");
  return found;
}

std::uint32_t PythonPattern::parent(std::uint32_t process, std::uint32_t path) {
  return host().parent(host().self, process, path);
}

refrain_location PythonPattern::location(std::uint32_t number) {
  refrain_location found{};
  if (host().location(host().self, number, &found) == 0)
    throw py::index_error("there is no such location");
  return found;
}

namespace {

void bind_calls(py::module_& module) {
  const auto flag = [](auto member) {
    return [member](const PyCall& self) { return self.call.*member != 0; };
  };
  const auto value = [](auto member) {
    return [member](const PyCall& self) { return self.call.*member; };
  };
  py::class_<PyCall>(module, "Call")
      .def_property_readonly("process", value(&refrain_call::process))
      .def_property_readonly("location", value(&refrain_call::location))
      .def_property_readonly("path", value(&refrain_call::path))
      .def_property_readonly("enter", value(&refrain_call::enter))
      .def_property_readonly("leave", value(&refrain_call::leave))
      .def_property_readonly("own", value(&refrain_call::own))
      .def_property_readonly("multiple", flag(&refrain_call::multiple))
      .def_property_readonly("test", flag(&refrain_call::test))
      .def_property_readonly("neighbours", flag(&refrain_call::neighbours))
      .def("take", &PyCall::take, py::arg("wanted"))
      .def("wait_until", &PyCall::wait_until, py::arg("time"));
  py::class_<refrain_message>(module, "SentMessage")
      .def_readonly("sent", &refrain_message::sent)
      .def_readonly("source", &refrain_message::source)
      .def_readonly("sender", &refrain_message::sender);
  py::class_<refrain_posted>(module, "PostedReceive")
      .def_readonly("enter", &refrain_posted::enter)
      .def_readonly("receiver", &refrain_posted::receiver);
  py::class_<PyAccess>(module, "Access")
      .def_readonly("call", &PyAccess::call)
      .def_readonly("posted", &PyAccess::posted);
  py::class_<PyLockAccess>(module, "LockAccess")
      .def_readonly("call", &PyLockAccess::call)
      .def_property_readonly("target",
                             [](const PyLockAccess& self) { return number(self.target); })
      .def_readonly("progress", &PyLockAccess::progress);
}

void bind_messages(py::module_& module) {
  py::class_<refrain_run>(module, "Run")
      .def_readonly("ticks_per_second", &refrain_run::ticks_per_second)
      .def_readonly("processes", &refrain_run::processes)
      .def_readonly("locations", &refrain_run::locations);
  py::class_<PyReceive>(module, "Receive")
      .def_readonly("call", &PyReceive::call)
      .def_readonly("messages", &PyReceive::messages);
  py::class_<PyLateSender>(module, "LateSender")
      .def_readonly("call", &PyLateSender::call)
      .def_readonly("message", &PyLateSender::message)
      .def_readonly("wait", &PyLateSender::wait);
  py::class_<refrain_wrong_order>(module, "WrongOrder")
      .def_readonly("location", &refrain_wrong_order::location)
      .def_readonly("path", &refrain_wrong_order::path)
      .def_readonly("wait", &refrain_wrong_order::wait)
      .def_property_readonly("same_source", [](const refrain_wrong_order& self) {
        return self.same_source != 0;
      });
  py::class_<PySend>(module, "Send")
      .def_readonly("call", &PySend::call)
      .def_readonly("posted", &PySend::posted)
      .def_readonly("late_sender", &PySend::late_sender);
}

void bind_collectives(py::module_& module) {
  const auto ticks = [](auto member) {
    return [member](const PyCollective& self) { return self.member.*member; };
  };
  py::class_<PyCollective>(module, "Collective")
      .def_readonly("call", &PyCollective::call)
      .def_property_readonly("kind",
                             [](const PyCollective& self) {
                               return kCollectiveKinds[std::min<std::size_t>(
                                   self.member.kind, REFRAIN_KIND_OTHER)];
                             })
      .def_property_readonly("root",
                             [](const PyCollective& self) { return self.member.root != 0; })
      .def_property_readonly("latest_enter", ticks(&refrain_collective::latest_enter))
      .def_property_readonly("earliest_leave", ticks(&refrain_collective::earliest_leave))
      .def_property_readonly("root_enter", ticks(&refrain_collective::root_enter))
      .def_property_readonly("lower_enter", ticks(&refrain_collective::lower_enter))
      .def_property_readonly("accessed", ticks(&refrain_collective::accessed));
  py::class_<PyCompletion>(module, "CollectiveCompletion")
      .def_readonly("call", &PyCompletion::call)
      .def_readonly("until", &PyCompletion::until);
  py::class_<PyAccessEpoch>(module, "AccessEpoch")
      .def_readonly("start", &PyAccessEpoch::start)
      .def_readonly("complete", &PyAccessEpoch::complete)
      .def_readonly("accesses", &PyAccessEpoch::accesses)
      .def_readonly("latest_post", &PyAccessEpoch::latest_post);
  py::class_<PyExposureEpoch>(module, "ExposureEpoch")
      .def_readonly("wait", &PyExposureEpoch::wait)
      .def_readonly("latest_complete", &PyExposureEpoch::latest_complete)
      .def_readonly("last_access", &PyExposureEpoch::last_access);
  py::class_<PyLockEpoch>(module, "LockEpoch")
      .def_readonly("accesses", &PyLockEpoch::accesses)
      .def_readonly("released", &PyLockEpoch::released);
}

void bind_teams(py::module_& module) {
  py::class_<PyBarrier>(module, "Barrier")
      .def_readonly("call", &PyBarrier::call)
      .def_readonly("explicit", &PyBarrier::is_explicit)
      .def_readonly("latest_enter", &PyBarrier::latest_enter)
      .def_readonly("ran", &PyBarrier::ran);
  py::class_<PyTaskWait>(module, "TaskWait")
      .def_readonly("call", &PyTaskWait::call)
      .def_readonly("children_done", &PyTaskWait::children_done)
      .def_readonly("ran", &PyTaskWait::ran);
  py::class_<refrain_fork>(module, "Fork")
      .def_readonly("location", &refrain_fork::location)
      .def_readonly("path", &refrain_fork::path)
      .def_readonly("delay", &refrain_fork::delay);
  py::class_<refrain_lock_wait>(module, "LockWait")
      .def_readonly("location", &refrain_lock_wait::location)
      .def_readonly("path", &refrain_lock_wait::path)
      .def_readonly("wait", &refrain_lock_wait::wait)
      .def_property_readonly(
          "critical", [](const refrain_lock_wait& self) { return self.critical != 0; });
  py::class_<refrain_left_out>(module, "LeftOut")
      .def_readonly("location", &refrain_left_out::location)
      .def_readonly("path", &refrain_left_out::path)
      .def_readonly("time", &refrain_left_out::time);
}

}  // namespace

void bind_patterns(py::module_& module) {
  bind_calls(module);
  bind_messages(module);
  bind_collectives(module);
  bind_teams(module);
  module.attr("pattern_methods") = py::cast(kMethods);
  py::class_<PythonPattern, Owner>(module, "PatternHost")
      .def(py::init([](const py::object& object, const std::string& name,
                       const std::string& parent, const std::string& title,
                       const std::string& description, const std::string& cause,
                       const std::vector<std::string>& methods) {
             return std::make_shared<PythonPattern>(
                 object, PythonPattern::Metric{name, parent, title, description, cause},
                 methods);
           }),
           py::arg("object"), py::arg("name"), py::arg("parent"), py::arg("title"),
           py::arg("description"), py::arg("cause"), py::arg("methods"))
      .def(
          "charge",
          [](PythonPattern& self, const PyCall& call, std::uint64_t ticks) {
            self.charge(call.call, ticks);
          },
          py::arg("call"), py::arg("ticks"))
      .def(
          "charge_at",
          [](PythonPattern& self, std::uint32_t location, std::uint32_t path,
             std::uint64_t ticks) { self.charge(location, path, ticks); },
          py::arg("location"), py::arg("path"), py::arg("ticks"))
      .def(
          "region",
          [](PythonPattern& self, std::uint32_t process, std::uint32_t path) {
            const refrain_region found = self.region(process, path);
            return py::make_tuple(text(found.name), text(found.file), found.line,
                                  text(found.site));
          },
          py::arg("process"), py::arg("path"))
      .def(
          "parent",
          [](PythonPattern& self, std::uint32_t process, std::uint32_t path) {
            return number(self.parent(process, path));
          },
          py::arg("process"), py::arg("path"))
      .def(
          "location",
          [](PythonPattern& self, std::uint32_t at) {
            const refrain_location found = self.location(at);
            return py::make_tuple(found.process, found.thread, number(found.rank));
          },
          py::arg("number"));
}

}  // namespace refrain::python
