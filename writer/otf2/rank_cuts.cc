#include "writer/otf2/rank_cuts.h"

#include <algorithm>

namespace refrain::writer {
namespace {

struct Trim {
  NumberRanges more;
  NumberRanges alone;
};

// Of what a rank wrote in [0, end): what lies in `held` is to go, but for stretches that lie
// in it as a whole and of which something is in `changed`.
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

bool is_common(const HeldStretches& all, const VisitKey& key) {
  const auto known = all.visits.find(key);
  return known != all.visits.end() && known->second.ranks == all.ranks;
}

}  // namespace

HeldStretches merge(const HeldStretches& a, const HeldStretches& b) {
  HeldStretches out = a;
  out.ranks += b.ranks;
  out.anchors = unite(a.anchors, b.anchors);
  for (const auto& [key, visit] : b.visits) {
    HeldStretches::Visit& known = out.visits[key];
    known.ranks += visit.ranks;
    known.iterations = unite(known.iterations, visit.iterations);
    known.anchors = unite(known.anchors, visit.anchors);
  }
  return out;
}

HeldStretches held_stretches(const RankStretches& rank) {
  HeldStretches out;
  out.ranks = 1;
  out.anchors = rank.anchors;
  for (const RankVisit& visit : rank.visits)
    out.visits[visit.key] = {1, visit.held, visit.anchors};
  return out;
}

bool RankTrim::any() const noexcept {
  return !anchors.empty() || std::any_of(visits.begin(), visits.end(), [](const Visit& v) {
    return !v.more.empty();
  });
}

RankTrim trim_rank(const RankStretches& rank, const HeldStretches& all) {
  RankTrim out;
  // By anchors: what some rank held where there is no better ruler.
  NumberRanges held = all.anchors;
  for (const auto& [key, visit] : all.visits)
    if (visit.ranks != all.ranks) held = unite(held, visit.anchors);
  NumberRanges own = rank.anchors;
  for (const RankVisit& visit : rank.visits)
    if (!is_common(all, visit.key)) own = unite(own, visit.anchors);
  // Written stretches of this rank are those between what it held in any way.
  for (const RankVisit& visit : rank.visits) own = unite(own, visit.anchors);
  const NumberRanges behind_the_first{{1, rank.end_anchor}};
  out.anchors = trim(own, held, behind_the_first, rank.end_anchor).more;
  for (const RankVisit& visit : rank.visits) {
    RankTrim::Visit& trimmed = out.visits.emplace_back();
    if (!is_common(all, visit.key)) continue;
    // A part of an iteration that the others do without is of no use.
    const NumberRanges none =
        intersect(visit.held, complement(visit.partly, 0, visit.key.iterations));
    Trim both = trim(none, all.visits.at(visit.key).iterations, visit.changed,
                     visit.key.iterations);
    trimmed = {std::move(both.more), std::move(both.alone)};
  }
  return out;
}

}  // namespace refrain::writer
