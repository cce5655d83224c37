// Notes, while a location is replayed, where its time goes between its synchronisation points.
//
// Place in the flow: replay.h calls it; what comes of it goes to Notes, which WaitLog keeps. Thread-safety: none.
// A synchronisation point is the enter of a call that may wait, or for which others may.
// Units: ticks since the archive's begin. Shapes: call paths are those of the location's process.
// Memory: what is open, by location. Cost: a few stores for each region.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "waits/metrics/pattern.h"
#include "waits/paths/delays.h"
#include "waits/paths/records.h"

namespace refrain::waits::paths {

// One of those that took part in an operation of all of a group.
struct GroupMember {
  LocationId location{};
  Ticks enter = 0;
};

// What the replay of a location notes for the critical path and delay costs. WaitLog keeps it.
//
// Thread-safety: none. Units: ticks since the archive's begin. Shapes: call paths are those of the location's
// process.

class Notes {
 public:
  virtual ~Notes() = default;

  // The location has come to a synchronisation point, or to its end.
  virtual void segment(const Segment& segment) = 0;
  // A thread begins in a team, whose fork is the master's latest synchronisation point; the master does.
  virtual void forked(LocationId location, PathId path, Ticks time, Ticks management,
                      LocationId master, Ticks first) = 0;
  virtual void forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                             Ticks first) = 0;
  // The master is at a fork, or has left a team. Between the outermost ones `threads` others are idle.
  virtual void fork(LocationId location, Ticks time, std::uint64_t threads) = 0;
  virtual void join(LocationId location, Ticks time) = 0;
  // `call` waited `ticks` for the causer.
  virtual void waited(WaitKind kind, const Call& call, Ticks ticks,
                      const Causer& causer) = 0;
  // A barrier of the location's team, entered then.
  virtual void team(LocationId location, Ticks enter) = 0;
  // The call entered at the location's latest synchronisation point is over.
  virtual void left(const Call& call) = 0;
  // After waits of an operation that synchronises all of a group.
  virtual void group(std::uint32_t group, std::span<const GroupMember> members,
                     Ticks earliest_leave) = 0;
  // Of what one event makes known, what follows comes in this turn, whoever finds it.
  virtual void turn(std::uint32_t) {}
};

class Recorder {
 public:
  // Before the first event. `notes` live as long as events come.
  void begin(std::size_t locations, Notes& notes) {
    open_.resize(locations);
    notes_ = &notes;
  }

  // Time that has passed on the location; in a gap, `path` is that with kInGap.
  void passed(LocationId location, PathId path, Ticks ticks) {
    std::vector<PathTime>& times = open_[location].times;
    const std::size_t from = times.size() - (times.size() < kLook ? times.size() : kLook);
    for (std::size_t i = times.size(); i-- > from;)
      if (times[i].path == path) {
        times[i].ticks += ticks;
        return;
      }
    if (times.size() >= open_[location].most) merge(open_[location]);
    times.push_back({path, ticks});
  }
  // A part of it belongs to another path.
  void moved(LocationId location, PathId from, PathId to, Ticks ticks);

  // The location begins to run; enters a call that is a synchronisation point.
  void starts(LocationId location, Ticks time) { open_[location].begin = time; }
  void point(LocationId location, Ticks time) { write(location, time, false); }
  // A thread begins in a team, whose fork is the master's latest synchronisation point. What was before was no work.
  // Its begin in the parallel region, `management` later, is not the first one's, which is at `first`.
  void forked(LocationId location, PathId path, Ticks time, Ticks management,
              LocationId master, Ticks first);
  // The same of the master, whose fork was at `time`.
  void forked_master(LocationId location, PathId from, PathId path, Ticks time, Ticks enter,
                     Ticks first);

  // The master has come to a fork, or leaves a team. Between the outermost ones `threads` others are idle.
  void fork(LocationId location, Ticks time, std::uint64_t threads) {
    point(location, time);
    notes_->fork(location, time, threads);
  }
  void join(LocationId location, Ticks time) {
    point(location, time);
    notes_->join(location, time);
  }
  // A barrier of its team: it waited for the causer, who came last, at `until`.
  void team(const Call& call, Ticks ticks, LocationId causer, Ticks until) {
    if (ticks != 0) notes_->waited(WaitKind::kTeamBarrier, call, ticks, {causer, until});
    notes_->team(call.location, call.enter);
  }

  // At the end of the location's process; after that no more.
  void finish(LocationId location, Ticks end) { write(location, end, true); }

 private:
  static constexpr std::size_t kLook = 8;
  static constexpr std::size_t kMax = 256;  // then those of one path become one

