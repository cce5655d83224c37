#include "waits/paths/recorder.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace refrain::waits::paths {

namespace {

// Else all of a group.
bool synchronises_two(WaitKind kind) {
  return kind != WaitKind::kBarrier && kind != WaitKind::kAllToAll &&
         kind != WaitKind::kFinalize && kind != WaitKind::kTeamBarrier;
}

}  // namespace

void Recorder::moved(LocationId location, PathId from, PathId to, Ticks ticks) {
  Ticks rest = ticks;
  for (PathTime& each : open_[location].times) {
    if (each.path != from) continue;
    const Ticks taken = std::min(rest, each.ticks);
    each.ticks -= taken;
    rest -= taken;
  }
  if (rest != ticks) passed(location, to, ticks - rest);
}

void Recorder::merge(Open& open) {
  std::vector<PathTime>& times = open.times;
  std::ranges::sort(times, {}, &PathTime::path);
  std::size_t kept = 0;
  for (const PathTime& each : times)
    if (kept != 0 && times[kept - 1].path == each.path)
      times[kept - 1].ticks += each.ticks;
    else if (each.ticks != 0)
      times[kept++] = each;
  times.resize(kept);
  open.most = std::max(kMax, 2 * kept);
}

void Recorder::write(LocationId location, Ticks end, bool last) {
  Open& open = open_[location];
  segment_.location = location;
  segment_.last = last;
  segment_.begin = open.begin;
  segment_.end = std::max(open.begin, end);
  merge(open);
  segment_.times.swap(open.times);
  notes_->segment(segment_);
  open.begin = segment_.end;
  open.times.clear();
}

void Recorder::forked(LocationId location, PathId path, Ticks time, Ticks management,
                      LocationId master, Ticks first) {
  Open& open = open_[location];
  open.times.clear();
  open.begin = time;
  notes_->forked(location, path, time, management, master, first);
  if (management != 0) passed(location, path, management);
}

void Recorder::forked_master(LocationId location, PathId from, PathId path, Ticks time,
                             Ticks enter, Ticks first) {
  moved(location, from, path, enter - std::min(enter, time));
  notes_->forked_master(location, path, time, enter, first);
}

void WaitLog::segment(const Segment& segment) {
  written_.clear();
  std::ranges::copy_if(segment.times, std::back_inserter(written_),
                       [](const PathTime& each) { return (each.path & kInGap) == 0; });
  delays_.point(segment.location, segment.end, written_);
  append(file_, place_, encode(segment, room_));
}

void WaitLog::forked(LocationId location, PathId path, Ticks time, Ticks management,
                     LocationId master, Ticks first) {
  delays_.point(location, time, {});
  delays_.left(location, time, path, time + management);
  delays_.begins(location, time, first);
  delays_.team(location, time);
  wait_ = {.kind = WaitKind::kFork,
           .location = location,
           .path = path,
           .enter = time,
           .ticks = 0,
           .until = time,
           .point = time,
           .causer = master,
           .since = 0,
           .waited = 0,
           .known_late = false,
           .clocks_disagree = false,
           .excess = {}};
  write_wait();
}

void WaitLog::forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                            Ticks first) {
  delays_.left(location, time, path, enter);
  delays_.begins(location, time, first);
}

void WaitLog::append(RecordFile& file, const Place& place, std::string_view record) {
  file.append(others_ == nullptr ? std::string_view() : encode(place, place_room_), record);
}

void WaitLog::write_wait() {
  wait_.clocks_disagree = clocks_disagree_;
  append(file_, place_, encode(wait_, room_));
}

void WaitLog::fork(LocationId location, Ticks time, std::uint64_t threads) {
  delays_.team(location, time);
  if (threads == 0) return;
  delays_.idle(wait_, location, time, threads);
  if (wait_.ticks != 0) write_wait();
}

void WaitLog::waited(WaitKind kind, const Call& call, Ticks ticks, const Causer& causer) {
  if (ticks == 0 || causer.location == call.location || causer.location >= locations_)
    return;
  wait_.kind = kind;
  wait_.location = call.location;
  wait_.path = call.path;
  wait_.enter = call.enter;
  wait_.ticks = ticks;
  wait_.until = std::min(causer.point, call.leave);
  wait_.point = causer.point;
  wait_.clocks_disagree = false;
  wait_.causer = causer.location;
  const auto reader_of = [this](LocationId location) {
    return others_ == nullptr ? OtherLogs::kHere : others_->reader_of(location);
  };
  const std::uint32_t of_waiter = reader_of(call.location),
                      of_causer = reader_of(causer.location);
  if (of_waiter == OtherLogs::kHere) {
    if (causer.point > call.leave) {
      if (others_ == nullptr) clocks_disagree_ = true;
      if (!first_disagreement_) first_disagreement_ = place_;
    }
    if (of_causer == OtherLogs::kHere)
      delays_.explain(wait_, causer.point);
    else
      ask(of_causer, delays_.since(wait_, causer.point));
    delays_.waited(wait_);
  } else {
    tell(of_waiter, delays_.since(wait_, causer.point));
  }
  if (synchronises_two(kind)) delays_.pair(wait_, causer, call.leave);
  if (of_waiter != OtherLogs::kHere) return;
  if (of_causer == OtherLogs::kHere)
    write_wait();
  else
    pending_.back().wait.known_late = wait_.known_late;
}

void WaitLog::ask(std::uint32_t reader, const Delays::Since& from) {
  if (reader >= asked_.size()) asked_.resize(std::size_t{reader} + 1);
  asked_[reader].push_back(written_pending_ + pending_.size());
  Pending& pending = pending_.emplace_back();
  if (!spare_.empty()) {
    pending.waiter = std::move(spare_.back());
    spare_.pop_back();
  }
  wait_.excess.clear();
  pending.wait = wait_;
  pending.place = place_;
  delays_.of_waiter(wait_, from, pending.waiter);
}

// Many may wait for the same one, after the same point.
void WaitLog::tell(std::uint32_t reader, const Delays::Since& from) {
  Place step = place_;
  step.turn = 0;
  if (told_.causer != wait_.causer || told_.step != step || told_.point != wait_.point ||
      told_.since != from.causer) {
    told_.causer = wait_.causer;
    told_.step = step;
    told_.point = wait_.point;
    told_.since = from.causer;
    delays_.of_causer(wait_, from, wait_.point, told_.activity);
  }
  others_->late(reader, told_.activity);
}

void WaitLog::explain(std::uint32_t reader, const Activity& activity) {
  Pending& explained = pending_[asked_[reader].front() - written_pending_];
  asked_[reader].pop_front();
  delays_.compare(explained.wait, activity, explained.waiter);
  explained.explained = true;
  for (; !pending_.empty() && pending_.front().explained; ++written_pending_) {
    append(file_of_others_, pending_.front().place, encode(pending_.front().wait, room_));
    spare_.push_back(std::move(pending_.front().waiter));
    pending_.pop_front();
  }
}

}  // namespace refrain::waits::paths
