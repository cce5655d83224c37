#include "analysis/causes/run_parts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "base/thread_use.h"

namespace refrain::analysis {
namespace {

using Row = IterationProfile::Row;

double of(const ClassTimes& times, TimeClass cls) {
  return times[static_cast<std::size_t>(cls)];
}

double communication(const ClassTimes& times) {
  return of(times, TimeClass::kMpiPointToPoint) + of(times, TimeClass::kMpiCollective) +
         of(times, TimeClass::kMpiSynchronization) + of(times, TimeClass::kMpiOneSided);
}

void add(ClassTimes& to, const ClassTimes& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

// A thread's rows; one of all its time, where there are none.
struct Track {
  const std::vector<Row>* rows = nullptr;
  std::vector<Row> whole;
  bool helper = false;
  double late = 0;  // start and end of regions that is no part of its rows

  const std::vector<Row>& all() const { return rows != nullptr ? *rows : whole; }
};

struct Process {
  Track primary;
  std::vector<Track> others;
};

// What a cell is made of, while the rows of one process are added.
struct Sums {
  double wall = 0;
  double core_wait = 0;
  double primary_core_wait = 0;
  double primary_core = 0;  // time on one
  ClassTimes primary{};
  ClassTimes others{};
  double outside = 0;  // of others, in no region and without work
  // Of others in regions.
  double in_regions() const {
    return std::max(0.0, std::accumulate(others.begin(), others.end(), 0.0) - outside);
  }
};

class PartsBuilder {
 public:
  PartsBuilder(const RunProfile& profile, const ProfileTotals& totals,
               const IterationProfile& iterations)
      : profile_(profile), totals_(totals), iterations_(iterations) {}

  RunParts build() {
    collect();
    choose_loops();
    find_visits();
    for (Frame& frame : out_.frames) {
      frame.parts.resize(frame.cells.size() * processes_.size());
      frame.moments.resize(frame.cells.size());
    }
    for (std::size_t i = 0; i < out_.moments.size(); ++i)
      out_.frames[out_.moments[i].frame].moments[out_.moments[i].cell] = i;
    for (std::size_t i = 0; i < processes_.size(); ++i) add_process(i);
    for (Frame& frame : out_.frames)
      for (std::size_t cell = 0; cell < frame.cells.size(); ++cell) even_out(frame, cell);
    for (Frame& frame : out_.frames) bound_waits_in_mpi(frame);
    wait_at_end();
    no_less_than_nothing();
    return std::move(out_);
  }

 private:
  void collect() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, const std::vector<Row>*> known;
    for (const IterationProfile::Location& location : iterations_.locations)
      known.try_emplace({location.process, location.thread}, &location.rows);
    processes_.resize(profile_.processes.size());
    out_.threads.resize(profile_.processes.size());
    std::vector<bool> has_primary(profile_.processes.size());
    for (const RunProfile::Location& location : profile_.locations)
      if (location.primary && !location.helper) has_primary[location.process] = true;
    std::vector<bool> begun(profile_.processes.size());
    for (LocationId i; i < profile_.locations.size(); ++i) {
      const RunProfile::Location& location = profile_.locations[i];
      Track track;
      track.helper = location.helper;
      const auto rows = known.find({profile_.process_of(i).number, location.thread});
      if (rows != known.end() && !rows->second->empty())
        track.rows = rows->second;
      else
        track.whole = {
            {.loop = IterationProfile::kNoLoop,
             .end_ns = profile_.nanoseconds(i, static_cast<double>(profile_.time_of(i))),
             .times = totals_.by_location[i],
             .outside_ns = location.worker ? profile_.nanoseconds(
                                                 i, static_cast<double>(location.outside))
                                           : 0,
             .counters = {}}};
      if (location.worker) track.late = late_of(i, track.all());
      Process& process = processes_[location.process];
      if (!location.helper) ++out_.threads[location.process];
      const bool primary = has_primary[location.process]
                               ? location.primary
                               : !location.helper && !begun[location.process];
      if (primary && !begun[location.process] && !location.helper) {
        begun[location.process] = true;
        process.primary = std::move(track);
      } else {
        process.others.push_back(std::move(track));
      }
    }
  }

  // What the profile has more of it than the rows.
  double late_of(LocationId location, const std::vector<Row>& rows) const {
    double late = of(totals_.by_location[location], TimeClass::kThreadManagement);
    for (const Row& row : rows) late -= of(row.times, TimeClass::kThreadManagement);
    return std::max(0.0, late);
  }

  // A file may hold any numbers.
  static bool counts(const Row& row) {
    constexpr std::uint64_t kMax = std::uint64_t{1} << 48;
    return row.count != 0 && row.count < kMax && row.first < kMax;
  }

  // Iterations of a loop, also those without rows.
  static std::uint64_t iterations_of(const Process& process, std::uint32_t loop) {
    std::uint64_t end = 0;
    for (const Row& row : process.primary.all())
      if (row.loop == loop && counts(row)) end = row.first + row.count;
    return end;
  }

  // Begins of rows of a loop, and after the last one its end, in iterations.
  static std::vector<std::uint64_t> bounds(const Process& process, std::uint32_t loop) {
    std::vector<std::uint64_t> found;
    std::uint64_t end = 0;
    for (const Row& row : process.primary.all()) {
      if (row.loop != loop || !counts(row)) continue;
      found.push_back(row.first);
      end = row.first + row.count;
    }
    if (!found.empty()) found.push_back(end);
    return found;
  }

  // How many iterations have rows that begin before one.
  class RowCounts {
   public:
    RowCounts(const Process& process, std::uint32_t loop) {
      std::uint64_t sum = 0;
      for (const Row& row : process.primary.all()) {
        if (row.loop != loop || !counts(row)) continue;
        rows_.emplace_back(row.first, sum);
        sum += row.count;
      }
      rows_.emplace_back(~std::uint64_t{0}, sum);
    }
    std::uint64_t before(std::uint64_t iteration) const {
      return std::ranges::lower_bound(rows_, iteration, {},
                                      &std::pair<std::uint64_t, std::uint64_t>::first)
          ->second;
    }

   private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rows_;
  };

  void choose_loops() {
    frame_of_loop_.assign(iterations_.loops.size(), kOutside);
    for (std::uint32_t loop = 0; loop < iterations_.loops.size(); ++loop) {
      std::vector<std::uint64_t> common;
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        std::vector<std::uint64_t> own = bounds(processes_[i], loop);
        if (own.empty()) {
          common.clear();
          break;
        }
        if (i == 0) {
          common = std::move(own);
          continue;
        }
        // What the one that has fewer lacks belongs to the last cell.
        const std::uint64_t begin = std::min(common.front(), own.front());
        const std::uint64_t end = std::min(common.back(), own.back());
        std::vector<std::uint64_t> both;
        std::ranges::set_intersection(common, own, std::back_inserter(both));
        if (both.empty() || both.front() != begin) both.insert(both.begin(), begin);
        if (both.back() < end) both.push_back(end);
        common = std::move(both);
      }
      if (common.size() < 2) continue;
      Frame& frame = loops_.emplace_back();
      frame.loop = iterations_.loops[loop].name;
      frame.iterations = iterations_of(processes_[0], loop);
      for (const Process& process : processes_)
        frame.iterations = std::min(frame.iterations, iterations_of(process, loop));
      const std::size_t most =
          std::max<std::size_t>(8, kMaxParts / std::max<std::size_t>(1, processes_.size()));
      const std::size_t step = (common.size() - 2) / most + 1;
      const RowCounts rows(processes_[0], loop);
      for (std::size_t i = 0; i + 1 < common.size(); i += step) {
        const std::uint64_t next = common[std::min(i + step, common.size() - 1)];
        frame.cells.push_back(
            {.first = common[i], .count = rows.before(next) - rows.before(common[i])});
      }
      frame_of_loop_[loop] = loops_.size() - 1;
    }
  }

