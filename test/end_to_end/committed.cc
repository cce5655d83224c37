#include "test/end_to_end/committed.h"

#include <algorithm>
#include <map>
#include <utility>

namespace refrain::test {
namespace {

using spool::Record;

constexpr std::uint64_t kForEver = ~std::uint64_t{0};
constexpr std::uint8_t kLastBarrier = 9;     // ompt_sync_region_barrier_implicit_parallel
constexpr std::uint8_t kTeamsBarrier = 10;   // ompt_sync_region_barrier_teams
constexpr std::uint8_t kCpuThread = 1;       // OTF2_LOCATION_TYPE_...
constexpr std::uint8_t kSingleExecutor = 3;  // ompt_work_single_executor
constexpr std::uint8_t kCritical = 5, kOrdered = 7;  // ompt_mutex_...

bool begins_region(const Record& record) {
  const auto kind = static_cast<std::uint8_t>(record.kind & ~spool::kSnapshot);
  const bool initial =
      kind == spool::kImplicitTaskBegin && (record.sub & spool::kTeamInitial) != 0;
  return spool::is_one_of(spool::kBegins, kind) && !initial;
}

bool ends_region(const Record& record) {
  Record begin = record;
  begin.kind = spool::begin_of(record.kind);
  return (record.kind & spool::kSnapshot) == 0 && begins_region(begin);
}

// Regions that one record enters or leaves.
int regions_of(const Record& record) {
  if (record.kind == spool::kWorkBegin || record.kind == spool::kWorkEnd)
    return record.sub == kSingleExecutor ? 2 : 1;
  return 1;
}

// --- Skipped intervals -------------------------------------------------------------------

struct JournalGap {
  std::uint64_t suspend = kForEver, resume = kForEver;
  std::uint8_t reason = 0;
};

std::map<std::uint64_t, JournalGap> gaps_of(const RawSpool& spool) {
  std::map<std::uint64_t, JournalGap> gaps;
  for (const Record& record : spool.journal) {
    if (record.kind == spool::kGapSuspend) {
      gaps[record.a48()].suspend = record.payload;
      gaps[record.a48()].reason = record.sub;
    }
    if (record.kind == spool::kGapResume) gaps[record.a48()].resume = record.payload;
  }
  return gaps;
}

// When the outermost loops' iteration before the latest one began.
std::uint64_t begin_of_last_but_one(const RawSpool& spool) {
  std::vector<std::uint64_t> begins{0};
  for (const Record& record : spool.journal)
    if (record.kind == spool::kIteration && record.aux16 == 0)
      begins.push_back(record.ticks);
  std::sort(begins.begin(), begins.end());
  return begins.size() > 2 ? begins[begins.size() - 2] : begins.back();
}

// The latest epoch that began at or before this time, by the newest records.
std::uint64_t epoch_at(const RawLocation& location, std::uint64_t ticks) {
  std::uint64_t epoch = kForEver;
  for (const Record& record : location.suspended ? location.ring : location.log)
    if (spool::is_cut(record) && (epoch == kForEver || record.ticks <= ticks))
      epoch = record.a48();
  return epoch;
}

// The epoch from which on a location's ring has everything, if it forgot something.
std::uint64_t ring_begins(const RawLocation& location) {
  if (!location.ring_forgot) return 0;
  const auto first =
      std::find_if(location.ring.begin(), location.ring.end(), spool::is_cut);
  return first == location.ring.end() ? 0 : first->a48();
}

// --- One location ---------------------------------------------------------------------

class LocationCheck {
 public:
  LocationCheck(const RawLocation& raw, const Location& archived, const Trace& trace,
                const std::vector<SkippedInterval>& skipped,
                const std::map<std::uint64_t, std::uint64_t>& joins)
      : raw_(raw), name_(archived.name), skipped_(skipped), joins_(joins) {
    for (const Event& event : archived.events)
      if (!is_phase(trace, event)) ++found_[{event.type, event.time}];
  }

