#include "periodicity/nested/header_search.h"

#include <algorithm>
#include <utility>

#include "periodicity/symbol_hash.h"

namespace refrain::periodicity {
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
