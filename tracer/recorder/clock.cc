#include "tracer/recorder/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/hot_data.h"
#include "tracer/recorder/descriptors.h"

namespace refrain::recorder {
namespace {

// What Linux keeps its own time by.
struct ClockSource {
  char text[32] = {};

  ClockSource() noexcept {
    const int fd = open_apart(
        AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        O_RDONLY);
    if (fd < 0) return;
    if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
    close(fd);
    text[std::strcspn(text, "\n")] = 0;
  }
};

using Moment = Clock::Moment;

// By the reading that took the least time, for another process may have had the processor.
Moment moment() noexcept {
  Moment best;
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i != 4; ++i) {
    const std::uint64_t before = base::processor_counter();
    const std::uint64_t ns = Clock::monotonic_ns();
    const std::uint64_t took = base::processor_counter() - before;
    if (took >= least) continue;
    least = took;
    best = {before + took / 2, ns, took};
  }
  return best;
}

constexpr std::uint64_t kLeast_ns = 250'000;
Moment g_chosen;

constexpr int kVisited = 8;             // processors
constexpr double kApart_ns = 200;       // that counters may be
constexpr double kUncertain_ns = 5000;  // a moment: then nothing is known

// Goes to some of the processors that this thread may run on, and back to the first: between, all counters have to lie on one line
// with the kernel's clock.
bool processors_agree() noexcept {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  const int count = CPU_COUNT(&allowed);
  if (count < 2) return count == 1;
  const int visits = std::min(count, kVisited);
  std::array<int, kVisited> processors{};
  for (int cpu = 0, seen = 0, taken = 0; taken < visits && cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && seen++ == taken * count / visits)
      processors[taken++] = cpu;
  std::array<Moment, kVisited + 1> moments;
  bool all = true;
  for (int i = 0; i <= visits && all; ++i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[i % visits], &one);
    all = sched_setaffinity(0, sizeof one, &one) == 0;
    moments[i] = moment();
  }
  sched_setaffinity(0, sizeof allowed, &allowed);
  return all && Clock::on_one_line({moments.data(), static_cast<std::size_t>(visits) + 1});
}

}  // namespace

bool Clock::on_one_line(std::span<const Moment> moments) noexcept {
  const Moment& first = moments.front();
  const Moment& last = moments.back();
  if (last.ns <= first.ns || last.ticks <= first.ticks) return false;
  const double ticks_per_ns = static_cast<double>(last.ticks - first.ticks) /
                              static_cast<double>(last.ns - first.ns);
  const auto uncertain = [&](const Moment& m) {
    return static_cast<double>(m.took) / 2 / ticks_per_ns;
  };
  const double of_line = uncertain(first) + uncertain(last);
  return std::all_of(moments.begin(), moments.end(), [&](const Moment& m) {
    const double expected = static_cast<double>(m.ns - first.ns) * ticks_per_ns;
    const double apart_ns =
        std::abs(static_cast<double>(static_cast<std::int64_t>(m.ticks - first.ticks)) -
                 expected) /
        ticks_per_ns;
    return uncertain(m) < kUncertain_ns && apart_ns < kApart_ns + of_line + uncertain(m);
  });
}

constinit REFRAIN_HOT_DATA bool Clock::use_counter_ = false;

void Clock::choose(std::string_view wanted) noexcept {
  use_counter_ = false;
  ticks_per_second_ = 1e9;
  bool counter = wanted == "counter";
  if (wanted == "auto") {
    const ClockSource source;
    counter = base::is_counter_source(source.text) ||
              (base::is_virtual_source(source.text) && processors_agree());
  }
  if (counter) {
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
