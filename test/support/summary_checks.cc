#include "test/support/summary_checks.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "test/support/mpi_checks.h"

namespace refrain::test {
namespace {

using summary::RunSummary;

struct Sums {
  std::uint64_t visits = 0, time = 0;
  std::uint64_t least = ~std::uint64_t{0}, greatest = 0;
  std::uint64_t sent = 0, received = 0, messages_sent = 0, messages_received = 0;
  std::map<std::string, std::uint64_t> before;  // "": it was the first in its parent
  std::uint64_t before_unknown = 0;             // a local call of MPI, which no event has
};
// OTF2_LOCATION_TYPE_ACCELERATOR_STREAM: what threads gave devices to do, which is in theirs.
constexpr std::uint8_t kStream = 2;

using Path = std::vector<std::string>;
using Paths = std::map<Path, Sums>;

std::string name_of(const Region& region) {
  return region.name + " " + region.file + ":" + std::to_string(region.begin_line);
}

// --- From the events --------------------------------------------------------------------

class Counter {
 public:
  Counter(const Trace& trace, const LeftOut& left_out)
      : trace_(trace), left_out_(left_out) {}

  Paths count(const Location& location) {
    for (const Event& event : location.events) take(event);
    return std::move(paths_);
  }

 private:
  struct Open {
    std::uint64_t begin;
    bool left_out;
    std::optional<std::string> before;  // the sibling that has ended last; none: left out
  };

  void take(const Event& event) {
    switch (event.type) {
      case EventType::kEnter:
        return enter(event);
      case EventType::kLeave:
        return leave(event);
      case EventType::kMpiSend:
      case EventType::kMpiIsend:
        return moved(event.sent, 0, 1, 0);
      case EventType::kMpiRecv:
      case EventType::kMpiIrecv:
        return moved(0, event.received, 0, 1);
      case EventType::kMpiCollectiveEnd:
      case EventType::kMpiCollectiveComplete:
        return moved(event.sent, event.received, 0, 0);
      case EventType::kParameterUnsigned:
        return parameter(event);
      default:
        return;
    }
  }

  // What an operation on data of a device has moved.
  void parameter(const Event& event) {
    if (path_.empty() || trace_.parameters.at(event.reference).name != "bytes moved")
      return;
    const auto bytes = static_cast<std::uint64_t>(event.value);
    if (path_.back().find("omp target data to device") != std::string::npos)
      moved(bytes, 0, 0, 0);
    if (path_.back().find("omp target data from device") != std::string::npos)
      moved(0, bytes, 0, 0);
  }

  void enter(const Event& event) {
    const Region& region = trace_.regions.at(event.reference);
    if (is_phase(region)) return;
    if (left_out_.has(region)) return open_.push_back({event.time, true, {}});
    path_.push_back(name_of(region));
    Sums& sums = paths_[path_];
    ++sums.visits;
    if (open_.back().before) ++sums.before[*open_.back().before];
    open_.push_back({event.time, false, ""});
  }

  void leave(const Event& event) {
    if (is_phase(trace_.regions.at(event.reference)) || open_.size() == 1) return;
    if (open_.back().left_out) {
      open_.pop_back();
      open_.back().before.reset();
      return;
    }
    Sums& sums = paths_[path_];
    const std::uint64_t duration = event.time - open_.back().begin;
    sums.time += duration;
    sums.least = std::min(sums.least, duration);
    sums.greatest = std::max(sums.greatest, duration);
    open_.pop_back();
    open_.back().before = path_.back();
    path_.pop_back();
  }

  void moved(std::uint64_t sent, std::uint64_t received, int sends, int receives) {
    if (open_.back().left_out) return;
    Sums& sums = paths_[path_];
    sums.sent += sent;
    sums.received += received;
    sums.messages_sent += static_cast<std::uint64_t>(sends);
    sums.messages_received += static_cast<std::uint64_t>(receives);
  }

