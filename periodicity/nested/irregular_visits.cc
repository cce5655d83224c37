#include "periodicity/nested/irregular_visits.h"

#include <algorithm>
#include <array>
#include <utility>

#include "periodicity/symbol.h"

namespace refrain::periodicity {

bool IrregularVisits::look() noexcept {
  came_back_ = loops_.any() && loops_.look(events_.position + 1);
  const bool found = search_.looking() && search_.look(events_.position + 1);
  return came_back_ || found;
}

void IrregularVisits::open(LoopSink& sink) noexcept {
  std::array<std::uint64_t, HeaderSearch::kMax> begins{};
  std::uint32_t count = 2;
  if (came_back_) {
    begins = {events_.position, loops_.came_back()};
    loops_.reopen(events_.position);
  } else {
    count = search_.iterations(begins);
    const std::uint32_t number = bodies_.next_loop();
    if (loops_.open(begins[count - 1], events_.position, number)) bodies_.take_loop();
  }
  count = reporter_.take_out_reported({begins.data(), count});
  iterations_ = 0;
  first_ = begins[count - 1];
  last_begin_ = events_.position;
  for (; events_.position - begins[count - 1] > reporter_.reach(); --count) ++iterations_;
  visit_ = loops_.count_visit();
  report(LoopEventKind::kFound, begins[count - 1], sink);
  for (;;) {
    report(LoopEventKind::kIteration, begins[--count], sink);
    if (count == 0) break;
    ++iterations_;
  }
  search_.stop(events_.position);
}

bool IrregularVisits::follow(LoopSink& sink) noexcept {
  using Course = IrregularLoops::Course;
  switch (loops_.follow(events_.position)) {
    case Course::kGoesOn:
      return true;
    case Course::kIteration:
      ++iterations_;
      report(LoopEventKind::kIteration, events_.position, sink);
      last_begin_ = events_.position;
      return true;
    case Course::kBroken:
      report(LoopEventKind::kMismatch, events_.position, sink);
      note_break();
      leave(false, sink);
      return false;
    case Course::kEnded:
      note_break();
      [[fallthrough]];
    default:
      leave(true, sink);
      return false;
  }
}

void IrregularVisits::note_break() noexcept {
  reporter_.note_break(loops_.current().number, events_.recent[events_.position - 1],
                       events_.recent[events_.position], events_.position);
}

void IrregularVisits::finish(LoopSink& sink) noexcept {
  if (is_open()) leave(loops_.whole(events_.position), sink);
}

// `whole`: its last iteration ends at events_.position, too.
void IrregularVisits::leave(bool whole, LoopSink& sink) noexcept {
  if (whole) ++iterations_;
  report(LoopEventKind::kLeft, events_.position, sink);
  reporter_.note_visit(first_, whole ? events_.position : last_begin_);
}

void IrregularVisits::report(LoopEventKind kind, std::uint64_t position,
                             LoopSink& sink) noexcept {
  const IrregularLoops::Loop& loop = loops_.current();
  reporter_.report({.kind = kind,
                    .level = 0,
                    .loop = loop.number,
                    .visit = visit_,
                    .body_events = static_cast<std::uint32_t>(loop.last),
                    .position = position,
                    .iteration = iterations_},
                   sink);
}

void IrregularVisits::give_up() noexcept {
  enabled_ = false;
  search_.stop(events_.position);
  loops_.forget();
}

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

namespace {

// Of an odd number, modulo 2^64, by Newton's iteration: each step doubles the bits.
constexpr std::uint64_t inverse(std::uint64_t odd) noexcept {
  std::uint64_t result = odd;
  for (int step = 0; step < 6; ++step) result *= 2 - odd * result;
  return result;
}
constexpr std::uint64_t kInverseBase = inverse(kHashBase);
static_assert(kInverseBase * kHashBase == 1);

constexpr std::uint32_t kEntryBits = 10;
constexpr std::uint64_t kPatience = 401;  // events from one guess to the next; a prime
constexpr std::uint64_t kMaxBack = 8192;  // events back to the first reported iteration

}  // namespace

HeaderSearch::HeaderSearch(const RecentEvents& recent)
    : recent_(recent), entries_(std::size_t{1} << kEntryBits) {}

HeaderSearch::Entry& HeaderSearch::entry_of(RecentEvents::Word word) noexcept {
  return entries_[mix(word) >> (64 - kEntryBits)];
}

const HeaderSearch::Entry& HeaderSearch::entry_of(RecentEvents::Word word) const noexcept {
  return entries_[mix(word) >> (64 - kEntryBits)];
}

void HeaderSearch::unexplained(std::uint64_t position) noexcept {
  const std::uint64_t oldest = trouble_[troubles_ % kTrouble];
  trouble_[troubles_++ % kTrouble] = position;
  if (position - last_trouble_ > kTroubleIn) calm_until_ = position;
  last_trouble_ = position;
  if (looking_ || position < next_search_ || troubles_ <= kTrouble) return;
  if (position - calm_until_ < kBack) return;  // exact loops are still being found
  if (position - oldest <= kTroubleIn) begin(position);
}

void HeaderSearch::begin(std::uint64_t position) noexcept {
  looking_ = true;
  known_ = false;
  longest_streak_ = 0;
  next_choice_ = 0;
  ++search_;
  begin_ = looked_ = position - std::min(position, kBack);
  hash_ = 0;
  power_ = inverse_ = 1;
}

void HeaderSearch::stop(std::uint64_t position) noexcept {
  looking_ = false;
  next_search_ = position + kPause;
}

bool HeaderSearch::look(std::uint64_t end) noexcept {
  if (end - looked_ > RecentEvents::kSize / 2) {  // all was explained in between
    looking_ = false;
    return false;
  }
  for (std::uint64_t left = kSlice; left != 0 && looked_ != end; --left) {
    look_at(looked_++);
  }
  if (known_ && looked_ == end && recent_[end - 1] == header_) return true;
  const std::uint64_t span = longest_streak_ < kPromise ? kBack : kSpan;
  if (looked_ - begin_ < span) return false;
  looking_ = false;
  pause_ = std::min(2 * pause_, kLongestPause);
  next_search_ = looked_ + pause_;
  return false;
}

void HeaderSearch::look_at(std::uint64_t position) noexcept {
  const RecentEvents::Word word = recent_[position];
  Entry& entry = entry_of(word);
  if (entry.search != search_ || entry.word != word || position - entry.last > kLongest) {
    if (entry.search != search_ || entry.word != word) entry.count = 0;
    entry.word = word;
    entry.search = search_;
    entry.streak = 0;
    entry.first = position;
    entry.kinds.clear();
  } else {
    if (entry.streak != 0 && !common(entry.before_last, entry.last)) {
      entry.streak = 0;
      entry.first = entry.last;
      entry.kinds.clear();
    }
    const std::uint64_t kind = mix((hash_ - entry.hash) * entry.scale);
    entry.kinds.add(kind);
    longest_streak_ = std::max(longest_streak_, ++entry.streak);
    if (!known_ && position >= next_choice_ && enough(entry, position)) {
      known_ = irregular(entry) && choose(entry, position);
      next_choice_ = position + kPatience;
    }
  }
  ++entry.count;
  entry.before_last = entry.last;
  entry.last = position;
  entry.hash = hash_;
  entry.scale = inverse_;
  hash_ += mix(word) * power_;
  power_ *= kHashBase;
  inverse_ *= kInverseBase;
}

// Returns true if at least two events next to the positions a and b are the same, and rare enough
// for that to mean something.
bool HeaderSearch::common(std::uint64_t a, std::uint64_t b) const noexcept {
  int count = 0;
  for (std::uint64_t k = 1; k <= 2 && recent_[a + k] == recent_[b + k]; ++k) {
    count += rare(recent_[a + k]) ? 1 : 0;
  }
  for (std::uint64_t k = 1; k <= 2 && recent_[a - k] == recent_[b - k]; ++k) {
    count += rare(recent_[a - k]) ? 1 : 0;
  }
  return count >= 2;
}

bool HeaderSearch::rare(RecentEvents::Word word) const noexcept {
  const Entry& entry = entry_of(word);
  return entry.word != word || 3 * std::uint64_t{entry.count} <= looked_ - begin_;
}

bool HeaderSearch::enough(const Entry& entry, std::uint64_t position) const noexcept {
  return entry.streak >= kMany ||
         (entry.streak >= kIterations && position - entry.first > kLong);
}

bool HeaderSearch::irregular(const Entry& entry) const noexcept {
  return 8 * entry.kinds.surprises() >= 3 * entry.kinds.size();
}

// The word of `entry` begins iterations. Which word of the last iteration does so best?
bool HeaderSearch::choose(const Entry& entry, std::uint64_t position) noexcept {
  // If these iterations were explained, there is nothing to do.
  if (trouble_[troubles_ % kTrouble] +
          std::uint64_t{2} * kTrouble * (position - entry.last) <
      position) {
    return false;
  }
  const Entry* best = nullptr;
  std::uint16_t least_depth = ~std::uint16_t{0};
  for (std::uint64_t at = entry.last; at != position; ++at) {
    const RecentEvents::Word word = recent_[at];
    const std::uint16_t depth = RecentEvents::depth(word);
    least_depth = std::min(least_depth, depth);
    const Entry& other = entry_of(word);
    if (other.word != word || other.search != search_) continue;
    if (other.streak + 1 < entry.streak) continue;
    const auto rank = [](const Entry& e) {
      return std::pair(RecentEvents::depth(e.word), e.first);
    };
    if (best == nullptr || rank(other) < rank(*best)) best = &other;
  }
  if (best == nullptr || RecentEvents::depth(best->word) != least_depth) return false;
  header_ = best->word;
  return true;
}

std::uint32_t HeaderSearch::iterations(
    std::array<std::uint64_t, kMax>& positions) const noexcept {
  const Entry& entry = entry_of(header_);
  std::uint32_t count = 0;
  const std::uint64_t least = entry.last - std::min(entry.last - entry.first, kMaxBack);
  for (std::uint64_t at = entry.last + 1; at-- != least && count != kMax;) {
    if (recent_[at] == header_) positions[count++] = at;
  }
  return count;
}

}  // namespace refrain::periodicity
