#include "tracer/recorder/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "tracer/recorder/descriptors.h"

namespace refrain::recorder {
namespace {

// Whether the kernel keeps its own time by the counter: it checks that it is invariant,
// runs through sleep states and agrees between the processors, and falls back if not.
bool kernel_trusts_counter() noexcept {
  const int fd = open_apart(
      AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
      O_RDONLY);
  if (fd < 0) return false;
  char text[32] = {};
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  return n > 0 &&
         std::strncmp(text, base::kCounterSource, std::strlen(base::kCounterSource)) == 0;
}

// One moment by both clocks: the reading that took the least time, for another process may have had
// the processor.
struct Moment {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
};

Moment moment() noexcept {
  Moment best;
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i != 4; ++i) {
    const std::uint64_t before = base::processor_counter();
    const std::uint64_t ns = Clock::monotonic_ns();
    const std::uint64_t took = base::processor_counter() - before;
    if (took >= least) continue;
    least = took;
    best = {before + took / 2, ns};
  }
  return best;
}

constexpr std::uint64_t kLeast_ns = 250'000;
Moment g_chosen;

}  // namespace

void Clock::choose(std::string_view wanted) noexcept {
  use_counter_ = false;
  ticks_per_second_ = 1e9;
  if (wanted == "counter" || (wanted == "auto" && kernel_trusts_counter())) {
    g_chosen = moment();
    use_counter_ = true;
  }
}

void Clock::calibrate() noexcept {
  if (!use_counter_) return;
  if (const std::uint64_t hz = base::processor_counter_hz(); hz != 0) {
    ticks_per_second_ = static_cast<double>(hz);
    return;
  }
  Moment now = moment();
  while (now.ns - g_chosen.ns < kLeast_ns) now = moment();
  ticks_per_second_ = static_cast<double>(now.ticks - g_chosen.ticks) * 1e9 /
                      static_cast<double>(now.ns - g_chosen.ns);
}

}  // namespace refrain::recorder
