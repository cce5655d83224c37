// Checks for every archive, and queries for tests.
//
// A check returns the problems it found, in words (the first few of every location);
// none: good.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "test/support/read_trace.h"

namespace refrain::test {

using Problems = std::vector<std::string>;

void append(Problems& to, const Problems& from);

// --- Checks ---------------------------------------------------------------------------

// On every location: each leave closes the region that was entered last, forks close with
// joins, team begins with ends of the same team, off with on, all nested in each other, none
// left open.
// Regions and teams are defined.
Problems check_nesting(const Trace& trace);

// On every location: times never decrease and lie within the clock properties' span; no two
// enters or leaves have the same.
Problems check_times(const Trace& trace);

// On every location: off and on alternate, beginning with off. While off, nothing is recorded
// but marks of iterations. (That they are balanced, check_nesting sees: off opens, on closes.)
Problems check_measurement(const Trace& trace);

// Every location's number of events equals its definition.
Problems check_counts(const Trace& trace);

// Marks of iterations: on one location of a process, each with a number; within a visit numbers
// count up by one, and an iteration begins right after the last one ended or, if it is a phase
// that the program names, later.
Problems check_iterations(const Trace& trace);

// Threads that the program begins: each begins and ends once, after it was created, and is waited for after its end and at most once; all
// of them are members of their contingent.
Problems check_threads(const Trace& trace);

// All of them.
Problems check_all(const Trace& trace);

// Runs otf2-print on the archive: it must end well and say nothing on stderr.
Problems check_otf2_print(const std::filesystem::path& archive);

// --- Queries --------------------------------------------------------------------------

// One mark of an iteration: an enter of a region flagged PHASE, its ParameterInt, and the
// leave.
struct Iteration {
  std::size_t location = 0;  // index in Trace::locations
  std::uint32_t region = 0;
  std::int64_t number = -1;  // -1: the mark has no parameter
  std::uint64_t begin = 0, end = 0;
  std::size_t first = 0, last = 0;  // indices of the enter and the leave
  std::size_t depth = 0;            // phases around it
  // By the events: measurement was on from its start to its end, and something but marks
  // was recorded inside.
  bool written = false;
  // By the mark's own attributes `written` (0 no, 1 in full, 2 partial) and `complete`
  // (false: the loop was left before it ended); -1: the mark has no such attribute.
  int said_written = -1, said_complete = -1;

  bool complete() const { return said_complete != 0; }
};

bool is_phase(const Region& region);
bool is_phase(const Trace& trace, const Event& event);
std::vector<std::uint32_t> phase_regions(const Trace& trace);

// In the order of their start on each location; of one phase region, or of all.
std::vector<Iteration> iterations(const Trace& trace);
std::vector<Iteration> iterations(const Trace& trace, std::uint32_t region);

// An attribute of an event by its name; `otherwise` if it has none.
std::int64_t attribute(const Trace& trace, const Event& event, const std::string& name,
                       std::int64_t otherwise);

// Consecutive iterations of one visit of a loop: numbers that count up from the first.
std::vector<std::vector<Iteration>> visits(const std::vector<Iteration>& of_one_region);

// Intervals [begin, end) in which a location was suspended: off to on, or to its last event.
struct Gap {
  std::uint64_t begin = 0, end = 0;
};
std::vector<Gap> gaps(const Location& location);
// An on or off around events that are in the archive though they lie in a gap, which goes on.
bool is_edge(const Event& event);

// Events with begin <= time < end.
std::span<const Event> between(const Location& location, std::uint64_t begin,
                               std::uint64_t end);

std::map<EventType, std::uint64_t> count_by_type(const Trace& trace);
// Enters by the region's role (OTF2_RegionRole), marks of iterations not counted.
std::map<unsigned, std::uint64_t> count_by_role(const Trace& trace);
// Enters by the region's name.
std::map<std::string, std::uint64_t> count_by_name(const Trace& trace);

std::string text(const Problems& problems);

}  // namespace refrain::test
