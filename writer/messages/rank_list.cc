#include "writer/messages/rank_list.h"

#include <algorithm>
#include <limits>

namespace refrain::writer {
namespace {

using Run = RankList::Run;

// The part of a run that lies in the places [from, to).
Run part_of(const Run& run, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t begin = std::max(run.place, from);
  const std::uint32_t end = std::min(run.end(), to);
  if (begin >= end) return {};
  const std::uint32_t count = end - begin;
  return {begin, run.at(begin), count, count == 1 ? 0 : run.step};
}

}  // namespace

RankList::RankList(std::span<const std::uint32_t> ranks)
    : size_(static_cast<std::uint32_t>(ranks.size())) {
  for (std::uint32_t i = 0; i < size_; ++i)
    if (ranks[i] != kNoRank) append({i, ranks[i], 1, 0});
}

RankList RankList::all(std::uint32_t size) {
  RankList out;
  out.size_ = size;
  out.append({0, 0, size, size > 1 ? 1 : 0});
  return out;
}

RankList RankList::one(std::uint32_t size, std::uint32_t place, std::uint32_t rank) {
  RankList out;
  out.size_ = size;
  out.append({place, rank, 1, 0});
  return out;
}

void RankList::append(Run run) {
  constexpr std::int64_t kMostStep = std::numeric_limits<std::int32_t>::max();
  if (run.count == 0) return;
  while (!runs_.empty() && runs_.back().end() == run.place) {
    Run& last = runs_.back();
    const std::int64_t step =
        std::int64_t{run.rank} - std::int64_t{last.at(last.end() - 1)};
    const bool fits = last.count == 1 ? step != 0 && step <= kMostStep && step >= -kMostStep
                                      : step == last.step;
    if (!fits) break;
    last.step = static_cast<std::int32_t>(step);
    // If the steps differ, only the first rank of the run fits here.
    const std::uint32_t taken = run.step == last.step ? run.count : 1;
    last.count += taken;
    if (taken == run.count) return;
    run = part_of(run, run.place + taken, run.end());
  }
  runs_.push_back(run);
}

std::uint32_t RankList::operator[](std::uint32_t place) const noexcept {
  const auto after = std::upper_bound(
      runs_.begin(), runs_.end(), place,
      [](std::uint32_t value, const Run& run) { return value < run.place; });
  if (after == runs_.begin() || place >= (after - 1)->end()) return kNoRank;
  return (after - 1)->at(place);
}

bool RankList::complete() const noexcept {
  std::uint64_t known = 0;
  for (const Run& run : runs_) known += run.count;
  return known == size_;
}

bool RankList::contains(std::uint32_t rank) const noexcept {
  return std::any_of(runs_.begin(), runs_.end(), [rank](const Run& run) {
    const std::int64_t from_first = std::int64_t{rank} - std::int64_t{run.rank};
    if (run.step == 0) return from_first == 0;
    const std::int64_t steps = from_first / run.step;
    return from_first % run.step == 0 && steps >= 0 && steps < run.count;
  });
}

std::uint32_t RankList::least() const noexcept {
  std::uint32_t least = kNoRank;
  for (const Run& run : runs_) least = std::min({least, run.rank, run.at(run.end() - 1)});
  return least;
}

void RankList::fill(const RankList& from) {
  RankList out;
  out.size_ = std::max(size_, from.size_);
  auto other = from.runs_.begin();
  std::uint32_t place = 0;
  const auto fill_to = [&](std::uint32_t end) {
    for (; other != from.runs_.end() && other->place < end; ++other) {
      out.append(part_of(*other, place, end));
      if (other->end() > end) break;
    }
  };
  for (const Run& run : runs_) {
    fill_to(run.place);
    out.append(run);
    place = run.end();
  }
  fill_to(out.size_);
  *this = std::move(out);
}

void put(exchange::ByteWriter& out, const RankList& list) {
  out.number(list.size_);
  out.number(list.runs_.size());
  std::uint32_t end = 0;
  for (const Run& run : list.runs_) {
    out.number(run.place - end);
    out.number(run.rank);
    out.number(run.count);
    if (run.count > 1) out.signed_number(run.step);
    end = run.end();
  }
}

void take(exchange::ByteReader& in, RankList& list) {
  list.size_ = static_cast<std::uint32_t>(in.number_to(kMostProcesses));
  std::uint32_t end = 0;
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    Run run;
    run.place = end + static_cast<std::uint32_t>(in.number_to(list.size_ - end));
    run.rank = static_cast<std::uint32_t>(in.number_to(kNoRank - 1));
    run.count = static_cast<std::uint32_t>(in.number_to(list.size_ - run.place));
    const std::int64_t step = run.count > 1 ? in.signed_number() : 0;
    const std::int64_t least_step = -std::int64_t{kNoRank};
    if (run.count == 0 || (run.count > 1 && step == 0) || step < least_step ||
        step > kNoRank) {
      in.fail();
      return;
    }
    const std::int64_t last = std::int64_t{run.rank} + step * (std::int64_t{run.count} - 1);
    run.step = static_cast<std::int32_t>(step);
    if (last < 0 || last >= kNoRank || run.step != step) in.fail();
    end = run.end();
    if (in.ok()) list.append(run);
  }
}

}  // namespace refrain::writer
