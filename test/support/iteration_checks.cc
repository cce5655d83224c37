#include "test/support/iteration_checks.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "test/support/mpi_checks.h"

namespace refrain::test {
namespace {

using summary::IterationRows;
using summary::RunSummary;

constexpr std::size_t kMaxProblems = 12;

// Classes as they are compared. Which implicit barriers follow a `single` is decided when one is
// met first, so both kinds are one here where only sums are known.
enum Class : std::size_t {
  kUseful,
  kSync,
  kBarrier,  // imbalance
  kSingle,   // limited parallelism
  kManagement,
  kP2p,
  kCollective,
  kMpiSync,
  kOneSided,
  kIo,
  kMpiManagement,
  kTargetWait,
  kTargetData,
  kTargetKernels,
  kFileIo,
  kUnknown,
  kOutside
};
using Times = std::array<std::int64_t, IterationRows::kClasses>;
constexpr const char* kNames[] = {"useful",         "synchronization",
                                  "imbalance",      "limited parallelism",
                                  "management",     "point-to-point",
                                  "collective",     "MPI synchronization",
                                  "one-sided",      "I/O",
                                  "MPI management", "target constructs",
                                  "target data",    "target submit",
                                  "file I/O",       "unknown",
                                  "outside"};

bool any_of(const std::string& name, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) {
    return name.find(part) != std::string::npos;
  });
}

Class mpi_class(std::string name) {
  if (name.ends_with("_c")) name.resize(name.size() - 2);
  if (name == "MPI_Barrier" || name == "MPI_Ibarrier") return kMpiSync;
  if (name == "MPI_Wtime" || name == "MPI_Wtick") return kUseful;
  if (name.starts_with("MPI_File_")) return kIo;
  if (any_of(name, {"Win_create", "Win_allocate", "Win_free", "Win_attach", "Win_detach",
                    "Win_shared", "Comm_", "Group_", "Type_", "Init", "Finalize",
                    "Errhandler", "Cart_", "Topo", "Get_", "Info_", "Op_", "Buffer_"}))
    return kMpiManagement;
  if (any_of(name, {"Win_", "_Put", "_Get", "ccumulate", "_Rput", "_Rget", "Fetch_and",
                    "Compare_and"}))
    return kOneSided;
  if (any_of(name, {"cast", "educe", "ather", "catter", "lltoall", "Scan", "scan"}))
    return kCollective;
  if (any_of(name, {"end", "ecv", "Pready", "Wait", "Test", "robe", "Start", "Cancel",
                    "Request", "polls"}))
    return kP2p;
  return kMpiManagement;
}

// Calls on files belong to no paradigm.
Class class_of(const std::string& name, std::uint32_t paradigm) {
  if (paradigm == OTF2_PARADIGM_MPI) return mpi_class(name);
  if (paradigm == OTF2_PARADIGM_NONE) return kFileIo;
  if (paradigm == OTF2_PARADIGM_PTHREAD)
    return any_of(name, {"pthread_create", "thrd_create"}) ? kManagement : kSync;
  if (paradigm != OTF2_PARADIGM_OPENMP) return kUseful;
  if (any_of(name, {"sblock"})) return kUseful;
  if (any_of(name, {"omp target submit", "omp target kernel"})) return kTargetKernels;
  if (any_of(name, {"omp target data", "omp target alloc", "omp target free", "associate"}))
    return kTargetData;
  if (any_of(name, {"omp target"})) return kTargetWait;
  if (any_of(name, {"implicit barrier", "implementation barrier", "teams barrier",
                    "reduction sync", "reduction wait"}))
    return kBarrier;
  if (any_of(name, {"barrier", "taskwait", "taskgroup", "critical", "ordered", "atomic",
                    "flush", "omp_set_", "omp_test_"}))
    return kSync;
  if (any_of(name, {"create task", "cancel", "omp_unset_"})) return kManagement;
  return kUseful;
}

bool is_single(const std::string& name) {
  return name.starts_with("!$omp single") && !any_of(name, {"sblock"});
}