  Committed run() {
    for (std::size_t i = 0; i < raw_.log.size(); ++i) take(raw_.log, i);
    in_ring_ = true;
    // If killed at the cut itself, the ring continues the log.
    if (raw_.suspended && (raw_.ring_forgot || cut_reported_)) start_hole();
    for (std::size_t i = 0; i < raw_.ring.size(); ++i) take(raw_.ring, i);
    close_hole();
    nothing_else();
    return std::move(result_);
  }

 private:
  struct Open {
    Record begin;
    bool archived;
  };

  bool skipped() const {
    return std::any_of(skipped_.begin(), skipped_.end(),
                       [this](const SkippedInterval& interval) {
                         return interval.suspend <= epoch_ && epoch_ < interval.resume;
                       });
  }

  void take(const std::vector<Record>& records, std::size_t index) {
    const Record& record = records[index];
    if (record.kind == spool::kSuspend || record.kind == spool::kResume)
      cut_reported_ = record.kind == spool::kSuspend;
    if (record.kind == spool::kSuspend) return start_hole();
    if (spool::is_cut(record)) pass(records, index);
    if (!is_event(record)) return;
    if (in_hole_) {
      // After a kSuspend there are only ends; regions whose begin the ring forgot are left out.
      if (!in_ring_) carried_.push_back(record);
      return;
    }
    if (!skipped()) {
      result_.events += static_cast<std::uint64_t>(weight(record));
      if (epoch_ == 0) ++result_.without_epoch;
      if (in_ring_) result_.in_ring += static_cast<std::uint64_t>(weight(record));
    }
    event(record);
  }

  // Callbacks of one record.
  static int weight(const Record& record) {
    const bool sync =
        record.kind == spool::kSyncRegionBegin || record.kind == spool::kSyncRegionEnd;
    return sync && (record.aux16 & spool::kWaitToo) != 0 ? 2 : 1;
  }

  void start_hole() { in_hole_ = true; }

  // The regions that are open here, by the record of the epoch.
  void pass(const std::vector<Record>& records, std::size_t index) {
    epoch_ = records[index].a48();
    const bool now_skipped = skipped();
    const bool edge = in_hole_ || was_skipped_;
    was_skipped_ = now_skipped;
    if (!edge) return;
    std::vector<Open> open;
    const bool sync = records[index].kind == spool::kSync;
    for (std::uint64_t i = 1; sync && i <= records[index].payload; ++i) {
      if (index + i >= records.size() || (records[index + i].kind & spool::kSnapshot) == 0)
        break;
      Record begin = records[index + i];
      begin.kind &= static_cast<std::uint8_t>(~spool::kSnapshot);
      if (!begins_region(begin)) continue;
      const bool known = std::any_of(open_.begin(), open_.end(), [&](const Open& o) {
        return o.archived && o.begin.kind == begin.kind && o.begin.ticks == begin.ticks;
      });
      if (!known && !now_skipped) need_begin(begin);
      open.push_back({begin, known || !now_skipped});
    }
    close_hole(open);
    open_ = open;
  }

  // Ends that were carried over a hole, except of regions that are open after it.
  void close_hole(const std::vector<Open>& stay = {}) {
    for (const Record& end : carried_) {
      const std::size_t at = opener_of(end);
      if (at == open_.size()) continue;
      const Open closed = open_[at];
      const bool stays = std::any_of(stay.begin(), stay.end(), [&](const Open& o) {
        return o.begin.kind == closed.begin.kind && o.begin.ticks == closed.begin.ticks;
      });
      if (stays) continue;
      if (closed.archived) need_end(end);
      open_.resize(at);
    }
    carried_.clear();
    in_hole_ = false;
  }

  std::size_t opener_of(const Record& end) const {
    for (std::size_t i = open_.size(); i-- > 0;)
      if (open_[i].begin.kind == end.kind - 1) return i;
    return open_.size();
  }

