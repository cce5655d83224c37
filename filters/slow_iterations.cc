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

}  // namespace refrain::filters
