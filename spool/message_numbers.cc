#include "spool/message_numbers.h"

#include <algorithm>

namespace refrain::spool {

void MessageNumbers::move(std::uint64_t from, std::uint64_t to) {
  // Numbers are given in ascending order: anything else is a damaged journal.
  if (to >= from || (!moves_.empty() && moves_.back().from >= from)) return;
  moves_.push_back({from, to, to});
}

void MessageNumbers::take_out(std::uint64_t number) { out_.push_back(number); }

void MessageNumbers::finish() {
  for (std::size_t i = moves_.size(); i-- > 1;)
    moves_[i - 1].least = std::min(moves_[i - 1].to, moves_[i].least);
  for (std::uint64_t& number : out_) number = moved(number);
  std::sort(out_.begin(), out_.end());
}

std::uint64_t MessageNumbers::moved(std::uint64_t number) const noexcept {
  auto at =
      std::lower_bound(moves_.begin(), moves_.end(), number,
                       [](const Move& move, std::uint64_t n) { return move.from < n; });
  for (; at != moves_.end() && at->least <= number; ++at) {
    if (number == at->from)
      number = at->to;
    else if (number >= at->to)
      ++number;
  }
  return number;
}

std::uint64_t MessageNumbers::right(std::uint64_t number) const noexcept {
  number = moved(number);
  const auto before = std::lower_bound(out_.begin(), out_.end(), number) - out_.begin();
  return number - static_cast<std::uint64_t>(before);
}

}  // namespace refrain::spool
