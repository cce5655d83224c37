#include "periodicity/nested/irregular_loops.h"

#include <algorithm>

#include "periodicity/symbol_hash.h"

namespace refrain::periodicity {
namespace {

using Word = RecentEvents::Word;

constexpr std::size_t kTableSize = 1 << 14;

// Keys of the table, never 0. An event is known, or was seen once or twice in courses that
// are not.
enum class Seen : std::uint64_t { kKnown = 1, kOnce = 2, kTwice = 3 };

std::uint64_t edge_key(std::uint32_t loop, Word from, Word to) noexcept {
  return mix((mix(from + loop) << 1) + to) | 1;
}
std::uint64_t event_key(std::uint32_t loop, Word word, Seen seen) noexcept {
  return mix(mix(word + loop) ^ (static_cast<std::uint64_t>(seen) << 60)) | 1;
}

}  // namespace

IrregularLoops::IrregularLoops(const RecentEvents& recent)
    : recent_(recent), table_(kTableSize) {}

bool IrregularLoops::has(std::uint64_t key) const noexcept {
  for (std::size_t slot = key >> 50;; slot = (slot + 1) % kTableSize) {
    if (table_[slot] == key) return true;
    if (table_[slot] == 0) return false;
  }
}

void IrregularLoops::add(std::uint64_t key) noexcept {
  std::size_t slot = key >> 50;
  for (; table_[slot] != 0; slot = (slot + 1) % kTableSize) {
    if (table_[slot] == key) return;
  }
  table_[slot] = key;
  ++table_used_;
}

// All edges and events of [from, to].
void IrregularLoops::learn(std::uint32_t loop, std::uint64_t from,
                           std::uint64_t to) noexcept {
  const std::uint32_t number = loops_[loop].number;
  for (std::uint64_t at = from + 1; at <= to; ++at) {
    add(edge_key(number, recent_[at - 1], recent_[at]));
    add(event_key(number, recent_[at], Seen::kKnown));
  }
}

bool IrregularLoops::learnable(std::uint32_t loop, std::uint64_t from,
                               std::uint64_t to) noexcept {
  const std::uint32_t number = loops_[loop].number;
  bool all = true;
  for (std::uint64_t at = from; at != to; ++at) {
    const Word word = recent_[at];
    if (has(event_key(number, word, Seen::kKnown))) continue;
    if (has(event_key(number, word, Seen::kTwice))) continue;
    all = false;
    const bool once = has(event_key(number, word, Seen::kOnce));
    add(event_key(number, word, once ? Seen::kTwice : Seen::kOnce));
  }
  return all;
}

std::uint32_t IrregularLoops::with_header(Word header) const noexcept {
  for (std::uint32_t loop = 0; loop != count_; ++loop) {
    if (loops_[loop].header == header) return loop;
  }
  return kNone;
}

bool IrregularLoops::open(std::uint64_t first, std::uint64_t position,
                          std::uint32_t number) noexcept {
  const std::uint64_t from = std::max(first, position - std::min(position, kMaxLearnt));
  if (count_ == kMostLoops || table_used_ + 2 * kMaxLearnt > kTableSize / 2) {
    std::fill_n(&table_[0], table_.size(), 0);
    table_used_ = 0;
    count_ = 0;
  }
  std::uint32_t loop = with_header(recent_[position]);
  const bool taken = loop == kNone;
  if (taken) {
    loop = count_++;
    loops_[loop] = {.header = recent_[position], .number = number};
  }
  learn(loop, from, position);
  for (std::uint64_t at = from, begin = from; at <= position; ++at) {
    if (recent_[at] != recent_[position]) continue;
    loops_[loop].longest = std::max(loops_[loop].longest, at - begin);
    loops_[loop].last = at - begin;
    begin = at;
  }
  begin(loop, position);
  return taken;
}

void IrregularLoops::reopen(std::uint64_t position) noexcept { begin(trial_, position); }

void IrregularLoops::begin(std::uint32_t loop, std::uint64_t position) noexcept {
  open_ = current_ = loop;
  trial_ = broken_ = kNone;
  iteration_begin_ = position;
  iteration_hash_ = 0;
  iterations_ = 0;
  kinds_.clear();
}

IrregularLoops::Course IrregularLoops::follow(std::uint64_t position) noexcept {
  Loop& loop = loops_[open_];
  const Word word = recent_[position];
  const Word before = recent_[position - 1];
  const std::uint64_t events = position - iteration_begin_;
  if (!has(edge_key(loop.number, before, word)) || events > 2 * loop.longest + 16) {
    const Course course = whole(position) ? Course::kEnded : Course::kBroken;
    close(position, true);
    return course;
  }
  if (word != loop.header) {
    iteration_hash_ = append_hash(iteration_hash_, word);
    return Course::kGoesOn;
  }
  loop.longest = std::max(loop.longest, events);
  loop.last = events;
  kinds_.add(iteration_hash_);
  iteration_begin_ = position;
  iteration_hash_ = 0;
  if (++iterations_ % kCheck != 0 || !regular()) return Course::kIteration;
  close(position, false);
  return Course::kOver;
}

bool IrregularLoops::whole(std::uint64_t position) const noexcept {
  const Loop& loop = loops_[current_];
  return has(edge_key(loop.number, recent_[position - 1], loop.header));
}

bool IrregularLoops::regular() const noexcept {
  return kinds_.size() == IterationKinds::kSize &&
         8 * kinds_.surprises() <= IterationKinds::kSize;
}

void IrregularLoops::close(std::uint64_t position, bool broken) noexcept {
  if (broken) {
    broken_ = open_;
    broken_begin_ = iteration_begin_;
    looked_ = position;
  } else {
    looked_ = position + 8 * loops_[open_].longest;
  }
  open_ = kNone;
}

bool IrregularLoops::look(std::uint64_t end) noexcept {
  if (looked_ >= end) return false;
  if (end - looked_ > RecentEvents::kSize / 2) {
    looked_ = end - 1;
    trial_ = broken_ = kNone;
  }
  for (std::uint64_t left = kSlice; left != 0 && looked_ != end; --left) {
    const std::uint64_t at = looked_++;
    const Word word = recent_[at];
    if (trial_ != kNone) {
      const Loop& loop = loops_[trial_];
      if (!has(edge_key(loop.number, recent_[at - 1], word))) {
        trial_ = kNone;
      } else if (word == loop.header) {
        came_back_ = trial_begin_;
        trial_begin_ = at;
        if (at + 1 == end) return true;
        continue;
      }
    }
    if (trial_ != kNone) continue;
    trial_ = with_header(word);
    trial_begin_ = at;
    if (trial_ == kNone || trial_ != broken_) continue;
    if (at - broken_begin_ <= std::min(2 * loops_[trial_].longest, kMaxLearnt) &&
        table_used_ + 2 * kMaxLearnt < kTableSize && learnable(trial_, broken_begin_, at)) {
      learn(trial_, broken_begin_, at);
    }
    broken_ = kNone;
  }
  return false;
}

}  // namespace refrain::periodicity