  void event(const Record& record) {
    if (begins_region(record)) {
      open_.push_back({record, !skipped()});
      if (!skipped()) need_begin(record);
      return;
    }
    if (ends_region(record)) {
      const std::size_t at = opener_of(record);
      if (at == open_.size()) return;
      if (open_[at].archived) need_end(record);
      open_.resize(at);
      return;
    }
    if (skipped()) {
      if (record.kind == spool::kMutexAcquired) locks_[record.a48()] = false;
      if (record.kind == spool::kMutexReleased) release(record);
      return;
    }
    point(record);
  }

  void need_begin(const Record& record) {
    if (record.kind == spool::kParallelBegin) return need(EventType::kThreadFork, record);
    for (int i = 0; i < regions_of(record); ++i) need(EventType::kEnter, record);
  }

  void need_end(Record record) {
    record.ticks = true_end(record);
    if (record.kind == spool::kParallelEnd) return need(EventType::kThreadJoin, record);
    for (int i = 0; i < regions_of(record); ++i) need(EventType::kLeave, record);
  }

  // Members of an outermost team get its end late: the time of the join counts.
  std::uint64_t true_end(const Record& end) const {
    const bool late = end.kind == spool::kImplicitTaskEnd ||
                      ((end.kind == spool::kSyncRegionEnd || end.kind == spool::kWaitEnd) &&
                       (end.sub == kLastBarrier || end.sub == kTeamsBarrier));
    if (!late) return end.ticks;
    std::vector<const Record*> teams;
    for (const Open& open : open_)
      if (open.begin.kind == spool::kImplicitTaskBegin) teams.push_back(&open.begin);
    if (teams.size() != 1) return end.ticks;  // nested: its own recorder has dated it
    const Record& team = *teams.front();
    const bool first = static_cast<std::uint32_t>(team.payload) == 0;
    constexpr auto kOther = spool::kTeamNested | spool::kTeamForeign;
    if (first || (team.sub & kOther) != 0) return end.ticks;
    const auto join = joins_.find(team.a48());
    return join == joins_.end() ? end.ticks : std::min(end.ticks, join->second);
  }

  void point(const Record& record) {
    switch (record.kind) {
      case spool::kTaskCreate:
      case spool::kFlush:
      case spool::kCancel:
      case spool::kNestLock:
        return need(EventType::kEnter, record);
      case spool::kTaskSchedule:
        has_tasks_ = true;
        return;
      case spool::kMutexAcquire:
        need(EventType::kEnter, record);
        asked_[record.a48()] = true;
        return;
      case spool::kMutexAcquired:
        if (!std::exchange(asked_[record.a48()], false)) need(EventType::kEnter, record);
        if (record.sub == kCritical || record.sub == kOrdered)  // the block is a region
          need(EventType::kEnter, record);
        if (record.sub != kOrdered) need(EventType::kAcquireLock, record);
        locks_[record.a48()] = true;
        return;
      case spool::kMutexReleased:
        return release(record);
      default:
        return;  // no event for start and end of threads
    }
  }

  void release(const Record& record) {
    if (std::exchange(locks_[record.a48()], false) && record.sub != kOrdered)
      need(EventType::kReleaseLock, record);
  }

  // At its own time, or some ticks later if that was taken (writer/interpret/event_sink.h).
  void need(EventType type, const Record& record) {
    constexpr std::uint64_t kMaxTicks = 32;
    for (auto at = found_.lower_bound({type, record.ticks});
         at != found_.end() && at->first.first == type &&
         at->first.second <= record.ticks + kMaxTicks;
         ++at) {
      if (at->second == 0) continue;
      --at->second;
      return;
    }
    report("kind " + std::to_string(record.kind) + " at " + std::to_string(record.ticks) +
           ", epoch " + std::to_string(epoch_) +
           (in_ring_ ? ", in the ring" : ", in the log") + ": no " + event_name(type));
  }

  void nothing_else() {
    for (const auto& [key, left] : found_) {
      if (left == 0) continue;
      const bool region = key.first == EventType::kEnter && !has_tasks_;
      if (region || key.first == EventType::kThreadFork)
        report(std::string(event_name(key.first)) + " at " + std::to_string(key.second) +
               ": has no record, or one that is skipped");
    }
  }

