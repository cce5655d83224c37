#include <otf2/otf2.h>

#include <algorithm>

#include "test/support/trace_checks.h"

namespace refrain::test {
namespace {

// Reads the marks of one location.
class MarkReader {
 public:
  MarkReader(const Trace& trace, std::size_t location, std::vector<Iteration>& into)
      : trace_(trace), location_(location), into_(into) {}

  void read() {
    const std::vector<Event>& events = trace_.locations[location_].events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      const bool phase = is_phase(trace_, event);
      if (phase && event.type == EventType::kEnter) {
        begin(i, event);
      } else if (phase && event.type == EventType::kLeave) {
        end(i, event);
      } else if (event.type == EventType::kParameterInt && !open_.empty() &&
                 top().number < 0) {
        top().number = event.value;
      } else if (is_edge(event)) {
        continue;
      } else if (event.type == EventType::kMeasurementOff) {
        on_ = false;
        off_since_ = event.time;
      } else if (event.type == EventType::kMeasurementOn) {
        on_ = true;
        for (Open& open : open_) note_off(open, event.time);
      } else if (on_) {
        for (Open& open : open_) open.something = true;
      }
    }
  }

 private:
  struct Open {
    std::size_t index;  // in into_
    bool skipped, something;
  };

  // Measurement was off until now: marks the open iterations that this concerns.
  void note_off(Open& open, std::uint64_t now) {
    if (std::max(into_[open.index].begin, off_since_) < now) open.skipped = true;
  }

  Iteration& top() { return into_[open_.back().index]; }

  void begin(std::size_t index, const Event& event) {
    Iteration iteration;
    iteration.location = location_;
    iteration.region = event.reference;
    iteration.begin = iteration.end = event.time;
    iteration.first = iteration.last = index;
    iteration.depth = open_.size();
    iteration.said_written = static_cast<int>(attribute(trace_, event, "written", 0));
    iteration.said_complete = static_cast<int>(attribute(trace_, event, "complete", -1));
    open_.push_back({into_.size(), false, false});
    into_.push_back(iteration);
  }

  void end(std::size_t index, const Event& event) {
    if (open_.empty()) return;  // check_nesting reports it
    if (!on_) note_off(open_.back(), event.time);
    top().end = event.time;
    top().last = index;
    top().written = open_.back().something && !open_.back().skipped;
    open_.pop_back();
  }

  const Trace& trace_;
  const std::size_t location_;
  std::vector<Iteration>& into_;
  std::vector<Open> open_;
  bool on_ = true;
  std::uint64_t off_since_ = 0;
};

}  // namespace

bool is_phase(const Region& region) { return (region.flags & OTF2_REGION_FLAG_PHASE) != 0; }

bool is_phase(const Trace& trace, const Event& event) {
  if (event.type != EventType::kEnter && event.type != EventType::kLeave) return false;
  const auto region = trace.regions.find(event.reference);
  return region != trace.regions.end() && is_phase(region->second);
}

std::int64_t attribute(const Trace& trace, const Event& event, const std::string& name,
                       std::int64_t otherwise) {
  for (const Attribute& candidate : event.attributes) {
    const auto found = trace.attributes.find(candidate.attribute);
    if (found != trace.attributes.end() && found->second.name == name)
      return static_cast<std::int64_t>(candidate.value);
  }
  return otherwise;
}

std::vector<std::uint32_t> phase_regions(const Trace& trace) {
  std::vector<std::uint32_t> result;
  for (const auto& [reference, region] : trace.regions)
    if (region.flags & OTF2_REGION_FLAG_PHASE) result.push_back(reference);
  return result;
}

std::vector<Iteration> iterations(const Trace& trace) {
  std::vector<Iteration> result;
  for (std::size_t i = 0; i < trace.locations.size(); ++i)
    MarkReader(trace, i, result).read();
  return result;
}

std::vector<Iteration> iterations(const Trace& trace, std::uint32_t region) {
  std::vector<Iteration> result = iterations(trace);
  std::erase_if(result, [region](const Iteration& it) { return it.region != region; });
  return result;
}

std::vector<std::vector<Iteration>> visits(const std::vector<Iteration>& of_one_region) {
  std::vector<std::vector<Iteration>> result;
  for (const Iteration& it : of_one_region) {
    const bool follows = !result.empty() && result.back().back().location == it.location &&
                         result.back().back().number + 1 == it.number;
    if (!follows) result.emplace_back();
    result.back().push_back(it);
  }
  return result;
}

bool is_edge(const Event& event) {
  return (event.type == EventType::kMeasurementOff ||
          event.type == EventType::kMeasurementOn) &&
         !event.attributes.empty();
}

std::vector<Gap> gaps(const Location& location) {
  std::vector<Gap> result;
  bool off = false;
  for (const Event& event : location.events) {
    if (off) result.back().end = event.time;
    if (is_edge(event)) continue;
    if (event.type == EventType::kMeasurementOff && !off)
      result.push_back({event.time, event.time});
    if (event.type == EventType::kMeasurementOff) off = true;
    if (event.type == EventType::kMeasurementOn) off = false;
  }
  return result;
}

std::span<const Event> between(const Location& location, std::uint64_t begin,
                               std::uint64_t end) {
  const auto before = [](const Event& event, std::uint64_t time) {
    return event.time < time;
  };
  const std::vector<Event>& events = location.events;
  const auto first = std::lower_bound(events.begin(), events.end(), begin, before);
  const auto last = std::lower_bound(first, events.end(), std::max(begin, end), before);
  return {first, last};
}

std::map<EventType, std::uint64_t> count_by_type(const Trace& trace) {
  std::map<EventType, std::uint64_t> result;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events) ++result[event.type];
  return result;
}

std::map<unsigned, std::uint64_t> count_by_role(const Trace& trace) {
  std::map<unsigned, std::uint64_t> result;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kEnter && !is_phase(trace, event))
        ++result[trace.regions.at(event.reference).role];
  return result;
}

std::map<std::string, std::uint64_t> count_by_name(const Trace& trace) {
  std::map<std::string, std::uint64_t> result;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kEnter) ++result[trace.regions.at(event.reference).name];
  return result;
}

}  // namespace refrain::test
