#include "writer/agree/rank_cuts.h"

#include <algorithm>
#include <set>

namespace refrain::writer {
namespace {

struct Trim {
  NumberRanges more;
  NumberRanges alone;
};

// Of what a rank wrote in [0, end), the parts in `skipped` are left out, except intervals
// that lie entirely in it and overlap `changed`.
Trim trim(const NumberRanges& own, const NumberRanges& skipped, const NumberRanges& changed,
          std::uint64_t end) {
  Trim out;
  const NumberRanges written = complement(own, 0, end);
  for (const auto& interval : written.ranges()) {
    const NumberRanges whole{{interval.begin, interval.end}};
    const NumberRanges part = intersect(whole, skipped);
    const bool alone = part == whole && !intersect(whole, changed).empty();
    NumberRanges& to = alone ? out.alone : out.more;
    to = unite(to, part);
  }
  return out;
}

bool is_inner(const VisitPath& path) { return path.size() > 1; }

// The visit of which most is skipped.
const RankVisit* main_loop(const RankIntervals& rank) {
  const RankVisit* most = nullptr;
  for (const RankVisit& visit : rank.visits)
    if (!is_inner(visit.path) && !visit.skipped.empty() &&
        (most == nullptr || visit.skipped.count() > most->skipped.count()))
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

// Intervals between the skipped iterations of a shifted visit and the anchors around them:
// ranks whose iterations begin elsewhere go back to the anchor before, and all go on to the
// one after.
NumberRanges up_to_anchors(const NumberRanges& skipped, bool at_anchor) {
  NumberRanges out;
  for (const auto& range : skipped.ranges())
    out.add(at_anchor ? range.end : range.begin, range.end + 1);
  out.normalize();
  return out;
}

// Which visits a rank can compare by their iterations.
class VisitIndex {
 public:
  VisitIndex(const RankIntervals& rank, const SkippedIntervals& all) : all_(all) {
    for (const RankVisit& visit : rank.visits) own_.insert(visit.path);
  }
  // An inner visit is reported only by ranks that skipped some of it, and compared by ranks
  // that have it.
  bool by_iterations(const VisitPath& path) const {
    const auto known = all_.visits.find(path);
    if (known == all_.visits.end()) return false;
    return is_inner(path) ? own_.contains(path) : known->second.ranks == all_.ranks;
  }

 private:
  const SkippedIntervals& all_;
  std::set<VisitPath> own_;
};

}  // namespace

SkippedIntervals merge(SkippedIntervals a, const SkippedIntervals& b) {
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

void put(exchange::ByteWriter& out, const SkippedIntervals& skipped) {
  out.number(skipped.ranks);
  put(out, skipped.anchors);
  put(out, skipped.visit_anchors);
  put(out, skipped.begins);
  out.number(skipped.visits.size());
  for (const auto& [path, visit] : skipped.visits) {
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

void take(exchange::ByteReader& in, SkippedIntervals& skipped) {
  skipped.ranks = in.number();
  take(in, skipped.anchors);
  take(in, skipped.visit_anchors);
  take(in, skipped.begins);
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    VisitPath path;
    for (std::size_t steps = in.count(); steps != 0 && in.ok(); --steps) {
      const std::uint64_t within = in.number();
      const std::uint64_t iterations = in.number();
      path.push_back({within, iterations, in.number32()});
    }
    SkippedIntervals::Visit visit;
    visit.ranks = in.number();
    take(in, visit.iterations);
    take(in, visit.anchors);
    if (path.empty() || !skipped.visits.emplace(std::move(path), std::move(visit)).second)
      in.fail();
  }
}

SkippedIntervals skipped_intervals(const RankIntervals& rank) {
  SkippedIntervals out;
  out.ranks = 1;
  if (const RankVisit* main = main_loop(rank); main != nullptr && main->begin != 0)
    out.begins.add(main->begin);
  out.begins.normalize();
  out.anchors = rank.anchors;
  for (const RankVisit& visit : rank.visits)
    if (!is_inner(visit.path) || !visit.skipped.empty())
      out.visits[visit.path] = {1, visit.skipped, visit.anchors};
  return out;
}

bool RankTrim::any() const noexcept {
  return !anchors.empty() || std::any_of(visits.begin(), visits.end(),
                                         [](const Visit& v) { return !v.more.empty(); });
}

RankTrim trim_rank(const RankIntervals& rank, const SkippedIntervals& all) {
  RankTrim out;
  if (all.ranks <= 1) {  // a single rank agrees with itself, also in what it wrote in part
    out.visits.resize(rank.visits.size());
    return out;
  }
  const VisitIndex index(rank, all);
  // By anchors: what some rank skipped, where iterations cannot be compared.
  NumberRanges skipped = all.anchors;
  NumberRanges of_visits = all.visit_anchors;
  for (const auto& [path, visit] : all.visits) {
    if (index.by_iterations(path)) continue;
    skipped = unite(skipped, visit.anchors);
    if (!is_inner(path)) of_visits = unite(of_visits, visit.anchors);
  }
  // Written intervals of this rank are those between what it skipped in any way.
  NumberRanges own = rank.anchors;
  for (const RankVisit& visit : rank.visits) own = unite(own, visit.anchors);
  const NumberRanges after_the_first{{1, rank.end_anchor}};
  out.anchors = trim(own, skipped, after_the_first, rank.end_anchor).more;
  const RankVisit* const main = main_loop(rank);
  const bool at_anchor = main != nullptr && main->begin == kAtAnchor;
  const bool shifted = all.begins.count() > 1;
  if (shifted) out.anchors = unite(out.anchors, up_to_anchors(of_visits, at_anchor));
  for (const RankVisit& visit : rank.visits) {
    RankTrim::Visit& trimmed = out.visits.emplace_back();
    if (!index.by_iterations(visit.path)) continue;
    const std::uint64_t iterations = visit.path.back().iterations;
    // A part of an iteration is of no use without the others' parts.
    const NumberRanges none =
        intersect(visit.skipped, complement(visit.partly, 0, iterations));
    Trim both = trim(none, all.visits.at(visit.path).iterations, visit.changed, iterations);
    trimmed = {std::move(both.more), std::move(both.alone)};
    const SkippedIntervals::Visit& shared = all.visits.at(visit.path);
    if (!is_inner(visit.path) && shifted)
      out.anchors =
          unite(out.anchors, up_to_anchors(shared.anchors, visit.begin == kAtAnchor));
  }
  return out;
}

}  // namespace refrain::writer