  void report(const std::string& what) {
    if (result_.problems.size() < 5) result_.problems.push_back(name_ + ": " + what);
  }

  const RawLocation& raw_;
  std::string name_;
  const std::vector<SkippedInterval>& skipped_;
  const std::map<std::uint64_t, std::uint64_t>& joins_;
  std::map<std::pair<EventType, std::uint64_t>, int> found_;
  Committed result_;
  std::uint64_t epoch_ = 0;
  bool in_ring_ = false, in_hole_ = false, was_skipped_ = false, has_tasks_ = false;
  bool cut_reported_ = false;  // the latest cut of the log is a kSuspend
  std::vector<Open> open_;
  std::vector<Record> carried_;
  std::map<std::uint64_t, bool> asked_, locks_;
};

// When the outermost regions of the primary thread ended, by their number.
std::map<std::uint64_t, std::uint64_t> joins_of(const RawSpool& spool) {
  std::map<std::uint64_t, std::uint64_t> joins;
  constexpr auto kOther = spool::kTeamNested | spool::kTeamForeign;
  for (const RawLocation& location : spool.locations)
    for (const auto* records : {&location.log, &location.ring})
      for (const Record& record : *records)
        if (location.primary && record.kind == spool::kParallelEnd &&
            (record.sub & kOther) == 0)
          joins[record.a48()] = record.ticks;
  return joins;
}

}  // namespace

std::vector<SkippedInterval> skipped_intervals(const RawSpool& spool, bool died) {
  std::vector<SkippedInterval> intervals;
  for (auto& [id, gap] : gaps_of(spool)) {
    for (const RawLocation& location : spool.locations)
      if (gap.resume == kForEver && died && location.primary &&
          gap.reason != spool::kGapWindow) {
        const std::uint64_t epoch = epoch_at(location, begin_of_last_but_one(spool));
        gap.resume = epoch == kForEver ? kForEver : std::max(epoch, gap.suspend);
      }
    for (const RawLocation& location : spool.locations) {
      std::uint64_t latest = kForEver;  // the gap of the location's last kSuspend
      bool resumed = true;
      for (const Record& record : location.log) {
        if (record.kind == spool::kSuspend) latest = record.a48(), resumed = false;
        if (record.kind != spool::kResume) continue;
        resumed = true;
        if (record.a48() == id && latest == id && gap.resume != kForEver)
          gap.resume = std::max(gap.resume, record.payload);
      }
      const bool holds_here = location.suspended && !resumed && latest == id;
      if (holds_here && gap.resume != kForEver)
        gap.resume = std::max(gap.resume, ring_begins(location));
    }
    if (gap.suspend < gap.resume) intervals.push_back({gap.suspend, gap.resume});
  }
  return intervals;
}

Committed check_committed(const RawSpool& spool, const Trace& trace, bool died) {
  Committed result;
  // Streams of devices come after the threads, whose they are.
  const auto threads = static_cast<std::size_t>(
      std::count_if(trace.locations.begin(), trace.locations.end(),
                    [](const Location& each) { return each.type == kCpuThread; }));
  if (spool.locations.size() != threads) {
    result.problems.push_back(std::to_string(spool.locations.size()) + " spools gave " +
                              std::to_string(threads) + " locations");
    return result;
  }
  const std::vector<SkippedInterval> skipped = skipped_intervals(spool, died);
  const auto joins = joins_of(spool);
  for (std::size_t i = 0; i < spool.locations.size(); ++i) {
    const Committed one =
        LocationCheck(spool.locations[i], trace.locations[i], trace, skipped, joins).run();
    result.events += one.events;
    result.in_ring += one.in_ring;
    result.without_epoch += one.without_epoch;
    result.problems.insert(result.problems.end(), one.problems.begin(), one.problems.end());
  }
  return result;
}

}  // namespace refrain::test
