#include "test/support/visit_nesting.h"

#include <algorithm>

namespace refrain::test {

using periodicity::LoopEvent;
using periodicity::LoopEventKind;

namespace {

// A visit that has not been left.
struct OpenVisit {
  Visit visit;                  // with the iteration that goes on
  std::uint64_t latest = 0;     // its number
  std::uint64_t inner_end = 0;  // of the reported inner visits
};

bool before(const Visit& a, const Visit& b) {
  const std::uint64_t begin_a = a.begins.front();
  const std::uint64_t begin_b = b.begins.front();
  if (begin_a != begin_b) return begin_a < begin_b;
  if (a.end != b.end) return a.end > b.end;
  return a.begins.size() < b.begins.size();
}

std::string text_of(const Visit& visit) {
  return "loop " + std::to_string(visit.loop) + " (event " + std::to_string(visit.found) +
         ", " + std::to_string(visit.begins.size()) + " iterations in " +
         std::to_string(visit.begins.front()) + " to " + std::to_string(visit.end) + ")";
}

// Returns true if `inner`, which does not begin before `outer`, lies in one of its iterations.
bool within_iteration(const Visit& inner, const Visit& outer) {
  const auto next =
      std::upper_bound(outer.begins.begin(), outer.begins.end(), inner.begins.front());
  return inner.end <= (next == outer.begins.end() ? outer.end : *next);
}

// The visit as far as it is complete: all reported iterations are, or all but the last one.
Visit complete_part(const OpenVisit& open, const LoopEvent& left) {
  Visit visit = open.visit;
  visit.end = left.position;
  if (open.latest == left.iteration) {
    visit.end = visit.begins.back();
    visit.begins.pop_back();
  }
  return visit;
}

// The reported events, one after the other.
class Reported {
 public:
  void take(const LoopEvent& event, std::uint64_t index) {
    switch (event.kind) {
      case LoopEventKind::kFound:
        open_.push_back(
            {.visit = {.loop = event.loop, .begins = {}, .end = 0, .found = index}});
        return;
      case LoopEventKind::kIteration:
        check_inner(event.position);
        open_.back().visit.begins.push_back(event.position);
        open_.back().latest = event.iteration;
        return;
      case LoopEventKind::kMismatch:
      case LoopEventKind::kNovel:
      case LoopEventKind::kIterationEnd:
        return;
      case LoopEventKind::kLeft:
        leave(event);
    }
  }

  std::vector<Visit> visits;
  std::string complaint;

 private:
  // An iteration of the innermost open loop ends at `position`.
  void check_inner(std::uint64_t position) {
    OpenVisit& open = open_.back();
    if (open.inner_end > position)
      complain("an inner loop goes on after", open.visit, position);
    open.inner_end = 0;
  }

  void leave(const LoopEvent& event) {
    const bool broken = open_.back().latest == event.iteration;
    if (!broken) check_inner(event.position);
    const Visit visit = complete_part(open_.back(), event);
    open_.pop_back();
    if (visit.begins.empty()) return;
    if (!open_.empty()) {
      OpenVisit& around = open_.back();
      around.inner_end = std::max(around.inner_end, visit.end);
      if (around.visit.begins.back() > visit.begins.front())
        complain("an inner loop began before", around.visit, visit.begins.front());
    }
    visits.push_back(visit);
  }

  void complain(const char* what, const Visit& visit, std::uint64_t position) {
    if (complaint.empty())
      complaint = std::string(what) + " an iteration of loop " +
                  std::to_string(visit.loop) + ", at " + std::to_string(position);
  }

  std::vector<OpenVisit> open_;
};

Reported reported_by(const LoopRecord& record) {
  Reported reported;
  for (std::size_t index = 0; index != record.events.size(); ++index)
    reported.take(record.events[index], index);
  std::stable_sort(reported.visits.begin(), reported.visits.end(), before);
  return reported;
}

}  // namespace

std::vector<Visit> visits_of(const LoopRecord& record) {
  return reported_by(record).visits;
}

std::string nesting_complaint(const LoopRecord& record) {
  const Reported reported = reported_by(record);
  if (!reported.complaint.empty()) return reported.complaint;
  std::vector<const Visit*> around;
  for (const Visit& visit : reported.visits) {
    while (!around.empty() && around.back()->end <= visit.begins.front()) around.pop_back();
    for (const Visit* outer : around)
      if (outer->loop == visit.loop)
        return text_of(visit) + " in itself, " + text_of(*outer);
    if (!around.empty() && !within_iteration(visit, *around.back()))
      return text_of(visit) + " in no iteration of " + text_of(*around.back());
    around.push_back(&visit);
  }
  return "";
}

}  // namespace refrain::test