  const Trace& trace_;
  const LeftOut& left_out_;
  Path path_;
  std::vector<Open> open_{{0, false, ""}};
  Paths paths_;
};

// --- From the summary -------------------------------------------------------------------

// Nodes that are no regions of the archive are left out; what lies in them is their parent's.
class Unfolder {
 public:
  // `local`: calls of MPI that concern their process alone are events.
  Unfolder(const RunSummary& summary, const RunSummary::Location& location, bool local)
      : summary_(summary), location_(location), local_(local) {
    for (const RunSummary::Node& node : summary.nodes) {
      Path path;
      if (node.parent != RunSummary::kNone) path = paths_[node.parent];
      if (node.kind == RunSummary::Kind::kRegion) path.push_back(name(node));
      if (node.kind == RunSummary::Kind::kOther) path.push_back("other");
      paths_.push_back(std::move(path));
    }
    // From the inside: a serialised league is a fork that has nothing but the next one in it.
    for (std::size_t i = paths_.size(); i-- > 0;)
      if (is_fork(summary.nodes[i].parent) && location.sums[i].visits != 0)
        inside_[summary.nodes[i].parent] = is_fork(i) ? inside_[i] : paths_[i].back();
  }

  Paths unfold() {
    Paths out;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const RunSummary::Sums& from = location_.sums[i];
      if (is_fork(i) || is_counted(i) || from.visits == 0) continue;
      Sums& to = out[paths_[i]];
      to.visits += from.visits;
      to.time += from.time;
      to.least = std::min(to.least, from.least);
      to.greatest = std::max(to.greatest, from.greatest);
      to.sent += from.bytes_sent;
      to.received += from.bytes_received;
      to.messages_sent += from.messages_sent;
      to.messages_received += from.messages_received;
    }
    for (const RunSummary::Edge& edge : location_.edges) {
      const std::uint32_t parent = summary_.nodes[edge.to].parent;
      if (is_fork(parent) || is_counted(edge.to))
        continue;  // its predecessor is that of the fork
      Path path = paths_[edge.to];
      if (is_fork(edge.to)) path.push_back(inside_[edge.to]);
      if (is_counted(edge.from)) {
        out[path].before_unknown += edge.count;
        continue;
      }
      std::string before;
      if (edge.from != parent)
        before = is_fork(edge.from) ? inside_[edge.from] : paths_[edge.from].back();
      out[path].before[before] += edge.count;
    }
    return out;
  }

 private:
  bool is_fork(std::size_t node) const {
    return node < summary_.nodes.size() &&
           summary_.nodes[node].kind == RunSummary::Kind::kFork;
  }
  // Counted and not recorded.
  bool is_counted(std::size_t node) const {
    return !local_ && node < summary_.nodes.size() &&
           summary_.nodes[node].kind == RunSummary::Kind::kRegion &&
           is_local_call(summary_.regions.at(summary_.nodes[node].region).name);
  }
  std::string name(const RunSummary::Node& node) const {
    const RunSummary::Region& region = summary_.regions.at(node.region);
    return region.name + " " + region.file + ":" + std::to_string(region.line);
  }

  const RunSummary& summary_;
  const RunSummary::Location& location_;
  bool local_;
  std::vector<Path> paths_;
  std::map<std::uint32_t, std::string> inside_;
};

// --- Comparison -------------------------------------------------------------------------

class Comparer {
 public:
  // `moved`: the most ticks by which an event of the archive is later than in the summary.
  Comparer(SummaryOf of, Ended ended, std::uint64_t moved, Problems& problems)
      : of_(of), ended_(ended), moved_(moved), problems_(problems) {}

