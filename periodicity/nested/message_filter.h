// MessageFilter: decides whether messages come in random order and are left out, and what is then
// read again without them.
//
// Place in the flow: inside NestedDetector, which reports unexplained events to it and leaves
// messages out when it says so: once, for the rest of the stream.
// Thread-safety: none. Cost: O(1) an unexplained event; a look at the history, at most
// kMaxLookedAt tokens, each time some 24 to 4096 more events are unexplained. Allocates in
// the constructor only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "periodicity/loop_detector.h"
#include "periodicity/nested/body_store.h"
#include "periodicity/nested/token.h"
#include "periodicity/nested/token_history.h"
#include "periodicity/symbol.h"
#include "periodicity/zeroed_array.h"

namespace refrain::periodicity {

// Expectations: how often what comes is what came the last time after the same events.
//
// Place in the flow: inside MessageFilter, which compares a stream with and without its messages. Thread-safety: none. Cost: some 20 ns an event; fixed memory (64 KiB, touched
// when used).

class Expectations {
 public:
  void clear() noexcept {
    ++search_;
    latest_.fill(0);
    misses_.fill(0);
  }

  // `counted`: it counts if it is not what was expected.
  void add(std::uint64_t id, bool counted) noexcept {
    std::uint64_t key = mix(search_);
    for (std::size_t back = 0; back != latest_.size(); ++back) {
      key = mix(key ^ latest_[back]);
      if (back != 1 && back + 1 != latest_.size()) continue;
      Entry& entry = entries_[(key >> 20) % entries_.size()];
      const bool miss = entry.context != key || entry.next != id;
      if (miss && counted) ++misses_[back == 1 ? 0 : 1];
      entry = {key, id};
    }
    std::copy_backward(latest_.begin(), latest_.end() - 1, latest_.end());
    latest_[0] = id;
  }

  // Since clear(), by the better of two: after the same two events, or after the same five.
  std::uint32_t misses() const noexcept { return std::min(misses_[0], misses_[1]); }

 private:
  struct Entry {
    std::uint64_t context;
    std::uint64_t next;
  };
  ZeroedArray<Entry> entries_{4096};
  std::uint64_t search_ = 0;
  std::array<std::uint64_t, 5> latest_{};
  std::array<std::uint32_t, 2> misses_{};
};

class MessageFilter {
 public:
  // The id of a token that is no event, at which loops are left.
  static constexpr std::uint64_t kNoEvent = ~std::uint64_t{0};

  // None of the references is owned; all outlive this. `enabled`: messages may have to be left
  // out.
  MessageFilter(const ExpectedEvents& events, const TokenHistory& history,
                BodyStore& bodies, bool enabled, std::uint32_t max_bodies,
                std::uint32_t history_tokens)
      : events_(events),
        history_(history),
        bodies_(bodies),
        enabled_(enabled),
        has_messages_(enabled ? std::max(max_bodies, 16u) : 0),
        as_events_(enabled ? history_tokens : 0),
        history_mask_(history_tokens - 1) {}

  // No loop has explained the latest event, which is the last token of the history.
  void unexplained() noexcept {
    if (++unexplained_ >= next_look_ && enabled_) look();
  }

  // Messages are to be left out from the next event on.
  bool due() const noexcept { return due_; }
  void begin() noexcept { due_ = enabled_ = false; }

  // Bodies with messages are not recognised any more.
  void outdate_bodies() noexcept;
  // Appends to `pending` what is to be read again, without messages: what the history has, as far
  // back as possible, then what was pending before.
  void read_again(TokenDeque& pending) noexcept;

 private:
  static constexpr std::uint64_t kFirstLook = 24;  // unexplained events
  static constexpr std::uint64_t kLastLook = 4096;

  void look() noexcept;
  std::uint32_t misses(bool without_messages, std::uint32_t& kept) noexcept;
  bool has_messages(std::uint32_t body) const noexcept;
  std::uint64_t first_kept_event(std::uint32_t body) const noexcept;
  std::uint64_t first_to_read_again() noexcept;

  const ExpectedEvents& events_;
  const TokenHistory& history_;
  BodyStore& bodies_;
  bool enabled_;
  bool suspected_ = false;  // found once
  bool due_ = false;
  Expectations expectations_;
  std::uint64_t unexplained_ = 0;  // events that belonged to no known loop
  std::uint64_t next_look_ = kFirstLook;
  std::uint64_t pause_ = kFirstLook;
  std::vector<bool> has_messages_;  // by body
  std::vector<bool> as_events_;     // tokens of the history that are read again as events
  std::uint64_t history_mask_;
};

}  // namespace refrain::periodicity
