// The part of NestedDetector that finds that messages come by chance, and leaves them out.
#include <algorithm>

#include "periodicity/nested_detector.h"

namespace refrain::periodicity {
namespace {

constexpr std::uint64_t kFewIterations =
    8;  // an inner loop with fewer is looked at as its events
constexpr std::uint64_t kMostLookedAt = 1024;  // tokens of the history
constexpr std::uint64_t kMostAgain = 8192;     // tokens that are read again
constexpr int kMostCloses = 64;
constexpr std::uint64_t kNoEvent = ~std::uint64_t{0};

constexpr Symbol symbol_of(RecentEvents::Word word) noexcept { return word >> 16; }
constexpr Symbol without_high_bits(Symbol symbol) noexcept { return (symbol << 16) >> 16; }
constexpr bool is_message(std::uint64_t event) noexcept {
  return (event & kMessageSymbol) != 0;
}

}  // namespace

// Many events have not been explained: would the rest follow a rule if messages were left out?
// Unless it is clear, it counts when it is found twice: exact loops may just not be known yet.
void NestedDetector::look_at_messages() noexcept {
  pause_ = std::min(pause_ + (pause_ < 256 ? pause_ / 2 : pause_), kLastLook);
  next_look_ = unexplained_ + pause_;
  const std::uint64_t count = std::min(history_.end() - history_.begin(), kMostLookedAt);
  const std::uint64_t from = history_.end() - count;
  std::array<std::uint32_t, 2> misses{};
  std::uint32_t others = 0;
  for (const bool without : {false, true}) {
    expectations_.clear();
    const auto add = [&](std::uint64_t id, bool event, std::uint64_t index) {
      if (event && is_message(id) && without) return;
      others += without ? 1 : 0;
      expectations_.add(id, 2 * (index - from) >= count);
    };
    for (std::uint64_t index = from; index != history_.end(); ++index) {
      const Token& token = history_[index];
      const bool loop = token.body != kNoBody;
      if (loop && token.events < kFewIterations * bodies_[token.body].events &&
          token.events < kMostLookedAt &&
          events_.position - token.position < RecentEvents::kSize / 2) {
        for (std::uint64_t k = 0; k != token.events; ++k)
          add(symbol_of(events_.recent[token.position + k]), true, index);
      } else {
        add(loop ? token.id : without_high_bits(token.id), !loop, index);
      }
    }
    misses[without ? 1 : 0] = expectations_.misses();
  }
  const bool better = 2 * misses[1] + 4 <= misses[0] && others >= kFirstLook;
  const bool clearly = 3 * misses[1] + 4 <= misses[0];
  leave_out_ = better && (suspected_ || clearly);
  suspected_ = better;
}

bool NestedDetector::has_messages(std::uint32_t body) const noexcept {
  const Item* const items = bodies_.items(body);
  return std::any_of(items, items + bodies_[body].size, [&](const Item& item) {
    return item.child == kNoBody ? is_message(item.id) : bool{dirty_[item.child]};
  });
}

// Messages are left out from here on, and what has been read is read again without them.
void NestedDetector::leave_out_messages(LoopSink& sink) noexcept {
  leave_out_ = seek_messages_ = seek_irregular_ = false;
  search_.stop(events_.position);
  irregular_.forget();
  // Loops that are open are left; what there is of their iterations waits to be read again.
  for (int tries = 0; depth_ != 0 && tries != kMostCloses; ++tries) {
    const std::uint64_t end =
        pending_.empty() ? events_.position : pending_.front().position;
    close({.id = kNoEvent, .position = end, .events = 0}, sink);
  }
  if (depth_ != 0) close_all(sink);
  left_out_ = true;
  for (std::uint32_t body = 0; body != bodies_.size(); ++body) {
    dirty_[body] = has_messages(body);  // inner loops have lower numbers
    if (dirty_[body]) bodies_.outdate(body);
  }
  read_again(first_to_read_again());
  history_.clear();
  variant_end_ = ~std::uint64_t{0};
  no_trial_before_ = 0;
  tried_ = {};
}

// The first event of a body that is no message; kNoEvent if there is none.
std::uint64_t NestedDetector::first_kept_event(std::uint32_t body) const noexcept {
  const Item* const items = bodies_.items(body);
  for (std::uint32_t item = 0; item != bodies_[body].size; ++item) {
    const std::uint64_t id =
        items[item].child == kNoBody ? items[item].id : first_kept_event(items[item].child);
    if (id != kNoEvent && !is_message(id)) return id;
  }
  return kNoEvent;
}

// From which index of the history on tokens can be read again, and which of them as their events:
// loops with messages, and those that would have gone on but for these.
std::uint64_t NestedDetector::first_to_read_again() noexcept {
  std::uint64_t next = kNoEvent;  // the first event of what follows
  std::uint64_t tokens = 0;
  for (std::uint64_t index = history_.end(); index != history_.begin(); --index) {
    const Token& token = history_[index - 1];
    if (token.body == kNoBody) {
      if (!is_message(token.id)) next = token.id;
      ++tokens;
    } else {
      const bool events = dirty_[token.body] || first_kept_event(token.body) == next;
      if (events && events_.position - token.position >= RecentEvents::kSize) return index;
      as_events_[(index - 1) & history_mask_] = events;
      tokens += events ? token.events : 1;
      next = first_kept_event(token.body);
    }
    if (tokens > kMostAgain) return index;
  }
  return history_.begin();
}

// Puts what is not left out of the history, and of what waited already, into pending_.
void NestedDetector::read_again(std::uint64_t from) noexcept {
  const auto again = [&](const Token& token) {
    if (token.body == kNoBody && (token.id == kNoEvent || is_message(token.id))) return;
    pending_.push_back(token);
  };
  const auto events_of = [&](const Token& token) {
    for (std::uint64_t k = 0; k != token.events; ++k) {
      const RecentEvents::Word word = events_.recent[token.position + k];
      again({.id = symbol_of(word),
             .position = token.position + k,
             .depth = RecentEvents::depth(word)});
    }
  };
  std::uint64_t waiting = pending_.size();
  for (std::uint64_t index = from; index != history_.end(); ++index) {
    const Token& token = history_[index];
    const bool events = token.body != kNoBody && as_events_[index & history_mask_];
    events ? events_of(token) : again(token);
  }
  for (; waiting != 0; --waiting) {
    const Token token = pending_.pop_front();
    const bool events = token.body != kNoBody && token.events <= kMostAgain &&
                        events_.position - token.position < RecentEvents::kSize;
    events ? events_of(token) : again(token);
  }
}

// Iterations of the history that are to be told: the latest ones, as far as none begins inside of
// a visit that has been told, when messages were not left out.
void NestedDetector::tell_behind_told(std::uint64_t earlier, std::uint64_t start,
                                      std::uint32_t size) noexcept {
  const std::uint64_t read =
      pending_.empty() ? events_.position : pending_.front().position;
  if (read < told_visits_.end()) {  // is being read again
    tell_from_ = std::max(tell_from_, told_visits_.end());
    return;
  }
  std::uint64_t begin = start + (history_.end() - start) / size * size;
  if (begin == history_.end()) begin -= size;
  for (;; begin = begin == start ? earlier : begin - size) {
    const std::uint64_t position = history_[begin].position;
    if (position < tell_from_) return;
    if (told_visits_.inside(position)) {
      tell_from_ = position + 1;
      return;
    }
    if (begin == earlier) return;
  }
}

// Where the event `id` lies that is the last one of this kind before `end`.
std::uint64_t NestedDetector::position_before(std::uint64_t end,
                                              std::uint64_t id) const noexcept {
  for (std::uint64_t left = RecentEvents::kSize / 2; left != 0 && end != 0; --left) {
    --end;
    if (symbol_of(events_.recent[end]) == without_high_bits(id)) break;
  }
  return end;
}

}  // namespace refrain::periodicity