  // `primary`: it opens the outermost parallel regions. `elsewhere`: some regions are those of others,
  // so many have no node.
  void compare(const std::string& location, const Paths& events, const Paths& summary,
               bool primary, std::optional<std::uint64_t> elsewhere) {
    where_ = location;
    if (elsewhere) {
      const std::uint64_t all = visits_of(events);
      const std::uint64_t found = visits_of(summary) + *elsewhere;
      // Forks without a place are among them.
      if (found + (ended_ == Ended::kAnywhere ? 1 : 0) < all)
        complain("visits, with those elsewhere", all, found);
      return;
    }
    primary_ = primary;
    std::vector<Path> paths;
    for (const auto& [path, sums] : events) paths.push_back(path);
    for (const auto& [path, sums] : summary)
      if (!events.contains(path)) paths.push_back(path);
    std::uint64_t visits = 0;
    for (const Path& path : paths) {
      where_ = location;
      for (const std::string& name : path) where_ += " / " + name;
      // Empty: messages outside of all regions, of calls that a filter left out.
      const std::string last = path.empty() ? std::string() : path.back();
      ends_team_ = last.find("omp parallel @") != std::string::npos ||
                   last.find("omp implicit barrier") != std::string::npos;
      const auto a = events.find(path);
      const auto b = summary.find(path);
      const Sums none;
      const Sums& x = a == events.end() ? none : a->second;
      const Sums& y = b == summary.end() ? none : b->second;
      if (of_ == SummaryOf::kReduced && (y.visits >= x.visits || has_polls())) continue;
      visits += x.visits > y.visits ? x.visits - y.visits : y.visits - x.visits;
      if (ended_ == Ended::kOrderly) compare_path(x, y);
    }
    where_ = location;
    if (ended_ == Ended::kAnywhere && visits > 1)
      complain("visits differ by more than one event", visits, 1);
  }

 private:
  static std::uint64_t visits_of(const Paths& paths) {
    std::uint64_t visits = 0;
    for (const auto& [path, sums] : paths) visits += sums.visits;
    return visits;
  }
  bool has_polls() const { return where_.find("MPI polls") != std::string::npos; }
  void compare_path(const Sums& events, const Sums& summary) {
    if (of_ == SummaryOf::kReduced) {
      complain("visits", events.visits, summary.visits);
      return;
    }
    equal("visits", events.visits, summary.visits);
    equal("bytes sent", events.sent, summary.sent);
    equal("bytes received", events.received, summary.received);
    equal("messages sent", events.messages_sent, summary.messages_sent);
    equal("messages received", events.messages_received, summary.messages_received);
    if (!same_before(events, summary)) {
      complain("predecessors", events.before.size(), summary.before.size());
      for (const auto& [name, count] : events.before) note(" events: ", name, count);
      for (const auto& [name, count] : summary.before) note(" summary: ", name, count);
    }
    if (of_ != SummaryOf::kSameRun) return;
    constexpr std::uint64_t kRate = 10'000;  // of clocks that are not the first rank's
    // A worker that leaves a team before the primary thread has published when it joined has only
    // its own time in the summary; the archive has the join's. That takes some ten ticks, or as long as
    // the primary thread is not running.
    const bool late = ends_team_ && !primary_;
    constexpr std::uint64_t kPublished = 1000, kNotRunning = 100'000'000;
    const std::uint64_t moved = moved_ + (late ? kPublished : 0);
    const std::uint64_t slow = late ? kNotRunning : 0;
    near("time", events.time, summary.time,
         moved * events.visits + slow + events.time / kRate);
    near("greatest", events.greatest, summary.greatest,
         moved + slow + events.greatest / kRate);
    if (events.visits != 0)
      near("least", events.least, summary.least, moved + events.least / kRate);
  }

  // All that the summary knows, and the others came after local calls.
  static bool same_before(const Sums& events, const Sums& summary) {
    std::uint64_t unknown = 0;
    for (const auto& [name, count] : events.before) {
      const auto found = summary.before.find(name);
      const std::uint64_t known = found == summary.before.end() ? 0 : found->second;
      if (known > count) return false;
      unknown += count - known;
    }
    for (const auto& [name, count] : summary.before)
      if (!events.before.contains(name)) return false;
    return unknown == summary.before_unknown;
  }

  void equal(const char* what, std::uint64_t events, std::uint64_t summary) {
    if (events != summary) complain(what, events, summary);
  }
  void near(const char* what, std::uint64_t events, std::uint64_t summary,
            std::uint64_t room) {
    if ((events > summary ? events - summary : summary - events) > room)
      complain(what, events, summary);
  }
  void complain(const char* what, std::uint64_t events, std::uint64_t summary) {
    std::ostringstream out;
    out << where_ << ": " << what << ": " << events << " in the events, " << summary
        << " in the summary";
    if (problems_.size() < kMaxProblems) problems_.push_back(out.str());
  }
  void note(const char* which, const std::string& name, std::uint64_t count) {
    if (problems_.size() < kMaxProblems)
      problems_.push_back(which + (name.empty() ? "first" : name) + " " +
                          std::to_string(count));
  }

