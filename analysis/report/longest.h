// The longest of any number of intervals, in memory of fixed size.
//
// Thread-safety: none. Cost: O(1) an interval, amortised; memory for twice as many as are kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace refrain::report {

// Item has length().
template <typename Item>
class Longest {
 public:
  explicit Longest(std::size_t most) : most_(most) {}

  void add(const Item& item) {
    ++seen_;
    if (items_.size() >= 2 * most_) reduce();
    if (least_ <= item.length()) items_.push_back(item);
  }
  std::uint64_t seen() const { return seen_; }
  // In no order.
  std::vector<Item> take() {
    if (items_.size() > most_) reduce();
    return std::move(items_);
  }

 private:
  void reduce() {
    const auto end = items_.begin() + static_cast<std::ptrdiff_t>(most_);
    std::ranges::nth_element(
        items_, end, [](const Item& a, const Item& b) { return a.length() > b.length(); });
    items_.erase(end, items_.end());
    for (const Item& item : items_)
      least_ = &item == items_.data() ? item.length() : std::min(least_, item.length());
  }

  std::size_t most_;
  std::uint64_t seen_ = 0;
  double least_ = 0;
  std::vector<Item> items_;
};

}  // namespace refrain::report