  // Of a row: the loop's frame and cell. Outside of these: after how many visits of them, and after which meeting of all.
  struct Place {
    std::size_t loop = kOutside;
    std::size_t cell = 0;
    std::size_t visits = 0;     // begun, with its own
    std::uint64_t meeting = 0;  // 0: before the first one since the last visit
  };

  std::vector<Place> places_of(const std::vector<Row>& rows) const {
    std::vector<Place> places(rows.size());
    std::size_t visits = 0, last = kOutside;
    std::uint64_t meeting = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      Place& place = places[i];
      if (counts(row) && row.loop < frame_of_loop_.size())
        place.loop = frame_of_loop_[row.loop];
      if (place.loop != kOutside) {
        if (place.loop != last) ++visits;
        meeting = 0;
        const std::vector<Amount>& cells = loops_[place.loop].cells;
        const auto after = std::ranges::upper_bound(cells, row.first, {}, &Amount::first);
        place.cell = after == cells.begin()
                         ? 0
                         : static_cast<std::size_t>(after - cells.begin()) - 1;
      } else if (row.loop == IterationProfile::kNoLoop) {
        meeting = std::max(meeting, row.first);
      }
      last = place.loop;
      place.visits = visits;
      place.meeting = meeting;
    }
    return places;
  }

  // What is common of all processes. Not the same visits: none, and all that is outside of loops is one stretch of time.
  void find_visits() {
    constexpr std::size_t kNot = ~std::size_t{0};
    bool same = true;
    std::vector<std::vector<std::size_t>> first;  // visit of each cell
    first.reserve(loops_.size());
    for (const Frame& frame : loops_) first.emplace_back(frame.cells.size(), kNot);
    for (std::size_t i = 0; i < processes_.size() && same; ++i) {
      std::vector<std::size_t> visits;
      std::vector<std::vector<std::uint64_t>> meetings(1);
      for (const Place& place : places_of(processes_[i].primary.all())) {
        meetings.resize(std::max(meetings.size(), place.visits + 1));
        std::vector<std::uint64_t>& own = meetings[place.visits];
        if (place.loop == kOutside) {
          if (place.meeting > (own.empty() ? 0 : own.back())) own.push_back(place.meeting);
          continue;
        }
        if (place.visits > visits.size()) visits.push_back(place.loop);
        std::size_t& visit = first[place.loop][place.cell];
        visit = std::min(visit, place.visits);
      }
      same = (i == 0 || visits == visits_) && visits.size() * processes_.size() < kMaxParts;
      visits_ = std::move(visits);
      i == 0 ? meetings_.swap(meetings) : keep_common(meetings);
    }
    if (!same) {
      visits_.clear();
      meetings_.assign(1, {});
    }
    choose_stretches();
    same ? in_order(first) : apart();
  }

