#include "periodicity/nested/open_loops.h"

namespace refrain::periodicity {

void OpenLoops::put_back(const OpenLoop& loop, std::uint64_t end, const KeptEvents& kept,
                         TokenDeque& pending) const noexcept {
  const Item* const items = bodies_.items(loop.body);
  std::uint32_t inner = inner_count_;
  for (std::uint32_t index = loop.item; index-- != 0;) {
    const Item& item = items[index];
    const std::uint64_t events = item.child == kNoBody ? 1 : inner_[--inner].events;
    if (events == 0) continue;
    if (kept.all()) {
      end -= events;
    } else {
      end = item.child == kNoBody ? kept.before(end, item.id) : inner_[inner].position;
    }
    pending.push_front({.id = item.id,
                        .position = end,
                        .events = events,
                        .body = item.child,
                        .depth = item.depth});
  }
}

}  // namespace refrain::periodicity