class Complaints {
 public:
  void add(const std::string& where, const std::string& what, std::int64_t a,
           std::int64_t b) {
    std::ostringstream out;
    out << where << ": " << what << ": " << a << " expected, " << b << " in the rows";
    if (problems.size() < kMaxProblems) problems.push_back(out.str());
  }
  Problems problems;
};

std::string where(const RunSummary& summary, const RunSummary::Location& location) {
  return "process " + std::to_string(summary.process) + " location " +
         std::to_string(location.number);
}

// --- By the call tree -------------------------------------------------------------------

Times times_of_tree(const RunSummary& summary, const RunSummary::Location& location) {
  std::vector<std::int64_t> own;
  Times times{};
  std::int64_t outside = static_cast<std::int64_t>(summary.end - summary.begin) -
                         static_cast<std::int64_t>(location.outside.time_elsewhere);
  times[kUnknown] += static_cast<std::int64_t>(location.outside.time_elsewhere);
  for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
    const RunSummary::Node& node = summary.nodes[i];
    const auto time = static_cast<std::int64_t>(location.sums[i].time);
    const auto elsewhere = static_cast<std::int64_t>(location.sums[i].time_elsewhere);
    own.push_back(time - elsewhere);
    times[kUnknown] += elsewhere;
    (node.parent == RunSummary::kNone ? outside : own[node.parent]) -= time;
  }
  std::vector<Class> classes;
  for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
    const RunSummary::Node& node = summary.nodes[i];
    Class cls = kUnknown;
    if (node.kind == RunSummary::Kind::kFork) {
      cls = kManagement;
    } else if (node.kind == RunSummary::Kind::kRegion) {
      const RunSummary::Region& region = summary.regions[node.region];
      cls = class_of(region.name, region.paradigm);
    }
    classes.push_back(cls);
    times[cls] += own[i];
  }
  times[kOutside] += outside;
  return times;
}

void check_sums(const RunSummary& summary, const RunSummary::Location& location,
                Complaints& complaints) {
  Times rows{};
  for (const IterationRows::Row& row : location.iterations.rows)
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += row.times[i];
  Times tree = times_of_tree(summary, location);
  for (Times* times : {&rows, &tree}) {
    (*times)[kBarrier] += std::exchange((*times)[kSingle], 0);
    // What a worker waits from the fork on is management only in the rows.
    if (!location.primary) (*times)[kOutside] += std::exchange((*times)[kManagement], 0);
  }
  // A thread that dies in the middle of an event has it in one of the two.
  const std::int64_t room =
      summary.complete ? 0 : static_cast<std::int64_t>(summary.end - summary.begin) / 20;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::abs(rows[i] - tree[i]) > room)
      complaints.add(where(summary, location), kNames[i], tree[i], rows[i]);
}

// --- By the events ----------------------------------------------------------------------

// When the threads of a process opened outermost teams.
using Forks = std::map<std::uint32_t, std::set<std::uint64_t>>;

Forks forks_of(const Trace& trace) {
  Forks forks;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kThreadFork) forks[location.group].insert(event.time);
  return forks;
}

struct Piece {
  std::uint64_t begin, end;
  Class cls;
};

// The time of a location, piece by piece.
class Integrator {
 public:
  Integrator(const Trace& trace, const std::set<std::uint64_t>& forks,
             const LeftOut& left_out)
      : trace_(trace), forks_(forks), left_out_(left_out) {}

  std::vector<Piece> pieces(const Location& location, std::uint64_t begin,
                            std::uint64_t end) {
    since_ = begin;
    events_ = &location.events;
    for (at_ = 0; at_ != location.events.size(); ++at_) take(location.events[at_]);
    change(end);
    return std::move(pieces_);
  }

 private:
  struct Open {
    Class cls;
    std::string name;
    std::string before;  // the sibling that has ended last
    std::string path;
    bool left_out = false;
  };

  void change(std::uint64_t time) {
    if (time > since_) pieces_.push_back({since_, time, open_.back().cls});
    since_ = std::max(since_, time);
  }