  void keep_common(const std::vector<std::vector<std::uint64_t>>& other) {
    for (std::size_t i = 0; i < meetings_.size(); ++i) {
      std::vector<std::uint64_t> both;
      if (i < other.size())
        std::ranges::set_intersection(meetings_[i], other[i], std::back_inserter(both));
      meetings_[i] = std::move(both);
    }
  }

  // Of time outside of loops: before each visit and after the last one, and in these from one meeting to the next.
  std::size_t stretch_of(const Place& place) const {
    const std::size_t visits = std::min(place.visits, visits_.size());
    const std::vector<std::uint64_t>& common = meetings_[visits];
    return first_stretch_[visits] +
           static_cast<std::size_t>(std::ranges::upper_bound(common, place.meeting) -
                                    common.begin());
  }

  void choose_stretches() {
    first_stretch_.assign(1, 0);
    meetings_.resize(visits_.size() + 1);
    for (const std::vector<std::uint64_t>& common : meetings_)
      first_stretch_.push_back(first_stretch_.back() + common.size() + 1);
    out_.frames.resize(1);
    out_.frames[0].cells.resize(first_stretch_.back());
    out_.frames.insert(out_.frames.end(), loops_.begin(), loops_.end());
  }

  void in_order(const std::vector<std::vector<std::size_t>>& first) {
    std::vector<std::size_t> next(first.size());  // cell of each loop
    for (std::size_t visit = 0; visit <= visits_.size(); ++visit) {
      for (std::size_t i = first_stretch_[visit]; i < first_stretch_[visit + 1]; ++i)
        out_.moments.push_back({.frame = 0, .cell = i});
      if (visit == visits_.size()) break;
      const std::size_t loop = visits_[visit];
      // A cell in which nobody has a row is of its neighbour's visit.
      for (std::size_t& cell = next[loop];
           cell < first[loop].size() &&
           (first[loop][cell] <= visit + 1 || first[loop][cell] > visits_.size());
           ++cell)
        out_.moments.push_back({.frame = 1 + loop, .cell = cell});
    }
  }

