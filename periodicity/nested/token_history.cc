#include "periodicity/nested/token_history.h"

#include <bit>

namespace refrain::periodicity {
namespace {

// A loop token is many events.
constexpr std::uint32_t kLoopBonus = 4 * Surprise::kOneBit;

}  // namespace

// One more slot than tokens: prefix sums need both ends.
TokenHistory::TokenHistory(Settings settings)
    : mask_(std::bit_ceil(std::max(settings.capacity, 64u)) - 1),
      max_lag_(std::clamp<std::uint32_t>(settings.max_lag, 1, (mask_ + 1) / 4)),
      enough_bits_(settings.enough_bits * Surprise::kOneBit),
      tokens_(mask_ + 1),
      prefix_(mask_ + 1),
      bits_(mask_ + 1),
      power_(mask_ + 1),
      seen_((mask_ + 1) * 4),
      seen_shift_(64 - std::countr_zero(seen_.size())) {
  power_[0] = 1;
  std::uint16_t bit = 1;
  for (std::uint32_t k = kSmallest;
       k < 2 * std::uint64_t{max_lag_} && 2 * std::uint64_t{k} <= mask_; k *= 2) {
    const std::uint32_t both = k == kSmallest ? 1 : std::min(k / 4, kSchedule);  // a·b
    const std::uint32_t a = 1u << (std::countr_zero(both) + 1) / 2;
    for (std::uint32_t index = 0; index < kSchedule; ++index) {
      if (index % a == 0) due_[index].enter |= bit;
      if (index % both < a) due_[index].ask |= bit;
    }
    bit = static_cast<std::uint16_t>(bit << 1);
  }
}

void TokenHistory::append(const Token& token) noexcept {
  tokens_[end_ & mask_] = token;
  std::uint32_t bits = surprise_.add(token.id);
  if (token.body != kNoBody) {
    bits += kLoopBonus;
    last_loop_ = end_ + 1;
  }
  const std::uint64_t here = end_ & mask_;
  ++end_;
  if (powers_ <= end_ && powers_ <= mask_) [[unlikely]] {
    power_[powers_] = power_[powers_ - 1] * kHashBase;
    ++powers_;
  }
  prefix_[end_ & mask_] = prefix_[here] * kHashBase + token.id;
  bits_[end_ & mask_] = bits_[here] + bits;
  if (end_ - begin_ > mask_) begin_ = end_ - mask_;
}

std::uint32_t TokenHistory::find_run() noexcept {
  if (last_loop_ + kSmallest >= end_ && last_loop_ != 0) {
    for (std::uint32_t lag = 1; lag <= kSmallest; ++lag) {
      if (is_run(lag)) return lag;
    }
  }
  const Due due = due_[end_ & (kSchedule - 1)];
  for (std::uint32_t left = due.enter | due.ask; left != 0; left &= left - 1) {
    const int scale = std::countr_zero(left);
    const std::uint32_t size = kSmallest << scale;
    if (end_ - begin_ < size) break;
    const std::uint64_t hash = (this->hash(end_ - size, size) ^ size) * 0x9e3779b97f4a7c15u;
    Seen& seen = seen_[hash >> seen_shift_];
    const auto tag = static_cast<std::uint32_t>(hash);
    std::uint32_t lag = 0;
    if ((due.ask >> scale & 1) != 0 && seen.tag == tag) {
      lag = static_cast<std::uint32_t>(end_) - seen.index;
      if (lag > size || lag == 0 || !is_run(lag)) lag = 0;
    }
    if ((due.enter >> scale & 1) != 0) seen = {tag, static_cast<std::uint32_t>(end_)};
    if (lag != 0) return lag;
  }
  return 0;
}

bool TokenHistory::is_run(std::uint32_t lag) const noexcept {
  if (lag > max_lag_ || end_ - begin_ < 3 * std::uint64_t{lag} || !same(end_ - 1, lag)) {
    return false;
  }
  const std::uint64_t twice = 2 * std::uint64_t{lag};
  std::uint64_t from = end_ - twice;
  if (hash(from, twice) != hash(from - lag, twice)) return false;
  while (bits(from, end_) < enough_bits_) {
    if (from - begin_ <= lag || !same(from - 1, lag)) return false;
    --from;
  }
  for (std::uint64_t index = end_ - twice; index < end_; ++index) {
    if (!same(index, lag)) return false;
  }
  return true;
}

std::uint64_t TokenHistory::begin_of_run(std::uint32_t lag) const noexcept {
  std::uint64_t from = end_ - 2 * std::uint64_t{lag};
  const std::uint64_t least = std::max<std::uint64_t>(
      begin_ + lag, end_ - std::min(end_, 8 * std::uint64_t{lag} + 64));
  while (from > least && same(from - 1, lag)) --from;
  return from - lag;
}

}  // namespace refrain::periodicity
