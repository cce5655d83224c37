#include "analysis/causes/cause_search.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>

namespace refrain::analysis {
namespace {

constexpr double kPlace = 0.3;  // of what is done more, that must lie at one place
// A name says more than two events: of what lies there a little less will do.
constexpr double kOfNames = 1.2;

// What a process did with files of one name, by its calls.
struct CallOnFile {
  std::size_t process = 0;
  double ns = 0;
  std::uint64_t count = 0;
};
using CallsOnFile = std::map<std::string, std::vector<CallOnFile>>;
using CallsOnFiles = std::map<std::string, CallsOnFile>;

// `region`: "write checkpoint.dat".
void add_call(const std::string& region, const CallOnFile& call, CallsOnFiles& files) {
  const std::size_t blank = region.find(' ');
  if (blank != std::string::npos)
    files[region.substr(blank + 1)][region.substr(0, blank)].push_back(call);
}

// "fsync, write and open": most time first, without what takes little. Empty: that is all but one.
std::string names_of(const CallsOnFile& calls) {
  constexpr double kLittle = 0.05;
  std::vector<std::pair<double, std::string>> order;
  double all = 0;
  for (const auto& [name, each] : calls) {
    double ns = 0;
    for (const CallOnFile& call : each) ns += call.ns;
    order.emplace_back(ns, name);
    all += ns;
  }
  std::ranges::sort(order, std::greater());
  std::erase_if(order, [&](const auto& each) { return each.first < kLittle * all; });
  std::string text;
  if (order.size() < 2) return text;
  for (std::size_t i = 0; i < order.size(); ++i)
    text += (i == 0 ? "" : i + 1 == order.size() ? " and " : ", ") + order[i].second;
  return text;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

// Some iterations may have no such events, or be counted beside the loop; and between n calls there are n - 1 times.
double CauseSearch::times_of(const std::string& loop, std::uint64_t iterations,
                             const TimeShape& when) {
  constexpr double kMost = 0.8;
  const std::uint64_t number = iterations_of(when, iterations);
  return loop.empty() ? 0
                      : kMost * static_cast<double>(std::max<std::uint64_t>(1, number) - 1);
}

Places::Places(const std::vector<summary::RunSummary>& summaries, const RunProfile& profile,
               const std::vector<IterationProfile::Loop>& loops)
    : summaries_(summaries), processes_(profile.processes.size()) {
  for (const IterationProfile::Loop& loop : loops) loops_.emplace_back(loop.name);
  for (std::size_t i = 0; i < summaries.size(); ++i)
    for (const summary::RunSummary::Location& location : summaries[i].locations)
      if (location.primary) add(i, location.flow, 1e9 / summaries[i].ticks_per_second);
  add_functions(profile);
}

void Places::add_to(ByProcess& places, const std::string& name, std::size_t process,
                    double ns, std::uint64_t count, double longest) const {
  Place& place = places[name];
  for (auto* values : {&place.times, &place.count, &place.longest})
    values->resize(processes_);
  place.times[process] += ns;
  place.longest[process] = std::max(place.longest[process], longest);
  place.count[process] += static_cast<double>(count);
}

void Places::add(std::size_t process, const summary::FlowGraph& flow, double tick_ns) {
  using summary::FlowGraph;
  for (const FlowGraph::Edge& edge : flow.edges) {
    const FlowGraph::Node& to = flow.nodes[edge.to];
    const std::string place = summary::between_text(flow.nodes[edge.from], to);
    if (place.empty()) continue;
    add_to(between_, place, process, static_cast<double>(edge.gap) * tick_ns, edge.count,
           static_cast<double>(edge.gap_greatest) * tick_ns);
    between_[place].from = summary::event_text(flow.nodes[edge.from]);
    if (to.kind == FlowGraph::Kind::kRegion)
      add_to(regions_, "in " + summary::event_text(to), process,
             static_cast<double>(edge.time) * tick_ns, edge.count,
             static_cast<double>(edge.greatest) * tick_ns);
  }
}

// And regions of the program's own, and I/O; of files also all calls together.
void Places::add_functions(const RunProfile& profile) {
  CallsOnFiles files;
  for (PathId i; i < profile.paths.size(); ++i) {
    const RunProfile::Path& path = profile.paths[i];
    if (path.region == RunProfile::kNone ||
        (path.cls != TimeClass::kUseful && path.cls != TimeClass::kMpiIo &&
         path.cls != TimeClass::kFileIo))
      continue;
    const RunProfile::Region& region = profile.regions[path.region];
    if (is_parallel_region(region.role, region.paradigm)) continue;
    for (const RunProfile::Sums& sums : path.sums) {
      const RunProfile::Location& location = profile.locations[sums.location];
      if (!location.primary) continue;
      const double ns = profile.nanoseconds(sums.location, static_cast<double>(sums.own));
      add_to(functions_, "in " + path_name(profile, i), location.process, ns, sums.visits,
             profile.nanoseconds(sums.location, static_cast<double>(sums.maximum)));
      if (path.cls == TimeClass::kFileIo)
        add_call(region.name, {location.process, ns, sums.visits}, files);
    }
  }
  for (const auto& [file, calls] : files) {
    const std::string names = names_of(calls);
    if (names.empty()) continue;
    std::string name = "in " + names;
    name.append(" of ").append(file);
    for (const auto& [call, all] : calls)
      for (const CallOnFile& each : all)
        add_to(functions_, name, each.process, each.ns, each.count, 0);
  }
}

Places::Lines::Lines(const std::string& loop) {
  const std::string place = loop_place(loop);
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos) return;
  const auto at = [&](std::size_t begin) {
    return static_cast<std::uint32_t>(std::strtoul(place.c_str() + begin, nullptr, 10));
  };
  const std::size_t dash = place.find('-', colon);
  first = at(colon + 1);
  last = dash == std::string::npos ? first : at(dash + 1);
  if (first != 0) function = place.substr(0, colon);
}

bool Places::Lines::has(const std::string& site) const {
  const std::size_t colon = site.rfind(':');
  if (function.empty() || colon == std::string::npos) return false;
  const std::size_t slash = site.rfind('/', colon);
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const auto line = std::strtoul(site.c_str() + colon + 1, nullptr, 10);
  return first <= line && line <= last &&
         function.ends_with(' ' + site.substr(name, colon - name));
}

bool Places::is_in_another(const std::string& site, const std::string& loop) const {
  const Lines own(loop);
  return !own.has(site) && std::ranges::any_of(loops_, [&](const Lines& other) {
    return other.function == own.function &&
           (other.last < own.first || own.last < other.first) && other.has(site);
  });
}

std::set<std::string> Places::in_loop(const std::vector<std::size_t>& group,
                                      const std::string& loop, double times) const {
  using summary::FlowGraph;
  const Lines lines(loop);
  std::set<std::string> out;
  for (const std::size_t process : group)
    for (const summary::RunSummary::Location& location : summaries_[process].locations) {
      if (!location.primary) continue;
      const FlowGraph& flow = location.flow;
      std::vector<double> count(flow.nodes.size());
      for (const FlowGraph::Edge& edge : flow.edges)
        count[edge.to] += static_cast<double>(edge.count);
      // What comes after events of the loop, and what before.
      std::vector<bool> after(flow.nodes.size()), before(flow.nodes.size());
      for (std::size_t i = 0; i < flow.nodes.size(); ++i)
        after[i] = before[i] = count[i] >= times && lines.has(flow.nodes[i].site);
      const bool known = std::ranges::count(after, true) != 0;
      for (bool more = known; more;) {
        more = false;
        for (const FlowGraph::Edge& edge : flow.edges) {
          if (after[edge.from] && !after[edge.to]) more = after[edge.to] = true;
          if (before[edge.to] && !before[edge.from]) more = before[edge.from] = true;
        }
      }
      const auto may_be = [&](std::uint32_t node) {
        return (!known || (after[node] && before[node])) &&
               !is_in_another(flow.nodes[node].site, loop);
      };
      for (const FlowGraph::Edge& edge : flow.edges)
        if (may_be(edge.from) && may_be(edge.to))
          out.insert(summary::between_text(flow.nodes[edge.from], flow.nodes[edge.to]));
    }
  return out;
}

double Places::more_at(const Place& place, const std::vector<std::size_t>& group,
                       const std::vector<bool>& is_causer) const {
  const auto others = static_cast<double>(std::ranges::count(is_causer, false));
  double own = 0, other = 0;
  for (const std::size_t each : group) own += place.times[each];
  for (std::size_t i = 0; i < processes_; ++i)
    if (!is_causer[i]) other += place.times[i];
  return own / static_cast<double>(group.size()) - other / std::max(1.0, others);
}

std::map<std::string, double> Places::more_at(const ByProcess& places,
                                              const std::vector<std::size_t>& group,
                                              const std::vector<bool>& is_causer) const {
  struct After {
    double more = 0, less = 0;
  };
  std::map<std::string, double> out;
  std::map<std::string, After> after;
  for (const auto& [name, place] : places) {
    const double more = out[name] = more_at(place, group, is_causer);
    After& event = after[place.from];
    (more > 0 ? event.more : event.less) += more;
  }
  for (const auto& [name, place] : places) {
    const After& event = after[place.from];
    if (double& more = out[name]; !place.from.empty() && more > 0)
      more *= std::max(0.0, 1 + event.less / event.more);
  }
  return out;
}

Places::May Places::between_in(const std::set<std::string>& inside,
                               const std::vector<std::size_t>& group,
                               const std::string& loop, double times) const {
  return [&, times](const std::string& name, const Place& place) {
    return (loop.empty() || inside.contains(name)) &&
           std::ranges::all_of(
               group, [&](std::size_t each) { return place.count[each] >= times; });
  };
}

void Places::more_in(const ByProcess& places, const std::vector<std::size_t>& group,
                     const std::vector<bool>& is_causer, double weight, const May& may,
                     double& most, std::string& best) const {
  const std::map<std::string, double> all = more_at(places, group, is_causer);
  for (const auto& [name, place] : places) {
    if (!may(name, place)) continue;
    const double more = all.at(name) * weight;
    if (more <= most) continue;
    most = more;
    best = name;
  }
}

std::string Places::of_more(const std::vector<std::size_t>& group,
                            const std::vector<bool>& is_causer, double excess,
                            const std::string& loop, double times) const {
  std::string best;
  double most = kPlace * excess;
  std::set<std::string> inside;
  if (!loop.empty()) inside = in_loop(group, loop, times);
  const May between = between_in(inside, group, loop, times);
  // A region and a function may be around the loop.
  const May around = [&](const std::string& name, const Place&) {
    const std::size_t at = name.rfind('@');
    return loop.empty() || at == std::string::npos ||
           !is_in_another(name.substr(at + 1), loop);
  };
  more_in(between_, group, is_causer, 1, between, most, best);
  more_in(regions_, group, is_causer, 1, around, most, best);
  more_in(functions_, group, is_causer, kOfNames, around, most, best);
  return best;
}

std::vector<RootCause::Place> Places::parts_of_more(const std::string& where,
                                                    const std::vector<std::size_t>& group,
                                                    const std::vector<bool>& is_causer,
                                                    double excess, const std::string& loop,
                                                    double times) const {
  constexpr double kMost = 0.8, kPart = 0.15;
  constexpr std::size_t kNumber = 3;
  std::vector<RootCause::Place> out;
  for (const ByProcess* places : {&between_, &regions_, &functions_}) {
    if (!places->contains(where)) continue;
    out.push_back({where, more_at(*places, group, is_causer).at(where) / excess});
    break;
  }
  if (out.empty() || out[0].share >= kMost) return {};
  if (between_.contains(where)) {
    const std::set<std::string> inside = in_loop(group, loop, times);
    const May may = between_in(inside, group, loop, times);
    for (const auto& [name, more] : more_at(between_, group, is_causer)) {
      if (name == where || !may(name, between_.at(name))) continue;
      const double part = more / excess;
      if (part >= kPart) out.push_back({name, part});
    }
    std::ranges::stable_sort(out, std::greater(), &RootCause::Place::share);
    if (out.size() > kNumber) out.resize(kNumber);
  }
  return out;
}

std::string Places::of_once(const std::vector<std::size_t>& group, double excess,
                            double most) const {
  constexpr double kMostOf = 0.8;
  // A name says more than two events, between which it lies.
  for (const ByProcess* places : {&functions_, &regions_, &between_}) {
    std::vector<std::string> found;
    for (const auto& [name, place] : *places)
      if (std::ranges::all_of(group, [&](std::size_t each) {
            return place.longest[each] >= kMostOf * excess && place.longest[each] <= most;
          }))
        found.push_back(name);
    if (!found.empty()) return found.size() == 1 ? found.front() : std::string();
  }
  return {};
}

std::string Places::between(double minimum, const std::string& loop, double times) const {
  std::set<std::string> inside;
  if (!loop.empty()) {
    std::vector<std::size_t> all(processes_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    inside = in_loop(all, loop, times);
  }
  std::string best;
  double most = minimum;
  for (const auto& [name, place] : between_)
    if (const double all = sum_of(place.times); all > most &&
                                                std::ranges::max(place.count) >= times &&
                                                (loop.empty() || inside.contains(name))) {
      most = all;
      best = name;
    }
  return best;
}

}  // namespace refrain::analysis
