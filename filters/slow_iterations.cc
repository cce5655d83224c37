#include "filters/slow_iterations.h"

#include <algorithm>
#include <bit>

namespace refrain::filters {

namespace {

bool before(const SlowIteration& a, const SlowIteration& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
}

// Beyond the noise that a loop has now and then on any machine.
bool far_out(const SlowIteration& slow) {
  return slow.duration_ticks / 2 >= slow.median_ticks ||
         slow.duration_ticks <= slow.median_ticks / 2;
}

}  // namespace

SlowIterations::SlowIterations(const SlowSettings& settings)
    : settings_(settings), loops_(settings.factor > 0 && settings.share > 0 ? kLoops : 0) {}

void SlowIterations::wait(const SlowIteration& iteration) noexcept {
  const DurationBand& band = entry_of(iteration.loop).band;
  SlowIteration slow = iteration;
  slow.median_ticks = band.median();
  slow.mad_ticks = band.mad();
  slow.deviation_ticks = band.deviation(iteration.duration_ticks);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_count_);
  if (waiting_count_ == kMaxWaiting) {
    // The one with the smallest deviation is replaced.
    const auto least = std::min_element(waiting_.begin(), end,
                                        [](const SlowIteration& a, const SlowIteration& b) {
                                          return a.deviation_ticks < b.deviation_ticks;
                                        });
    if (least->deviation_ticks >= slow.deviation_ticks) return;
    std::move(least + 1, end, least);
    --waiting_count_;
  }
  waiting_[waiting_count_++] = slow;
}

bool SlowIterations::worth_keeping(const SlowIteration& slow, double events,
                                   double allowed) noexcept {
  const auto own =
      static_cast<std::size_t>(std::bit_width(slow.deviation_ticks | 1) - 1) / 2;
  for (std::size_t c = 0; c <= own; ++c) {
    ++classes_[c].iterations;
    classes_[c].events += events;
  }
  const Class& so_far = classes_[own];
  const double kept = kept_events_ + events;
  const double free = kFreeShares * allowed;
  if (so_far.iterations <= kFree && so_far.events <= free / 2 && kept <= free &&
      far_out(slow))
    return true;
  const bool rare = so_far.events <= allowed / 2;
  return kept <= (rare ? allowed : allowed / 2);
}

SlowIterations::Chosen SlowIterations::choose(std::uint64_t position) noexcept {
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_count_);
  std::sort(waiting_.begin(), end, before);
  const double allowed = settings_.share * static_cast<double>(position);
  std::uint64_t written_to = 0;  // by the ones chosen so far
  auto chosen = waiting_.begin();
  for (auto slow = waiting_.begin(); slow != end; ++slow) {
    const bool inside = slow->end <= written_to;
    const bool near = slow->begin_ticks < last_end_ticks_ + settings_.apart_ticks;
    const std::uint64_t from = near ? std::min(last_end_, slow->begin) : slow->begin;
    // Its neighbours are written, too, see IterationGate.
    const double times = slow->communication ? 3 : 1;
    const double events = inside ? 0 : times * static_cast<double>(slow->end - from);
    if (!inside) {
      if (!worth_keeping(*slow, events, allowed)) continue;
      kept_events_ += events;
      written_to = slow->end;
      last_end_ = slow->end;
      last_end_ticks_ = slow->begin_ticks + slow->duration_ticks;
    }
    *chosen++ = *slow;
  }
  waiting_count_ = 0;
  return {waiting_.data(), waiting_.data() + (chosen - waiting_.begin())};
}

namespace {

constexpr std::uint32_t kWindow = DurationBand::kWindow;

// Four at a time; a comparison gives -1 where it is true.
using Four = std::int32_t __attribute__((vector_size(16)));
constexpr std::uint32_t kFours = kWindow / 4;

// The value with kWindow / 2 lesser ones, of kWindow values below 2^26. All are compared with
// all: in a search half of the comparisons would be mispredicted branches.
std::uint64_t median_of_window(const std::uint64_t* values) noexcept {
  constexpr unsigned kPlaceBits = 5;  // equal ones in the order of their places
  static_assert(kWindow == 1 << kPlaceBits);
  Four keys[kFours];
  Four lesser[kFours] = {};
  for (std::uint32_t i = 0; i != kWindow; ++i)
    keys[i / 4][i % 4] = static_cast<std::int32_t>(values[i] << kPlaceBits | i);
  for (std::uint32_t i = 0; i != kWindow; ++i) {
    const std::int32_t key = keys[i / 4][i % 4];
    const Four all = {key, key, key, key};
#pragma GCC unroll 8
    for (std::uint32_t k = 0; k != kFours; ++k) lesser[k] -= all < keys[k];
  }
  constexpr std::int32_t kHalf = kWindow / 2;
  constexpr Four kHalves = {kHalf, kHalf, kHalf, kHalf};
  Four found = {};
  for (std::uint32_t k = 0; k != kFours; ++k) found |= keys[k] & (lesser[k] == kHalves);
  const std::int32_t median = found[0] | found[1] | found[2] | found[3];
  return static_cast<std::uint64_t>(median >> kPlaceBits);
}

bool fits(const std::uint64_t* values) noexcept {
  std::uint64_t all = 0;
  for (std::uint32_t i = 0; i != kWindow; ++i) all |= values[i];
  return all >> 26 == 0;
}

// Reorders the values.
std::uint64_t median_of(std::uint64_t* values, std::uint32_t count) noexcept {
  if (count == kWindow && fits(values)) [[likely]]
    return median_of_window(values);
  std::nth_element(values, values + count / 2, values + count);
  return values[count / 2];
}

}  // namespace

void DurationBand::look_again(bool leaves, double factor, std::uint64_t noise) noexcept {
  median_ = next_median_;
  mad_ = next_mad_;
  if (leaves) {
    in_a_row_ = count_ == last_leave_ + 1 ? in_a_row_ + 1 : 1;
    last_leave_ = count_;
    if (count_ != next_ && count_ < renewed_ + kApart && in_a_row_ != kBelieved) return;
  }
  renewed_ = count_;
  next_ = count_ + kWindow;
  renew(factor, noise);
}

void DurationBand::renew(double factor, std::uint64_t noise) noexcept {
  std::uint64_t values[kWindow];
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count_, kWindow));
  std::copy_n(window_.begin(), count, values);
  const std::uint64_t median = median_of(values, count);
  for (std::uint32_t i = 0; i != count; ++i) {
    values[i] = values[i] < median ? median - values[i] : values[i] - median;
  }
  const std::uint64_t mad = std::max(median_of(values, count), median / 40);
  const double half =
      std::max(factor * static_cast<double>(mad), static_cast<double>(noise));
  low_ = half < static_cast<double>(median) ? median - static_cast<std::uint64_t>(half) : 0;
  high_ = half < 1e18 ? median + static_cast<std::uint64_t>(half) : ~std::uint64_t{0};
  next_median_ = median;
  next_mad_ = mad;
}

}  // namespace refrain::filters
