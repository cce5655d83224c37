#include "test/support/trace_checks.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "test/support/process.h"

namespace refrain::test {
namespace {

constexpr std::size_t kReportedPerLocation = 5;

// Collects the problems of one location, only the first few in words.
class Report {
 public:
  Report(Problems& problems, const Location& location)
      : problems_(problems), location_(location) {}

  void add(std::size_t index, const std::string& what) {
    if (++count_ > kReportedPerLocation) return;
    const Event& event = location_.events[index];
    add("event " + std::to_string(index) + " (" + event_name(event.type) + " " +
        std::to_string(event.reference) + " at " + std::to_string(event.time) +
        "): " + what);
  }
  void add(const std::string& what) { problems_.push_back(location_.name + ": " + what); }

 private:
  Problems& problems_;
  const Location& location_;
  std::size_t count_ = 0;
};

Problems on_every_location(const Trace& trace,
                           const std::function<void(const Location&, Report&)>& check) {
  Problems problems;
  for (const Location& location : trace.locations) {
    Report report(problems, location);
    check(location, report);
  }
  return problems;
}

// The event that closes what this one opens; kTypes: it opens nothing.
EventType closer(EventType opener) {
  switch (opener) {
    case EventType::kEnter:
      return EventType::kLeave;
    case EventType::kThreadFork:
      return EventType::kThreadJoin;
    case EventType::kTeamBegin:
      return EventType::kTeamEnd;
    case EventType::kMeasurementOff:
      return EventType::kMeasurementOn;
    default:
      return EventType::kTypes;
  }
}

bool closes(EventType type) {
  return type == EventType::kLeave || type == EventType::kThreadJoin ||
         type == EventType::kTeamEnd || type == EventType::kMeasurementOn;
}

bool is_parameter(EventType type) {
  return type == EventType::kParameterInt || type == EventType::kParameterUnsigned ||
         type == EventType::kParameterString;
}

bool defined(const Trace& trace, const Event& event) {
  switch (event.type) {
    case EventType::kEnter:
    case EventType::kLeave:
      return trace.regions.count(event.reference);
    case EventType::kTeamBegin:
    case EventType::kTeamEnd:
    case EventType::kTaskCreate:
    case EventType::kTaskSwitch:
    case EventType::kTaskComplete:
      return trace.comms.count(event.reference);
    case EventType::kParameterInt:
    case EventType::kParameterUnsigned:
    case EventType::kParameterString:
      return trace.parameters.count(event.reference);
    default:
      return true;
  }
}

}  // namespace

void append(Problems& to, const Problems& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Two enters or leaves that would have the same time are one or two ticks apart, and the
// interpolation of clocks may add one.
constexpr std::uint64_t kMaxTicksBetween = 3;

Problems check_nesting(const Trace& trace) {
  return on_every_location(trace, [&trace](const Location& location, Report& report) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < location.events.size(); ++i) {
      const Event& event = location.events[i];
      if (!defined(trace, event)) report.add(i, "its reference is not defined");
      if (closer(event.type) != EventType::kTypes) open.push_back(i);
      if (!closes(event.type)) continue;
      if (open.empty()) {
        report.add(i, "nothing is open");
        continue;
      }
      const Event& opener = location.events[open.back()];
      if (closer(opener.type) != event.type || opener.reference != event.reference)
        report.add(i, "does not close event " + std::to_string(open.back()) + ", " +
                          event_name(opener.type) + " " + std::to_string(opener.reference));
      open.pop_back();
    }
    for (const std::size_t i : open) report.add(i, "is never closed");
  });
}

Problems check_times(const Trace& trace) {
  if (!trace.clock.defined) return {"no clock properties"};
  const std::uint64_t first = trace.clock.global_offset;
  const std::uint64_t last = first + trace.clock.trace_length;
  return on_every_location(trace, [first, last](const Location& location, Report& report) {
    std::uint64_t now = 0;
    std::uint64_t edge = ~std::uint64_t{0};  // of the latest enter or leave
    for (std::size_t i = 0; i < location.events.size(); ++i) {
      const std::uint64_t time = location.events[i].time;
      const EventType type = location.events[i].type;
      if (time < now) report.add(i, "before " + std::to_string(now));
      if (type == EventType::kEnter || type == EventType::kLeave) {
        if (time == edge) report.add(i, "at the time of another enter or leave");
        edge = time;
      }
      if (time < first || time > last)
        report.add(i, "outside of the trace's span, " + std::to_string(first) + " to " +
                          std::to_string(last));
      now = std::max(now, time);
    }
  });
}

Problems check_measurement(const Trace& trace) {
  return on_every_location(trace, [&trace](const Location& location, Report& report) {
    bool on = true;
    for (std::size_t i = 0; i < location.events.size(); ++i) {
      const Event& event = location.events[i];
      if (event.type == EventType::kMeasurementOn ||
          event.type == EventType::kMeasurementOff) {
        const bool now_on = event.type == EventType::kMeasurementOn;
        if (now_on == on) report.add(i, on ? "is on already" : "is off already");
        on = now_on;
      } else if (!on && !is_phase(trace, event) && !is_parameter(event.type) &&
                 event.type != EventType::kMetric) {
        report.add(i, "while measurement is off");
      }
    }
  });
}

