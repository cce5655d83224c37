#include "reader/file_holes.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace refrain::reader {
namespace {

// Numbers of what is no region.
constexpr std::uint32_t kOpenFork = kNone - 1, kOpenTeam = kNone - 2;

struct Pair {
  EventKind opens, closes;
};
constexpr Pair kPairs[] = {{EventKind::kEnter, EventKind::kLeave},
                           {EventKind::kThreadFork, EventKind::kThreadJoin},
                           {EventKind::kOmpFork, EventKind::kOmpJoin},
                           {EventKind::kThreadTeamBegin, EventKind::kThreadTeamEnd}};

std::uint32_t number_of(const TraceEvent& event, EventKind opens) {
  return opens == EventKind::kEnter             ? event.ref
         : opens == EventKind::kThreadTeamBegin ? kOpenTeam
                                                : kOpenFork;
}

TraceEvent made_of(const TraceEvent& event, EventKind kind) {
  TraceEvent made = event;
  made.kind = kind;
  made.extras = nullptr;
  made.metrics = made.attributes = 0;
  made.uncertain = true;
  return made;
}

}  // namespace

bool is_communication(EventKind kind) noexcept {
  return (kind >= EventKind::kMpiSend && kind <= EventKind::kCommDestroy) ||
         (kind >= EventKind::kRmaWinCreate && kind <= EventKind::kRmaOpCompleteRemote);
}

base::Result<> FileHolesSink::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  return {};
}

bool FileHolesSink::is_mark(const TraceEvent& event) const {
  return event.kind == EventKind::kEnter && event.ref < definitions_->regions.size() &&
         definitions_->regions[event.ref].is_loop;
}

void FileHolesSink::event(const TraceEvent& event) {
  communicates_ = communicates_ || is_communication(event.kind);
  Segment& segment = segments_.back();
  if (event.kind == EventKind::kMeasurementOnOff) {
    const bool on = event.op == OTF2_MEASUREMENT_ON;
    if (event.uncertain) {
      if (on) segments_.emplace_back();
    } else if (!std::exchange(segment.switched, true)) {
      segment.switched_on = on;
    }
    return;
  }
  for (const Pair& pair : kPairs) {
    if (event.kind == pair.opens)
      return segment.open.push({number_of(event, pair.opens), event});
    if (event.kind != pair.closes) continue;
    std::size_t ended = segment.open.ended_by(number_of(event, pair.opens));
    if (ended == 0 && segment.unmatched.size() < kMaxUnmatched)
      segment.unmatched.push_back(event);
    for (; ended > 0; --ended) segment.open.pop();
    return;
  }
}

// From outside, of what is left after the hole before this segment.
std::vector<FileHolesSink::Open> FileHolesSink::open_after(const std::vector<Open>& before,
                                                           std::size_t segment) const {
  std::vector<Open> found;
  std::vector<std::uint32_t>
      since;  // entered in segments from this one on, and not left in them
  std::size_t left = before.size();
  const std::size_t end = std::min(segments_.size(), segment + kMaxFurther);
  for (std::size_t i = segment; i < end && (i == segment || left > 0); ++i) {
    for (const TraceEvent& leave : segments_[i].unmatched) {
      const auto* const pair = std::ranges::find(kPairs, leave.kind, &Pair::closes);
      const std::uint32_t region = number_of(leave, pair->opens);
      const auto entered = std::find(since.rbegin(), since.rend(), region);
      if (entered != since.rend()) {
        since.erase(std::next(entered).base(), since.end());
        continue;
      }
      std::size_t at = left;
      while (at > 0 && before[at - 1].region != region) --at;
      if (at > 0) left = at - 1;
      if (at > 0 || i == segment) found.push_back({region, made_of(leave, pair->opens)});
    }
    for (std::size_t depth = 0; depth < segments_[i].open.size(); ++depth)
      since.push_back(segments_[i].open[depth].region);
  }
  std::ranges::reverse(found);
  return found;
}

bool FileHolesSink::off_after(std::size_t segment) const {
  const auto next =
      std::find_if(segments_.begin() + static_cast<std::ptrdiff_t>(segment),
                   segments_.end(), [](const Segment& each) { return each.switched; });
  return next != segments_.end() && next->switched_on;
}

FileHoles FileHolesSink::take() {
  FileHoles out;
  out.communicates = communicates_;
  std::vector<Open> open;  // at the end of a segment
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    // Of what was open at its start the innermost ones are left in it, one for each leave that has no enter.
    const std::size_t left = std::min(open.size(), segments_[i].unmatched.size());
    open.resize(i == 0 ? 0 : open.size() - left);
    for (std::size_t depth = 0; depth < segments_[i].open.size(); ++depth)
      open.push_back(segments_[i].open[depth]);
    FileHoles::Hole& hole = out.holes.emplace_back();
    for (std::size_t at = open.size(); at-- > 0;) {
      if (!open[at].reported) continue;
      const auto* const pair = std::ranges::find(kPairs, open[at].event.kind, &Pair::opens);
      hole.leaves.push_back(made_of(open[at].event, pair->closes));
    }
    if (i + 1 == segments_.size()) break;
    open = open_after(open, i + 1);
    hole.off = off_after(i + 1);
    for (Open& each : open) {
      // Iterations have numbers, and teams members, that are not known.
      each.reported =
          each.event.kind != EventKind::kThreadTeamBegin && !is_mark(each.event);
      if (each.reported) hole.enters.push_back(each.event);
    }
  }
  return out;
}

}  // namespace refrain::reader