  void apart() {
    for (std::size_t frame = 0; frame < out_.frames.size(); ++frame)
      for (std::size_t cell = 0; cell < out_.frames[frame].cells.size(); ++cell)
        out_.moments.push_back({.frame = frame, .cell = cell, .apart = cell == 0});
  }

  RunParts::Moment moment_of(const Place& place) const {
    if (place.loop == kOutside) return {.frame = 0, .cell = stretch_of(place)};
    return {.frame = 1 + place.loop, .cell = place.cell};
  }

  // Calls take(number, part) for these rows, of which the row is a part each; all of it.
  template <typename Take>
  static void spread(const Row& row, const std::vector<Row>& rows, const Take& take) {
    auto first = std::ranges::upper_bound(rows, row.begin_ns, {}, &Row::begin_ns);
    if (first != rows.begin()) --first;
    const auto overlap = [&](const Row& other) {
      return std::max(
          0.0, std::min(row.end_ns, other.end_ns) - std::max(row.begin_ns, other.begin_ns));
    };
    double all = 0;
    for (auto at = first; at != rows.end() && at->begin_ns < row.end_ns; ++at)
      all += overlap(*at);
    if (all <= 0) return take(static_cast<std::size_t>(first - rows.begin()), 1.0);
    for (auto at = first; at != rows.end() && at->begin_ns < row.end_ns; ++at)
      if (const double part = overlap(*at); part > 0)
        take(static_cast<std::size_t>(at - rows.begin()), part / all);
  }

  void add_process(std::size_t number) {
    const Process& process = processes_[number];
    std::vector<std::vector<Sums>> sums;
    sums.reserve(out_.frames.size());
    for (const Frame& frame : out_.frames) sums.emplace_back(frame.cells.size());
    const std::vector<Row>& rows = process.primary.all();
    const std::vector<Place> places = places_of(rows);
    const auto sums_of = [&](const Place& place) -> Sums& {
      const RunParts::Moment at = moment_of(place);
      return sums[at.frame][at.cell];
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (places[i].loop == kOutside) {
        RunParts::Moment& moment =
            out_.moments[out_.frames[0].moments[stretch_of(places[i])]];
        if (moment.end_ns == 0 || rows[i].begin_ns < moment.begin_ns)
          moment.begin_ns = rows[i].begin_ns;
        moment.end_ns = std::max(moment.end_ns, rows[i].end_ns);
      }
      Sums& to = sums_of(places[i]);
      to.wall += rows[i].end_ns - rows[i].begin_ns;
      const double core_wait = iterations_.counter(rows[i], base::kCoreWait);
      to.core_wait += core_wait;
      to.primary_core_wait += core_wait;
      to.primary_core += iterations_.counter(rows[i], base::kCore);
      add(to.primary, rows[i].times);
    }
    for (const Track& other : process.others)
      for (const Row& row : other.all()) {
        // That of the primary thread's row at its middle.
        const double middle = (row.begin_ns + row.end_ns) / 2;
        auto at = std::ranges::upper_bound(rows, middle, {}, &Row::begin_ns);
        if (at != rows.begin()) --at;
        // Of one who has no rows of his own for that long: by their overlap.
        const double length = row.end_ns - row.begin_ns;
        if (at != rows.end() && length > 2 * (at->end_ns - at->begin_ns)) {
          spread(row, rows, [&](std::size_t number, double part) {
            Sums& to = sums_of(places[number]);
            to.core_wait += part * iterations_.counter(row, base::kCoreWait);
            to.outside += part * row.outside_ns;
            for (std::size_t i = 0; i < row.times.size(); ++i)
              to.others[i] += part * row.times[i];
          });
          continue;
        }
        const Place place = at == rows.end()
                                ? Place{}
                                : places[static_cast<std::size_t>(at - rows.begin())];
        Sums& to = sums_of(place);
        to.core_wait += iterations_.counter(row, base::kCoreWait);
        to.outside += row.outside_ns;
        add(to.others, row.times);
      }
    const auto workers =
        static_cast<double>(std::max<std::size_t>(1, out_.threads[number]) - 1);
    for (std::size_t frame = 0; frame < sums.size(); ++frame)
      for (std::size_t cell = 0; cell < sums[frame].size(); ++cell)
        finish(sums[frame][cell], frame == 0, workers, out_.frames[frame].at(cell, number));
    for (std::size_t frame = 0; frame < sums.size(); ++frame)
      set_core_waits(sums[frame], out_.frames[frame], number);
    double late = 0;
    for (const Track& other : process.others) late += other.late;
    if (late > 0) move_late(number, sums, late);
  }