  static constexpr std::size_t kMaxProblems = 12;
  SummaryOf of_;
  Ended ended_;
  std::uint64_t moved_;
  bool primary_ = true;
  bool ends_team_ = false;
  Problems& problems_;
  std::string where_;
};

// Regions that have no node; none if all have one of their own.
std::optional<std::uint64_t> elsewhere_of(const RunSummary& run,
                                          const RunSummary::Location& location) {
  std::uint64_t count = location.outside.regions_elsewhere;
  bool others = false;
  for (std::size_t i = 0; i < location.sums.size(); ++i) {
    count += location.sums[i].regions_elsewhere;
    others |= run.nodes[i].kind == RunSummary::Kind::kOther && location.sums[i].visits != 0;
  }
  if (count == 0 && !others) return {};
  return count;
}

std::string property(const Trace& trace, const std::string& name) {
  const auto found = trace.properties.find("REFRAIN::" + name);
  return found == trace.properties.end() ? std::string() : found->second;
}

}  // namespace

Problems check_summary(const Trace& trace, const std::vector<RunSummary>& summaries,
                       SummaryOf of, Ended ended, const LeftOut& left_out) {
  Problems problems;
  const std::string moved = property(trace, "MOVED_TICKS");
  Comparer comparer(of, ended, moved.empty() ? 0 : std::stoull(moved), problems);
  const bool local = property(trace, "SETTING::LOCAL_CALLS") == "yes";
  std::map<std::uint64_t, std::pair<const RunSummary*, const RunSummary::Location*>> known;
  for (const RunSummary& summary : summaries)
    for (const RunSummary::Location& location : summary.locations)
      known[location.reference] = {&summary, &location};
  std::set<std::uint64_t> without;  // they had no memory for it
  for (const RunSummary& summary : summaries)
    without.insert(summary.locations_without.begin(), summary.locations_without.end());
  for (const Location& location : trace.locations) {
    if (location.type == kStream) continue;
    const auto found = known.find(location.reference);
    Paths summary;
    bool primary = true;
    std::optional<std::uint64_t> elsewhere;
    if (found == known.end() && without.contains(location.reference)) continue;
    if (found != known.end()) {
      const auto& [run, of_location] = found->second;
      summary = Unfolder(*run, *of_location, local).unfold();
      primary = of_location->primary;
      elsewhere = elsewhere_of(*run, *of_location);
    }
    comparer.compare(location.name + " " + std::to_string(location.reference),
                     Counter(trace, left_out).count(location), summary, primary, elsewhere);
    known.erase(location.reference);
  }
  for (const auto& [reference, what] : known)
    problems.push_back("location " + std::to_string(reference) + " is not in the archive");
  return problems;
}

SummaryOf kind_of(const Trace& trace) {
  for (const Location& location : trace.locations)
    for (const Event& event : location.events)
      if (event.type == EventType::kMeasurementOff) return SummaryOf::kReduced;
  const auto is_zero = [&](const char* name) {
    const std::string value = property(trace, name);
    return value.empty() || value == "0";
  };
  if (property(trace, "SETTING::SUMMARY_ONLY") == "yes") return SummaryOf::kReduced;
  // With a limit, polls in a row are one region.
  const bool whole = is_zero("SETTING::LIMIT") && is_zero("EVENTS_FILTERED") &&
                     is_zero("LOST") && is_zero("EVENTS_UNMATCHED") &&
                     is_zero("SENDS_DROPPED") && is_zero("RECEIVES_DROPPED") &&
                     is_zero("COLLECTIVES_DROPPED");
  return whole ? SummaryOf::kSameRun : SummaryOf::kReduced;
}

bool was_recovered(const Trace& trace) { return property(trace, "RECOVERED") == "1"; }

}  // namespace refrain::test
