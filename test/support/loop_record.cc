#include "test/support/loop_record.h"

#include <algorithm>

namespace refrain::test {

using periodicity::LoopEvent;
using periodicity::LoopEventKind;

std::map<std::uint32_t, LoopSummary> LoopRecord::loops() const {
  std::map<std::uint32_t, LoopSummary> loops;
  for (const LoopEvent& event : events) {
    LoopSummary& loop = loops[event.loop];
    if (event.kind == LoopEventKind::kFound) {
      if (loop.visits++ == 0) loop.first_event = event.position;
      loop.parent = event.parent;
      loop.body_events = event.body_events;
    } else if (event.kind == LoopEventKind::kLeft) {
      loop.iterations += event.iteration;
      loop.most = std::max(loop.most, event.iteration);
    }
  }
  return loops;
}

namespace {

struct Open {
  LoopEvent found;
  std::uint64_t iterations = 0;  // number of the next one
  std::uint64_t last = 0;        // where the last one began
  bool any = false;
  bool broken = false;
};

std::string check(const LoopEvent& event, Open& loop) {
  if (event.loop != loop.found.loop) return "another loop than was found";
  if (event.visit != loop.found.visit) return "another visit than was found";
  if (event.parent != loop.found.parent) return "another parent than when found";
  if (loop.broken && event.kind != LoopEventKind::kLeft) return "goes on after kMismatch";
  switch (event.kind) {
    case LoopEventKind::kIteration:
      if (event.iteration != loop.iterations) return "iteration numbers jump";
      if (!loop.any && event.position != loop.found.position) return "not where found";
      if (loop.any && event.position <= loop.last) return "iterations go back";
      loop.any = true;
      loop.last = event.position;
      ++loop.iterations;
      return "";
    case LoopEventKind::kMismatch:
      if (event.iteration + 1 != loop.iterations) return "mismatch in no iteration";
      if (event.position < loop.last) return "mismatch before its iteration";
      loop.broken = true;
      return "";
    default:
      if (!loop.any) return "left without an iteration";
      if (event.position < loop.last) return "left before its last iteration";
      if (event.iteration > loop.iterations) return "counts too many iterations";
      if (event.iteration + 1 < loop.iterations) return "counts too few iterations";
      if (event.iteration == loop.iterations && event.position == loop.last) {
        return "counts an empty iteration";
      }
      return "";
  }
}

}  // namespace

std::string LoopRecord::complaint(std::uint64_t end) const {
  std::vector<Open> open;
  std::map<std::uint32_t, std::uint32_t> visits;
  for (std::size_t index = 0; index != events.size(); ++index) {
    const LoopEvent& event = events[index];
    const auto fail = [&](const std::string& what) {
      return "event " + std::to_string(index) + " (loop " + std::to_string(event.loop) +
             ", position " + std::to_string(event.position) + "): " + what;
    };
    if (event.position > end) return fail("lies in the future");
    if (event.kind == LoopEventKind::kFound) {
      if (event.level != open.size()) return fail("found at a wrong level");
      const bool outermost = event.level == 0;
      const auto parent = outermost ? periodicity::kNoLoop : open.back().found.loop;
      if (event.parent != parent) return fail("wrong parent");
      if (event.visit != visits[event.loop]++) return fail("visits jump");
      open.push_back({event, event.iteration});
      continue;
    }
    if (event.level >= open.size()) return fail("of a loop that is not open");
    const std::string what = check(event, open[event.level]);
    if (!what.empty()) return fail(what);
    if (event.kind == LoopEventKind::kLeft) {
      if (event.level + 1u != open.size()) return fail("left before its inner loop");
      open.pop_back();
    }
  }
  return open.empty() ? "" : "a loop was not left";
}

}  // namespace refrain::test