  void move_late(std::size_t number, const std::vector<std::vector<Sums>>& sums,
                 double late) {
    const auto move = [&](const auto& weight_of) {
      double all = 0;
      for (std::size_t frame = 0; frame < sums.size(); ++frame)
        for (std::size_t cell = 0; cell < sums[frame].size(); ++cell)
          all += weight_of(frame, cell);
      if (all <= 0) return;
      const double each = late / all;
      for (std::size_t frame = 0; frame < sums.size(); ++frame)
        for (std::size_t cell = 0; cell < sums[frame].size(); ++cell) {
          double& serial = out_.frames[frame].at(cell, number).serial;
          const double part = taken(serial, each * weight_of(frame, cell));
          late -= part;
          account(Account::kSerial) -= part;
          account(Account::kManagement) += part;
        }
    };
    move([&](std::size_t frame, std::size_t cell) {
      return sums[frame][cell].in_regions();
    });
    if (late > 0)
      move([&](std::size_t frame, std::size_t cell) {
        return out_.frames[frame].at(cell, number).serial;
      });
  }

  // Of a killed process some times may be negative: what is too little there is too much elsewhere.
  void no_less_than_nothing() {
    double less = 0;
    for (double& ns : out_.ledger) {
      less += std::max(0.0, -ns);
      ns = std::max(0.0, ns);
    }
    double all = std::accumulate(out_.ledger.begin(), out_.ledger.end(), 0.0);
    if (less <= 0 || all <= 0) return;
    const double rest = std::max(0.0, 1 - less / all);
    for (double& ns : out_.ledger) ns *= rest;
  }

  double& account(Account of) { return out_.ledger[static_cast<std::size_t>(of)]; }