Problems check_counts(const Trace& trace) {
  return on_every_location(trace, [](const Location& location, Report& report) {
    if (location.events.size() != location.defined_events)
      report.add("defined with " + std::to_string(location.defined_events) +
                 " events, has " + std::to_string(location.events.size()));
  });
}

Problems check_iterations(const Trace& trace) {
  Problems problems;
  std::map<std::uint32_t, std::size_t> location_of;  // of a location group
  for (const std::uint32_t region : phase_regions(trace)) {
    const std::string name = "phase " + trace.regions.at(region).name + ": ";
    const bool named =
        trace.regions.at(region).description == "phase that the program names";
    const std::vector<Iteration> all = iterations(trace, region);
    for (std::size_t i = 0; i < all.size() && problems.size() < kReportedPerLocation; ++i) {
      const Iteration& it = all[i];
      const std::string which = name + "iteration " + std::to_string(it.number) + " ";
      const std::uint32_t group = trace.locations[it.location].group;
      if (it.number < 0) problems.push_back(which + "has no number");
      if (it.begin > it.end) problems.push_back(which + "ends before it begins");
      if (location_of.emplace(group, it.location).first->second != it.location)
        problems.push_back(which + "is on a second location of its process");
      if (i == 0 || it.number == 0 || all[i - 1].location != it.location) continue;
      if (it.number != all[i - 1].number + 1)
        problems.push_back(which + "follows " + std::to_string(all[i - 1].number));
      else if (it.begin <= all[i - 1].end ||
               (!named && it.begin > all[i - 1].end + kMaxTicksBetween))
        problems.push_back(which + "begins at " + std::to_string(it.begin) +
                           ", the one before ends at " + std::to_string(all[i - 1].end));
    }
  }
  return problems;
}

Problems check_threads(const Trace& trace) {
  struct Moments {
    std::vector<std::uint64_t> create, begin, wait;
    std::uint64_t end = 0;
  };
  std::map<std::pair<std::uint32_t, std::int64_t>, Moments> threads;
  Problems problems;
  for (const Location& location : trace.locations) {
    Moments* running = nullptr;
    for (const Event& event : location.events) {
      const std::pair key{event.reference, event.value};
      switch (event.type) {
        case EventType::kThreadCreate:
          threads[key].create.push_back(event.time);
          break;
        case EventType::kThreadBegin:
          if (running != nullptr) problems.push_back(location.name + ": begins twice");
          running = &threads[key];
          running->begin.push_back(event.time);
          break;
        case EventType::kThreadWait:
          threads[key].wait.push_back(event.time);
          break;
        case EventType::kThreadEnd:
          if (running == nullptr) {
            problems.push_back(location.name + ": ends without a begin");
          } else {
            running->end = event.time;
            if (event.value != -1 && running != &threads[key])
              problems.push_back(location.name + ": ends as another thread");
            if (event.value == -1 && !running->wait.empty())
              problems.push_back(location.name + ": is waited for, and does not say so");
          }
          running = nullptr;
          break;
        default:
          continue;
      }
      const auto comm = trace.comms.find(event.reference);
      const auto group = comm == trace.comms.end() ? trace.groups.end()
                                                   : trace.groups.find(comm->second.group);
      if (group == trace.groups.end() || group->second.paradigm != OTF2_PARADIGM_PTHREAD)
        problems.push_back(location.name + ": no contingent of POSIX threads");
    }
    if (running != nullptr) problems.push_back(location.name + ": a thread does not end");
  }
  for (const auto& [key, of] : threads) {
    const std::string name = "thread " + std::to_string(key.second) + ": ";
    if (of.create.size() != 1 || of.begin.size() != 1 || of.wait.size() > 1) {
      problems.push_back(name + std::to_string(of.create.size()) + " creates, " +
                         std::to_string(of.begin.size()) + " begins, " +
                         std::to_string(of.wait.size()) + " waits");
      continue;
    }
    if (of.create[0] > of.begin[0]) problems.push_back(name + "begins too early");
    if (!of.wait.empty() && of.wait[0] < of.end)
      problems.push_back(name + "is waited for before it ends");
  }
  return problems;
}

Problems check_all(const Trace& trace) {
  Problems problems;
  append(problems, check_nesting(trace));
  append(problems, check_times(trace));
  append(problems, check_measurement(trace));
  append(problems, check_counts(trace));
  append(problems, check_iterations(trace));
  append(problems, check_threads(trace));
  return problems;
}

Problems check_otf2_print(const std::filesystem::path& archive) {
  Command command{{"otf2-print", anchor_file(archive).string()}};
  command.discard_output = true;
  // It looks at 180 MB of tables for each archive, however small: huge pages take a quarter of the time.
  command.environment["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1";
  const Result result = run(command);
  Problems problems;
  if (!result.ok())
    problems.push_back("otf2-print: exit status " + std::to_string(result.exit_status));
  if (!result.errors.empty()) problems.push_back("otf2-print: " + result.errors);
  return problems;
}

std::string text(const Problems& problems) {
  std::string result;
  for (const std::string& problem : problems) result += problem + "\n";
  return result;
}

}  // namespace refrain::test
