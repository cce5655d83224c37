// ForgottenEvents: how many events the ring forgot that were still wanted.
//
// Place in the flow: ThreadRecorder adds what the ring is about to overwrite although a break would
// need it; when writing is resumed it counts the loss in events.
//
// Thread-safety: none; one a recorder. No allocation: kMax cuts are remembered; where there
// were more, some between are dropped, and a count is a lower bound.
// Cost: O(1) a record that is added; only iterations larger than the ring have some.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "spool/format.h"

namespace refrain::recorder {

class ForgottenEvents {
 public:
  static constexpr std::size_t kMax = 64;

  void clear() noexcept { *this = {}; }

  // In the order of the ring. `wanted`: nothing before the last cut below it is needed any more.
  void add(const spool::Record& record, std::uint64_t wanted) noexcept {
    if (spool::is_cut(record)) add_cut(record.a48(), wanted);
    if (is_event(record)) ++events_;
  }

  // Of those that were added, how many lie at or after the first cut of `from` or later, and
  // before the first cut of `to` or later.
  std::uint64_t between(std::uint64_t from, std::uint64_t to) const noexcept {
    const std::uint64_t first = events_before(from);
    const std::uint64_t last = events_before(to);
    return last > first ? last - first : 0;
  }
  // Returns true if an earlier cut than one of `epoch` was among them: then nothing of `epoch` is
  // missing but what between() counts.
  bool knows(std::uint64_t epoch) const noexcept {
    return cuts_ != 0 && epochs_[0] < epoch;
  }

  // Copies of open regions and values of metrics belong to other records.
  static bool is_event(const spool::Record& record) noexcept {
    return (record.kind & spool::kSnapshot) == 0 && record.kind != spool::kSync &&
           record.kind != spool::kMetric;
  }

 private:
  std::uint64_t events_before(std::uint64_t epoch) const noexcept {
    for (std::size_t i = 0; i < cuts_; ++i)
      if (epochs_[i] >= epoch) return before_[i];
    return events_;
  }

  void add_cut(std::uint64_t epoch, std::uint64_t wanted) noexcept {
    if (cuts_ == kMax) drop_before(wanted);
    if (cuts_ == kMax) drop_every_second();
    epochs_[cuts_] = epoch;
    before_[cuts_++] = events_;
  }

  void drop_before(std::uint64_t wanted) noexcept {
    std::size_t first = 0;
    while (first + 1 < cuts_ && epochs_[first + 1] < wanted) ++first;
    for (std::size_t i = first; i < cuts_; ++i) move(i, i - first);
    cuts_ -= first;
  }
  void drop_every_second() noexcept {
    for (std::size_t i = 0; 2 * i < cuts_; ++i) move(2 * i, i);
    cuts_ = (cuts_ + 1) / 2;
  }
  void move(std::size_t from, std::size_t to) noexcept {
    epochs_[to] = epochs_[from];
    before_[to] = before_[from];
  }

  std::uint64_t events_ = 0;
  std::size_t cuts_ = 0;
  std::array<std::uint64_t, kMax> epochs_{};  // of cuts; ascend, where epochs do
  std::array<std::uint64_t, kMax> before_{};  // events before each
};

}  // namespace refrain::recorder
