#include "periodicity/nested/message_filter.h"

#include <algorithm>
#include <array>

#include "periodicity/nested/kept_events.h"

namespace refrain::periodicity {
namespace {

// An inner loop with fewer iterations is looked at as its events.
constexpr std::uint64_t kFewIterations = 8;
constexpr std::uint64_t kMaxLookedAt = 1024;  // tokens of the history
constexpr std::uint64_t kMostAgain = 8192;    // tokens that are read again

}  // namespace

// Many events are unexplained: do the others follow a rule better without the messages? Unless it
// is clear, it counts when found twice: exact loops may just not be known yet.
void MessageFilter::look() noexcept {
  pause_ = std::min(pause_ + (pause_ < 256 ? pause_ / 2 : pause_), kLastLook);
  next_look_ = unexplained_ + pause_;
  std::uint32_t kept = 0;
  const std::uint32_t with = misses(false, kept);
  const std::uint32_t without = misses(true, kept);
  const bool better = 2 * without + 4 <= with && kept >= kFirstLook;
  const bool clearly = 3 * without + 4 <= with;
  due_ = better && (suspected_ || clearly);
  suspected_ = better;
}

// How many of the latest events are not what was expected, and how many were `kept`.
std::uint32_t MessageFilter::misses(bool without_messages, std::uint32_t& kept) noexcept {
  const std::uint64_t count = std::min(history_.end() - history_.begin(), kMaxLookedAt);
  const std::uint64_t from = history_.end() - count;
  expectations_.clear();
  kept = 0;
  const auto add = [&](std::uint64_t id, bool event, std::uint64_t index) {
    if (event && is_message(id) && without_messages) return;
    ++kept;
    expectations_.add(id, 2 * (index - from) >= count);
  };
  for (std::uint64_t index = from; index != history_.end(); ++index) {
    const Token& token = history_[index];
    const bool loop = token.body != kNoBody;
    if (loop && token.events < kFewIterations * bodies_[token.body].events &&
        token.events < kMaxLookedAt &&
        events_.position - token.position < RecentEvents::kSize / 2) {
      for (std::uint64_t k = 0; k != token.events; ++k)
        add(RecentEvents::symbol(events_.recent[token.position + k]), true, index);
    } else {
      add(loop ? token.id : RecentEvents::compared(token.id), !loop, index);
    }
  }
  return expectations_.misses();
}

bool MessageFilter::has_messages(std::uint32_t body) const noexcept {
  const Item* const items = bodies_.items(body);
  return std::any_of(items, items + bodies_[body].size, [&](const Item& item) {
    return item.child == kNoBody ? is_message(item.id) : bool{has_messages_[item.child]};
  });
}

void MessageFilter::outdate_bodies() noexcept {
  for (std::uint32_t body = 0; body != bodies_.size(); ++body) {
    has_messages_[body] = has_messages(body);  // inner loops have lower numbers
    if (has_messages_[body]) bodies_.outdate(body);
  }
}

// The first event of a body that is no message; kNoEvent if there is none.
std::uint64_t MessageFilter::first_kept_event(std::uint32_t body) const noexcept {
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
std::uint64_t MessageFilter::first_to_read_again() noexcept {
  std::uint64_t next = kNoEvent;  // the first event of what follows
  std::uint64_t tokens = 0;
  for (std::uint64_t index = history_.end(); index != history_.begin(); --index) {
    const Token& token = history_[index - 1];
    if (token.body == kNoBody) {
      if (!is_message(token.id)) next = token.id;
      ++tokens;
    } else {
      const bool events = has_messages_[token.body] || first_kept_event(token.body) == next;
      if (events && events_.position - token.position >= RecentEvents::kSize) return index;
      as_events_[(index - 1) & history_mask_] = events;
      tokens += events ? token.events : 1;
      next = first_kept_event(token.body);
    }
    if (tokens > kMostAgain) return index;
  }
  return history_.begin();
}

void MessageFilter::read_again(TokenDeque& pending) noexcept {
  const auto again = [&](const Token& token) {
    if (token.body == kNoBody && (token.id == kNoEvent || is_message(token.id))) return;
    pending.push_back(token);
  };
  const auto events_of = [&](const Token& token) {
    for (std::uint64_t k = 0; k != token.events; ++k) {
      const RecentEvents::Word word = events_.recent[token.position + k];
      again({.id = RecentEvents::symbol(word),
             .position = token.position + k,
             .depth = RecentEvents::depth(word)});
    }
  };
  std::uint64_t waiting = pending.size();
  for (std::uint64_t index = first_to_read_again(); index != history_.end(); ++index) {
    const Token& token = history_[index];
    const bool events = token.body != kNoBody && as_events_[index & history_mask_];
    events ? events_of(token) : again(token);
  }
  for (; waiting != 0; --waiting) {
    const Token token = pending.pop_front();
    const bool events = token.body != kNoBody && token.events <= kMostAgain &&
                        events_.position - token.position < RecentEvents::kSize;
    events ? events_of(token) : again(token);
  }
}

}  // namespace refrain::periodicity
