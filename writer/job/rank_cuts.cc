#include "writer/job/rank_cuts.h"

#include <algorithm>
#include <set>

namespace refrain::writer {
namespace {

struct Trim {
  NumberRanges more;
  NumberRanges alone;
};

// Of what a rank wrote in [0, end): what lies in `held` is to go, but for stretches that
// lie in it as a whole and of which something is in `changed`.
Trim trim(const NumberRanges& own, const NumberRanges& held, const NumberRanges& changed,
          std::uint64_t end) {
  Trim out;
  const NumberRanges written = complement(own, 0, end);
  for (const auto& stretch : written.ranges()) {
    const NumberRanges whole{{stretch.begin, stretch.end}};
    const NumberRanges part = intersect(whole, held);
    const bool alone = part == whole && !intersect(whole, changed).empty();
    NumberRanges& to = alone ? out.alone : out.more;
    to = unite(to, part);
  }
  return out;
}

bool is_inner(const VisitPath& path) { return path.size() > 1; }

// The one of which most is held.
const RankVisit* main_loop(const RankStretches& rank) {
  const RankVisit* most = nullptr;
  for (const RankVisit& visit : rank.visits)
    if (!is_inner(visit.path) && !visit.held.empty() &&
        (most == nullptr || visit.held.count() > most->held.count()))
      most = &visit;
  return most;
}

NumberRanges first_two(const NumberRanges& numbers) {
  NumberRanges out;
  std::uint64_t left = 2;
  for (const auto& range : numbers.ranges()) {
    const std::uint64_t n = std::min(left, range.end - range.begin);
    if (n != 0) out.add(range.begin, range.begin + n);
    left -= n;
  }
  out.normalize();
  return out;
}

// What lies between the held iterations of a shifted visit and the anchors around them: whoever
// begins elsewhere goes back to the anchor before, and all go on to the one behind.
NumberRanges up_to_anchors(const NumberRanges& held, bool at_anchor) {
  NumberRanges out;
  for (const auto& range : held.ranges())
    out.add(at_anchor ? range.end : range.begin, range.end + 1);
  out.normalize();
  return out;
}

// Which visits a rank can tell by their iterations.
class Rulers {
 public:
  Rulers(const RankStretches& rank, const HeldStretches& all) : all_(all) {
    for (const RankVisit& visit : rank.visits) own_.insert(visit.path);
  }
  // Of an inner visit only those who hold it tell, and who does not have it cannot.
  bool by_iterations(const VisitPath& path) const {
    const auto known = all_.visits.find(path);
    if (known == all_.visits.end()) return false;
    return is_inner(path) ? own_.contains(path) : known->second.ranks == all_.ranks;
  }

 private:
  const HeldStretches& all_;
  std::set<VisitPath> own_;
};

}  // namespace

HeldStretches merge(HeldStretches a, const HeldStretches& b) {
  if (b.ranks == 0) return a;
  if (a.ranks == 0) return b;
  a.ranks += b.ranks;
  a.begins = first_two(unite(a.begins, b.begins));
  a.anchors = unite(a.anchors, b.anchors);
  a.visit_anchors = unite(a.visit_anchors, b.visit_anchors);
  const auto drop = [&a](const NumberRanges& anchors) {
    a.anchors = unite(a.anchors, anchors);
    a.visit_anchors = unite(a.visit_anchors, anchors);
  };
  for (auto own = a.visits.begin(); own != a.visits.end();) {
    if (is_inner(own->first) || b.visits.contains(own->first)) {
      ++own;
      continue;
    }
    drop(own->second.anchors);
    own = a.visits.erase(own);
  }
  for (const auto& [path, visit] : b.visits) {
    const auto known = a.visits.find(path);
    if (known != a.visits.end()) {
      known->second.ranks += visit.ranks;
      known->second.iterations = unite(known->second.iterations, visit.iterations);
      known->second.anchors = unite(known->second.anchors, visit.anchors);
    } else if (is_inner(path)) {
      a.visits.emplace(path, visit);
    } else {
      drop(visit.anchors);
    }
  }
  return a;
}

void put(ByteWriter& out, const HeldStretches& held) {
  out.number(held.ranks);
  put(out, held.anchors);
  put(out, held.visit_anchors);
  put(out, held.begins);
  out.number(held.visits.size());
  for (const auto& [path, visit] : held.visits) {
    out.number(path.size());
    for (const VisitStep& step : path) {
      out.number(step.within);
      out.number(step.iterations);
      out.number(step.occurrence);
    }
    out.number(visit.ranks);
    put(out, visit.iterations);
    put(out, visit.anchors);
  }
}

void take(ByteReader& in, HeldStretches& held) {
  held.ranks = in.number();
  take(in, held.anchors);
  take(in, held.visit_anchors);
  take(in, held.begins);
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    VisitPath path;
    for (std::size_t steps = in.count(); steps != 0 && in.ok(); --steps) {
      const std::uint64_t within = in.number();
      const std::uint64_t iterations = in.number();
      path.push_back({within, iterations, in.number32()});
    }
    HeldStretches::Visit visit;
    visit.ranks = in.number();
    take(in, visit.iterations);
    take(in, visit.anchors);
    if (path.empty() || !held.visits.emplace(std::move(path), std::move(visit)).second)
      in.fail();
  }
}