  void take(const Event& event) {
    if (event.type == EventType::kThreadFork) return fork(event.time);
    if (event.type == EventType::kThreadJoin) return pop(event.time);
    if (event.type != EventType::kEnter && event.type != EventType::kLeave) return;
    const Region& region = trace_.regions.at(event.reference);
    if (is_phase(region)) return;
    if (event.type == EventType::kLeave) return pop(event.time);
    enter(event.time, region);
  }

  // Of the region that is entered next.
  void fork(std::uint64_t time) {
    const auto next =
        std::find_if(events_->begin() + static_cast<std::ptrdiff_t>(at_), events_->end(),
                     [](const Event& e) { return e.type == EventType::kEnter; });
    if (next != events_->end() && left_out_.has(trace_.regions.at(next->reference)))
      return push_left_out(time, "fork");
    push(time, kManagement, "fork");
  }
  // As if it were not there: but what comes first in it, or after it, has no predecessor.
  void push_left_out(std::uint64_t time, const std::string& name) {
    push(time, open_.back().cls, name);
    open_.back().left_out = true;
  }

  void enter(std::uint64_t time, const Region& region) {
    if (left_out_.has(region)) return push_left_out(time, region.name);
    if (open_.size() == 1 && region.role == OTF2_REGION_ROLE_PARALLEL) late(time);
    Class cls = class_of(region.name, region.paradigm);
    if (cls == kBarrier) cls = barrier(region.name);
    push(time, cls, region.name);
  }

  // What came before it the first time decides.
  Class barrier(const std::string& name) {
    const Open& parent = open_.back();
    const auto around = std::find_if(open_.rbegin(), open_.rend(),
                                     [](const Open& open) { return !open.left_out; });
    if (around->name.find("barrier") != std::string::npos &&
        (around->cls == kBarrier || around->cls == kSingle))
      return around->cls;
    const Class cls = is_single(parent.before) ? kSingle : kBarrier;
    return barriers_.try_emplace(parent.path + "/" + name, cls).first->second;
  }

  // Another thread's region: from its fork on.
  void late(std::uint64_t time) {
    auto at = forks_.upper_bound(time);
    if (at == forks_.begin()) return;
    const std::uint64_t fork = *--at;
    if (fork <= since_ && !pieces_.empty()) return;
    change(fork);
    if (time > since_) pieces_.push_back({since_, time, kManagement});
    since_ = time;
  }

  void push(std::uint64_t time, Class cls, const std::string& name) {
    change(time);
    open_.push_back({cls, name, "", open_.back().path + "/" + name});
  }
  void pop(std::uint64_t time) {
    change(time);
    if (open_.size() == 1) return;
    const Open ended = open_.back();
    open_.pop_back();
    open_.back().before = ended.left_out ? "" : ended.name;
  }

  const Trace& trace_;
  const std::set<std::uint64_t>& forks_;
  const LeftOut& left_out_;
  const std::vector<Event>* events_ = nullptr;
  std::size_t at_ = 0;
  std::uint64_t since_ = 0;
  std::vector<Open> open_{{kOutside, "", "", ""}};
  std::map<std::string, Class> barriers_;
  std::vector<Piece> pieces_;
};

// Time of the pieces in each row; and how many pieces there were.
struct RowTimes {
  Times times{};
  std::uint64_t pieces = 0;
};
std::vector<RowTimes> times_of_rows(const IterationRows& rows,
                                    const std::vector<Piece>& pieces) {
  std::vector<RowTimes> out(rows.rows.size());
  std::size_t piece = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t begin = rows.rows[i].begin, end = rows.end_of(i);
    for (; piece < pieces.size(); ++piece) {
      const Piece& p = pieces[piece];
      const std::uint64_t from = std::max(begin, p.begin), to = std::min(end, p.end);
      if (to > from) out[i].times[p.cls] += static_cast<std::int64_t>(to - from);
      ++out[i].pieces;
      if (p.end > end) break;
    }
  }
  return out;
}

// `local`: time of calls that have no events.
void compare(const std::string& name, const Times& events, const Times& rows,
             std::int64_t room, std::int64_t local, Complaints& complaints) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    // In the events it is that of what is around the call.
    const std::int64_t least =
        i == kMpiManagement ? events[i] - room : events[i] - local - room;
    const std::int64_t most =
        i == kMpiManagement ? events[i] + local + room : events[i] + room;
    if (rows[i] < least || rows[i] > most)
      complaints.add(name, kNames[i], events[i], rows[i]);
  }
}