  struct Open {
    Ticks begin = 0;
    std::vector<PathTime> times;
    std::size_t most = kMax;
  };

  static void merge(Open& open);
  void write(LocationId location, Ticks end, bool last);

  Notes* notes_ = nullptr;
  std::vector<Open> open_;
  Segment segment_;
};

// The logs of several readers, each of its own locations: what one of them asks the others.
class OtherLogs {
 public:
  static constexpr std::uint32_t kHere = ~std::uint32_t{0};
  virtual ~OtherLogs() = default;
  // Which one has the location.
  virtual std::uint32_t reader_of(LocationId location) const = 0;
  // What made a location of this log late, for which one of that reader's has waited.
  virtual void late(std::uint32_t reader, const Activity& activity) = 0;
};

// Keeps what locations note, explains each wait by what had made the other one late, and writes both to a file for the
// backward pass.
//
// Thread-safety: none. A location's calls are entered in the order of their times, so that segments lie in the file
// in the order of their ends. Memory: histories (delays.h); records go to a file (records.h). Errors:
// file().error(). Cost: a record for each synchronisation point and each wait.

//
// Of several logs, each has all notes of its locations, the groups of these, and the waits in which one of them is the
// waiter or the causer, in the order of all (Place). What a causer of another log did comes later: such waits go to a
// file of their own. Memory: these, until then.

class WaitLog final : public Notes {
 public:
  // `folder`: where a temporary file may be made. The states live as long as notes come.
  WaitLog(std::string folder, const std::vector<LocationState>& locations,
          const std::vector<ProcessState>& processes)
      : file_(folder), file_of_others_(std::move(folder)), locations_(locations.size()) {
    delays_.begin(locations, processes);
  }

  // One of several, from the first note on. Each one has its place.
  void share(OtherLogs& others) { others_ = &others; }
  void at(const Place& place) { place_ = place; }
  // The oldest wait for a causer of that reader's, in the order of places, is explained by this; if there is one.
  bool waits_for(std::uint32_t reader) const {
    return reader < asked_.size() && !asked_[reader].empty();
  }
  void explain(std::uint32_t reader, const Activity& activity);
  bool all_explained() const { return pending_.empty(); }
  PathNames& names() { return delays_.names(); }
  // Of several, the first wait of which the effect came before its cause.
  const std::optional<Place>& first_disagreement() const { return first_disagreement_; }

  void segment(const Segment& segment) override;
  void forked(LocationId location, PathId path, Ticks time, Ticks management,
              LocationId master, Ticks first) override;
  void forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                     Ticks first) override;
  void fork(LocationId location, Ticks time, std::uint64_t threads) override;
  void join(LocationId location, Ticks time) override { delays_.joined(location, time); }
  void waited(WaitKind kind, const Call& call, Ticks ticks, const Causer& causer) override;
  void team(LocationId location, Ticks enter) override { delays_.team(location, enter); }
  void left(const Call& call) override {
    delays_.left(call.location, call.enter, call.path, call.leave);
  }
  void group(std::uint32_t group, std::span<const GroupMember> members,
             Ticks earliest_leave) override {
    for (const GroupMember& member : members)
      delays_.group(group, member.location, member.enter, earliest_leave);
  }

  RecordFile& file() { return file_; }
  // Waits for causers of other logs.
  RecordFile& file_of_others() { return file_of_others_; }

 private:
  struct Pending {
    Wait wait;
    std::vector<PathTime> waiter;
    Place place;
    bool explained = false;
  };

  void append(RecordFile& file, const Place& place, std::string_view record);
  void write_wait();
  void ask(std::uint32_t reader, const Delays::Since& from);
  void tell(std::uint32_t reader, const Delays::Since& from);

  RecordFile file_, file_of_others_;
  std::size_t locations_;
  Delays delays_;
  bool clocks_disagree_ = false;
  Wait wait_;
  std::string room_, place_room_;
  std::vector<PathTime> written_;  // of a segment
  // Of several:
  OtherLogs* others_ = nullptr;
  Place place_;
  std::optional<Place> first_disagreement_;
  std::deque<Pending> pending_;
  std::vector<std::vector<PathTime>> spare_;
  std::uint64_t written_pending_ = 0;             // those before pending_
  std::vector<std::deque<std::uint64_t>> asked_;  // by reader: numbers of waits
  struct {
    LocationId causer{kNone};
    Place step;
    Ticks point = 0, since = 0;
    Activity activity;
  } told_;  // at last
};

}  // namespace refrain::waits::paths
