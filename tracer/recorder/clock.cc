#include "tracer/recorder/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace refrain::recorder {
namespace {

// Whether the kernel keeps its own time by the counter: it checks that it is invariant,
// runs through sleep states and agrees between the processors, and falls back if not.
bool kernel_trusts_tsc() noexcept {
#if defined(__x86_64__)
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[16] = {};
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  return n > 0 && std::strncmp(text, "tsc", 3) == 0;
#else
  return false;
#endif
}

#if defined(__x86_64__)
double calibrate_tsc() noexcept {
  const std::uint64_t ns0 = Clock::monotonic_ns();
  const std::uint64_t ticks0 = __builtin_ia32_rdtsc();
  std::uint64_t ns1 = ns0;
  while (ns1 - ns0 < 1'000'000) ns1 = Clock::monotonic_ns();
  const std::uint64_t ticks1 = __builtin_ia32_rdtsc();
  return static_cast<double>(ticks1 - ticks0) * 1e9 / static_cast<double>(ns1 - ns0);
}
#endif

}  // namespace

void Clock::choose(std::string_view wanted) noexcept {
  use_tsc_ = false;
  ticks_per_second_ = 1e9;
#if defined(__x86_64__)
  if (wanted == "tsc" || (wanted == "auto" && kernel_trusts_tsc())) {
    ticks_per_second_ = calibrate_tsc();
    use_tsc_ = true;
  }
#endif
}

}  // namespace refrain::recorder