std::int64_t local_time(const RunSummary& summary, const RunSummary::Location& location) {
  std::uint64_t time = 0;
  for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
    const RunSummary::Node& node = summary.nodes[i];
    if (node.kind != RunSummary::Kind::kRegion) continue;
    const RunSummary::Region& region = summary.regions[node.region];
    if (region.paradigm == OTF2_PARADIGM_MPI && is_local_call(region.name) &&
        mpi_class(region.name) == kMpiManagement)
      time += location.sums[i].time;
  }
  return static_cast<std::int64_t>(time);
}

}  // namespace

Problems check_rows(const std::vector<RunSummary>& summaries) {
  Complaints complaints;
  for (const RunSummary& summary : summaries) {
    for (const RunSummary::Location& location : summary.locations) {
      const IterationRows& rows = location.iterations;
      if (rows.rows.empty()) continue;
      const std::string name = where(summary, location);
      if (rows.rows.front().begin != summary.begin || rows.end != summary.end)
        complaints.add(name, "begin and end", 0, 1);
      for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        std::int64_t sum = 0;
        for (const std::int64_t time : rows.rows[i].times) sum += time;
        const auto length = static_cast<std::int64_t>(rows.end_of(i) - rows.rows[i].begin);
        if (sum != length)
          complaints.add(name + " row " + std::to_string(i), "length", length, sum);
        for (std::size_t k = 0; summary.complete && k < IterationRows::kClasses; ++k)
          if (rows.rows[i].times[k] < 0)
            complaints.add(name + " row " + std::to_string(i), kNames[k], 0,
                           rows.rows[i].times[k]);
      }
      check_sums(summary, location, complaints);
    }
  }
  return complaints.problems;
}

Problems check_rows_by_events(const Trace& trace, const std::vector<RunSummary>& summaries,
                              const LeftOut& left_out) {
  Complaints complaints;
  Forks forks = forks_of(trace);
  // Ticks by which an archive moves an event; the rate of another rank's clock.
  constexpr std::int64_t kMoved = 40, kRate = 10'000;
  for (const RunSummary& summary : summaries) {
    for (const RunSummary::Location& of : summary.locations) {
      const auto location =
          std::find_if(trace.locations.begin(), trace.locations.end(),
                       [&](const Location& l) { return l.reference == of.reference; });
      if (location == trace.locations.end() || of.iterations.rows.empty()) continue;
      const std::string name = where(summary, of);
      const std::vector<Piece> pieces = Integrator(trace, forks[location->group], left_out)
                                            .pieces(*location, summary.begin, summary.end);
      const std::int64_t local = local_time(summary, of);
      if (&summary != &summaries.front()) {
        Times events{}, rows{};
        for (const Piece& piece : pieces)
          events[piece.cls] += static_cast<std::int64_t>(piece.end - piece.begin);
        for (const IterationRows::Row& row : of.iterations.rows)
          for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += row.times[i];
        events[kOutside] = rows[kOutside] = 0;  // when it began is another clock's, too
        compare(name, events, rows,
                kMoved * static_cast<std::int64_t>(pieces.size() + 4) +
                    static_cast<std::int64_t>(summary.end - summary.begin) / kRate,
                local, complaints);
        continue;
      }
      const std::vector<RowTimes> events = times_of_rows(of.iterations, pieces);
      for (std::size_t i = 0; i < events.size(); ++i)
        compare(name + " row " + std::to_string(i), events[i].times,
                of.iterations.rows[i].times,
                kMoved * static_cast<std::int64_t>(events[i].pieces + 4), local,
                complaints);
    }
  }
  return complaints.problems;
}

std::uint64_t iterations_in(const IterationRows& rows) {
  std::uint64_t count = 0;
  for (const IterationRows::Row& row : rows.rows) count += row.count;
  return count;
}

}  // namespace refrain::test
