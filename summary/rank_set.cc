#include "summary/rank_set.h"

#include <algorithm>
#include <optional>

namespace refrain::summary {
namespace {

using Section = RankSet::Section;
using Run = RankSet::Run;

std::uint64_t last_of(const Section& section) {
  std::uint64_t last = section.first;
  for (const auto& dimension : section.dimensions)
    last += std::uint64_t{dimension.count - 1} * dimension.step;
  return last;
}

// Returns true if each dimension goes around what lies in it.
bool possible(const Section& section) {
  std::uint64_t extent = 1;
  std::uint64_t size = 1;
  for (std::size_t i = 0; i < RankSet::kDimensions; ++i) {
    const auto& [count, step] = section.dimensions[i];
    if (count == 0 || (count == 1) != (step == 0)) return false;
    if (count == 1) continue;
    if (step < extent || (i == 0 && step != 1)) return false;
    extent += std::uint64_t{count - 1} * step;
    size *= count;
    if (section.first + extent > RankSet::kMostRanks || size > RankSet::kMostRanks)
      return false;
  }
  return section.first < RankSet::kMostRanks;
}

}  // namespace

// Puts runs, in order, into sections: each level makes one of several of the level below that are
// equal and at equal steps, as they come.
class RankSet::Builder {
 public:
  explicit Builder(std::vector<Section>& out) : out_(out) {}

  void add(Run run) {
    if (run_.count != 0 && run.first <= run_.first + run_.count) {
      const std::uint32_t end = std::max(run_.first + run_.count, run.first + run.count);
      run_.count = end - run_.first;
      return;
    }
    put_run();
    run_ = run;
  }
  void finish() {
    put_run();
    for (std::size_t level = 1; level < kDimensions; ++level)
      if (open_[level]) put(level + 1, *open_[level]);
  }

 private:
  void put_run() {
    if (run_.count == 0) return;
    Section section{.first = run_.first};
    if (run_.count > 1) section.dimensions[0] = {run_.count, 1};
    put(1, section);
  }
  void put(std::size_t level, const Section& section) {
    if (level == kDimensions) return out_.push_back(section);
    std::optional<Section>& open = open_[level];
    if (open && extend(*open, section, level)) return;
    if (open) put(level + 1, *open);
    open = section;
  }
  static bool extend(Section& open, const Section& section, std::size_t level) {
    if (!std::equal(open.dimensions.begin(), open.dimensions.begin() + level,
                    section.dimensions.begin()))
      return false;
    Dimension& dimension = open.dimensions[level];
    const std::uint32_t step =
        section.first - open.first - (dimension.count - 1) * dimension.step;
    if (dimension.count != 1 && dimension.step != step) return false;
    dimension = {dimension.count + 1, step};
    return true;
  }

  std::vector<Section>& out_;
  Run run_;
  std::array<std::optional<Section>, kDimensions> open_;
};

RankSet RankSet::of(std::uint32_t rank) {
  RankSet set;
  set.sections_.push_back({.first = rank});
  return set;
}

RankSet RankSet::of(std::vector<std::uint32_t> ranks) {
  std::ranges::sort(ranks);
  RankSet set;
  Builder builder(set.sections_);
  for (const std::uint32_t rank : ranks) builder.add({rank, 1});
  builder.finish();
  return set;
}

base::Result<RankSet> RankSet::make(std::span<const Section> sections) {
  std::uint64_t end = 0;
  for (const Section& section : sections) {
    if (!possible(section) || section.first < end)
      return base::Failure{"is not a set of ranks"};
    end = last_of(section) + 1;
  }
  RankSet set;
  set.sections_.assign(sections.begin(), sections.end());
  return set;
}

std::uint64_t RankSet::size() const noexcept {
  std::uint64_t size = 0;
  for (const Section& section : sections_) {
    std::uint64_t ranks = 1;
    for (const Dimension& dimension : section.dimensions) ranks *= dimension.count;
    size += ranks;
  }
  return size;
}

bool RankSet::contains(std::uint32_t rank) const noexcept {
  for (const Section& section : sections_) {
    if (rank < section.first || rank > last_of(section)) continue;
    std::uint64_t rest = rank - section.first;
    for (std::size_t i = kDimensions; i-- > 0;) {
      const auto& [count, step] = section.dimensions[i];
      if (count > 1) rest -= std::min<std::uint64_t>(rest / step, count - 1) * step;
    }
    return rest == 0;
  }
  return false;
}

std::uint32_t RankSet::first() const noexcept { return sections_.front().first; }

bool RankSet::Runs::next(Run& run) noexcept {
  if (section_ == set_->sections_.size()) return false;
  const Section& section = set_->sections_[section_];
  run = {section.first, section.dimensions[0].count};
  for (std::size_t i = 1; i < kDimensions; ++i)
    run.first += at_[i] * section.dimensions[i].step;
  for (std::size_t i = 1; i < kDimensions; ++i) {
    if (++at_[i] < section.dimensions[i].count) return true;
    at_[i] = 0;
  }
  ++section_;
  return true;
}

void RankSet::unite(const RankSet& other) {
  if (sections_.empty()) {
    sections_ = other.sections_;
    return;
  }
  std::vector<Section> sections;
  Builder builder(sections);
  Runs left(*this);
  Runs right(other);
  Run a;
  Run b;
  bool more_a = left.next(a);
  bool more_b = right.next(b);
  while (more_a || more_b) {
    if (!more_b || (more_a && a.first <= b.first)) {
      builder.add(a);
      more_a = left.next(a);
    } else {
      builder.add(b);
      more_b = right.next(b);
    }
  }
  builder.finish();
  sections_ = std::move(sections);
}

std::vector<std::uint32_t> RankSet::lowest(std::uint64_t most) const {
  std::vector<std::uint32_t> ranks;
  Run run;
  for (Runs runs(*this); ranks.size() < most && runs.next(run);)
    for (std::uint32_t i = 0; i < run.count && ranks.size() < most; ++i)
      ranks.push_back(run.first + i);
  return ranks;
}

std::string RankSet::text(std::size_t most_parts) const {
  std::string out;
  std::size_t parts = 0;
  const auto put = [&](const std::string& part) {
    if (parts++ < most_parts) out += (out.empty() ? "" : ",") + part;
  };
  const auto range = [](std::uint64_t first, std::uint64_t last) {
    return std::to_string(first) + "-" + std::to_string(last);
  };
  for (const Section& section : sections_) {
    const auto& d = section.dimensions;
    const bool row =
        d[0].count == 1 && d[1].count > 2 && d[2].count == 1 && d[3].count == 1;
    if (row) {
      put(range(section.first, last_of(section)) + ":" + std::to_string(d[1].step));
      continue;
    }
    RankSet one;
    one.sections_.push_back(section);
    Run run;
    for (Runs runs(one); parts <= most_parts && runs.next(run);)
      put(run.count == 1 ? std::to_string(run.first)
                         : range(run.first, std::uint64_t{run.first} + run.count - 1));
  }
  return parts > most_parts ? out + ",..." : out;
}

}  // namespace refrain::summary