HeldStretches held_stretches(const RankStretches& rank) {
  HeldStretches out;
  out.ranks = 1;
  if (const RankVisit* main = main_loop(rank); main != nullptr && main->begin != 0)
    out.begins.add(main->begin);
  out.begins.normalize();
  out.anchors = rank.anchors;
  for (const RankVisit& visit : rank.visits)
    if (!is_inner(visit.path) || !visit.held.empty())
      out.visits[visit.path] = {1, visit.held, visit.anchors};
  return out;
}

bool RankTrim::any() const noexcept {
  return !anchors.empty() || std::any_of(visits.begin(), visits.end(),
                                         [](const Visit& v) { return !v.more.empty(); });
}

RankTrim trim_rank(const RankStretches& rank, const HeldStretches& all) {
  RankTrim out;
  if (all.ranks <= 1) {  // alone, it agrees with itself, also in what it wrote in part
    out.visits.resize(rank.visits.size());
    return out;
  }
  const Rulers rulers(rank, all);
  // By anchors: what some rank held where there is no better ruler.
  NumberRanges held = all.anchors;
  NumberRanges of_visits = all.visit_anchors;
  for (const auto& [path, visit] : all.visits) {
    if (rulers.by_iterations(path)) continue;
    held = unite(held, visit.anchors);
    if (!is_inner(path)) of_visits = unite(of_visits, visit.anchors);
  }
  // Written stretches of this rank are those between what it held in any way.
  NumberRanges own = rank.anchors;
  for (const RankVisit& visit : rank.visits) own = unite(own, visit.anchors);
  const NumberRanges behind_the_first{{1, rank.end_anchor}};
  out.anchors = trim(own, held, behind_the_first, rank.end_anchor).more;
  const RankVisit* const main = main_loop(rank);
  const bool at_anchor = main != nullptr && main->begin == kAtAnchor;
  const bool shifted = all.begins.count() > 1;
  if (shifted) out.anchors = unite(out.anchors, up_to_anchors(of_visits, at_anchor));
  for (const RankVisit& visit : rank.visits) {
    RankTrim::Visit& trimmed = out.visits.emplace_back();
    if (!rulers.by_iterations(visit.path)) continue;
    const std::uint64_t iterations = visit.path.back().iterations;
    // A part of an iteration that the others do without is of no use.
    const NumberRanges none =
        intersect(visit.held, complement(visit.partly, 0, iterations));
    Trim both = trim(none, all.visits.at(visit.path).iterations, visit.changed, iterations);
    trimmed = {std::move(both.more), std::move(both.alone)};
    const HeldStretches::Visit& shared = all.visits.at(visit.path);
    if (!is_inner(visit.path) && shifted)
      out.anchors =
          unite(out.anchors, up_to_anchors(shared.anchors, visit.begin == kAtAnchor));
  }
  return out;
}

}  // namespace refrain::writer