  // What is not known of a process beyond what is not known of the others (a part of its file is damaged) may be work or not: it
  // is taken for as much of that as makes it like the process of which most is known.
  void even_out(Frame& frame, std::size_t cell) const {
    const Part* known = nullptr;
    for (std::size_t i = 0; i < processes_.size(); ++i)
      if (const Part& part = frame.at(cell, i);
          known == nullptr || part.unknown < known->unknown)
        known = &part;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      Part& part = frame.at(cell, i);
      if (part.unknown <= known->unknown) continue;
      const double least = part.work - (part.unknown - known->unknown);
      part.work = std::clamp(known->work, least, part.work);
    }
  }

  static double end_of(const Process& process) {
    const std::vector<Row>& rows = process.primary.all();
    return rows.empty() ? 0 : rows.back().end_ns;
  }

  // In MPI_Finalize, at the end of the run, processes wait until the last one is there.
  void wait_at_end() {
    std::vector<double> times(processes_.size());
    for (PathId i; i < profile_.paths.size(); ++i) {
      const RunProfile::Path& path = profile_.paths[i];
      if (path.region == RunProfile::kNone ||
          profile_.regions[path.region].name != "MPI_Finalize")
        continue;
      for (const RunProfile::Sums& sums : path.sums)
        if (profile_.locations[sums.location].primary)
          times[profile_.locations[sums.location].process] +=
              profile_.nanoseconds(sums.location, static_cast<double>(sums.own));
    }
    double last = 0;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (times[i] <= 0) return;
      last = std::max(last, end_of(processes_[i]) - times[i]);
    }
    Frame& outside = out_.frames[0];
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      Part& part = outside.at(outside.cells.size() - 1, i);
      const double begun = end_of(processes_[i]) - times[i];
      const double waited = std::min({last - begun, times[i], part.start});
      if (waited <= 0) continue;
      const double all = part.start_all * waited / part.start;
      part.start -= waited;
      part.start_all -= all;
      part.mpi += waited;
      part.mpi_all += all;
      out_.ledger[static_cast<std::size_t>(Account::kStart)] -= all;
      out_.ledger[static_cast<std::size_t>(Account::kCommunication)] += all;
    }
  }

  // Of the time in which other threads have no work, as much as the primary spends elsewhere.
  static double taken(double& idle, double most) {
    const double part = std::clamp(idle, 0.0, std::max(0.0, most));
    idle -= part;
    return part;
  }

  // Who waits in MPI polls there, so what it slept was at work; of the rest, for the same part without a core as in all.
  static double core_wait_at_work(const Sums& sums, const Part& part) {
    const double slept =
        std::max(0.0, sums.wall - sums.primary_core - sums.primary_core_wait);
    const double work = std::max(0.0, part.work - slept);
    const double mpi = std::max(0.0, part.mpi - std::max(0.0, slept - part.work));
    return work > 0 ? std::min(work, sums.primary_core_wait * work / (work + mpi)) : 0;
  }

  // Of iterations that are long enough together.
  static constexpr double kTogether = 10 * base::kRowUseApart_s * 1e9;
  void set_core_waits(const std::vector<Sums>& sums, Frame& frame, std::size_t number) {
    for (std::size_t begin = 0; begin < sums.size();) {
      Sums all;
      Part parts;
      std::size_t end = begin;
      for (; end < sums.size() && all.wall < kTogether; ++end) {
        all.wall += sums[end].wall;
        all.primary_core += sums[end].primary_core;
        all.primary_core_wait += sums[end].primary_core_wait;
        parts.work += frame.at(end, number).work;
        parts.mpi += frame.at(end, number).mpi;
      }
      const double waited = core_wait_at_work(all, parts);
      for (; begin < end; ++begin) {
        Part& part = frame.at(begin, number);
        if (parts.work > 0) part.core_wait_at_work = part.work * waited / parts.work;
        if (parts.mpi > 0)
          part.core_wait_in_mpi = part.mpi * (all.primary_core_wait - waited) / parts.mpi;
      }
    }
  }

  // In MPI a process waits for work of the others as long as all of them have some one after the other, at most. The rest is
  // transfer, or for a process that has no core there: which may be another one.
  void bound_waits_in_mpi(Frame& frame) const {
    const auto sum = [](const std::vector<double>& of) {
      return std::accumulate(of.begin(), of.end(), 0.0);
    };
    for (std::size_t begin = 0, end = 0; begin < frame.cells.size(); begin = end) {
      std::vector<double> work(processes_.size()), mpi(processes_.size()),
          no_core(processes_.size());
      for (double longest = 0; end < frame.cells.size() && longest < kTogether; ++end)
        for (std::size_t i = 0; i < processes_.size(); ++i) {
          const Part& part = frame.at(end, i);
          work[i] += part.work;
          mpi[i] += part.mpi;
          no_core[i] += part.core_wait_in_mpi;
          longest = std::max(longest, work[i] + mpi[i]);
        }
      const double all_work = sum(work), all_without = sum(no_core);
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        const double rest = std::clamp(mpi[i] - (all_work - work[i]), 0.0, all_without);
        for (std::size_t cell = begin; cell < end; ++cell) {
          Part& part = frame.at(cell, i);
          part.core_wait_in_mpi = mpi[i] > 0 ? part.mpi * rest / mpi[i] : 0;
        }
      }
    }
  }

  void finish(const Sums& sums, bool outside, double workers, Part& part) {
    const auto both = [&](TimeClass cls) {
      return of(sums.primary, cls) + of(sums.others, cls);
    };
    double mpi = communication(sums.primary), others = communication(sums.others);
    double start = 0, start_of_all = 0;
    if (outside) {
      start = of(sums.primary, TimeClass::kMpiManagement);
      start_of_all = both(TimeClass::kMpiManagement);
    } else {
      mpi += of(sums.primary, TimeClass::kMpiManagement);
      others += of(sums.others, TimeClass::kMpiManagement);
    }
    double in_regions = of(sums.others, TimeClass::kLimitedParallelism);
    double idle = taken(in_regions, sums.outside);
    const auto meanwhile = [&](double most) {
      const double outside = taken(idle, most);
      return outside + taken(in_regions, most - outside);
    };
    const double in_mpi = meanwhile(workers * mpi);
    const double in_start = meanwhile(workers * start);
    const double in_io = meanwhile(workers * (of(sums.primary, TimeClass::kMpiIo) +
                                              of(sums.primary, TimeClass::kFileIo)));
    part.work = std::max(0.0, sums.wall - mpi - start);
    part.unknown = std::min(part.work, of(sums.primary, TimeClass::kUnknown));
    part.mpi = mpi;
    part.messages = of(sums.primary, TimeClass::kMpiPointToPoint) +
                    of(sums.primary, TimeClass::kMpiOneSided);
    part.start = start;
    part.start_all = start_of_all + in_start;
    part.core_wait = sums.core_wait;
    part.mpi_all = mpi + others + in_mpi;
    part.serial = std::max(0.0, idle);
    part.after_single =
        std::max(0.0, in_regions + of(sums.primary, TimeClass::kLimitedParallelism));
    part.useful = std::max(0.0, both(TimeClass::kUseful));
    part.imbalance = both(TimeClass::kImbalance);
    account(Account::kUseful) += both(TimeClass::kUseful);
    account(Account::kCommunication) += part.mpi_all;
    account(Account::kUnevenThreads) += part.imbalance;
    account(Account::kSerial) +=
        idle + in_regions + of(sums.primary, TimeClass::kLimitedParallelism);
    account(Account::kSynchronization) += both(TimeClass::kSynchronization);
    account(Account::kManagement) += both(TimeClass::kThreadManagement);
    account(Account::kFileIo) += both(TimeClass::kMpiIo) + both(TimeClass::kFileIo) + in_io;
    account(Account::kStart) += start_of_all + in_start;
    account(Account::kDevices) += both(TimeClass::kTargetWait) +
                                  both(TimeClass::kTargetData) +
                                  both(TimeClass::kTargetKernels);
    account(Account::kUnknown) += both(TimeClass::kUnknown);
  }

  const RunProfile& profile_;
  const ProfileTotals& totals_;
  const IterationProfile& iterations_;
  std::vector<Process> processes_;
  static constexpr std::size_t kOutside = ~std::size_t{0};
  std::vector<Frame> loops_;
  std::vector<std::size_t> frame_of_loop_;            // in loops_
  std::vector<std::size_t> visits_;                   // likewise, in their order
  std::vector<std::vector<std::uint64_t>> meetings_;  // by visits before
  std::vector<std::size_t> first_stretch_;            // likewise, and the end
  RunParts out_;
};

}  // namespace

void RunParts::set_apart(const std::vector<std::size_t>& cells) {
  const std::size_t processes = threads.size();
  Frame rest;
  std::size_t next = 0;
  for (std::size_t cell = 0; cell < frames[0].cells.size(); ++cell) {
    const bool own = next < cells.size() && cells[next] == cell;
    if (own) {
      ++next;
      frames.emplace_back();
    }
    Frame& to = own ? frames.back() : rest;
    Moment& moment = moments[frames[0].moments[cell]];
    moment.frame = own ? frames.size() - 1 : 0;
    moment.cell = to.cells.size();
    to.cells.push_back(frames[0].cells[cell]);
    to.moments.push_back(frames[0].moments[cell]);
    for (std::size_t i = 0; i < processes; ++i)
      to.parts.push_back(frames[0].parts[cell * processes + i]);
  }
  frames[0] = std::move(rest);
}

RunParts parts_of(const RunProfile& profile, const ProfileTotals& totals,
                  const IterationProfile& iterations) {
  return PartsBuilder(profile, totals, iterations).build();
}

}  // namespace refrain::analysis
