#include "tracer/mpi/posting_order.h"

#include <algorithm>
#include <new>

#include "tracer/mpi/tables_failed.h"

namespace refrain::mpi {

std::uint64_t PostingOrder::open() noexcept {
  try {
    open_.push_back(last_ + 1);
  } catch (const std::bad_alloc&) {
    g_tables_failed.store(true);
    return 0;
  }
  return ++last_;
}

void PostingOrder::post(const ChannelEnd& channel) noexcept {
  if (idle()) return;
  try {
    std::vector<std::uint64_t>& places = posted_[channel];
    make_room(places);
    places.push_back(last_ + 1);
    ++last_;
  } catch (const std::bad_alloc&) {
    g_tables_failed.store(true);
  }
}

std::uint64_t PostingOrder::close(std::uint64_t place, const ChannelEnd& channel) noexcept {
  if (place == 0) return 0;
  std::uint64_t later = 0;
  try {
    std::vector<std::uint64_t>& places = posted_[channel];
    make_room(places);
    const auto at = std::upper_bound(places.begin(), places.end(), place);
    later = static_cast<std::uint64_t>(places.end() - at);
    places.insert(at, place);
  } catch (const std::bad_alloc&) {
    g_tables_failed.store(true);
  }
  drop(place);
  return later;
}

void PostingOrder::drop(std::uint64_t place) noexcept {
  const auto at = std::lower_bound(open_.begin(), open_.end(), place);
  if (at != open_.end() && *at == place) open_.erase(at);
  if (idle()) posted_.clear();
}

// Receives posted before all that are open are not needed any more.
void PostingOrder::make_room(std::vector<std::uint64_t>& places) const noexcept {
  if (places.size() < kMax) return;
  const auto used = std::lower_bound(places.begin(), places.end(), open_.front());
  const auto half = places.begin() + static_cast<std::ptrdiff_t>(kMax / 2);
  places.erase(places.begin(), std::max(used, half));
}

}  // namespace refrain::mpi
