#include "tracer/recorder/resource_use.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "tracer/recorder/clock.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/own_stack.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

namespace {

// A file of /proc/self/task/THREAD. Its beginning, if it is longer than the room for it.
class TaskFile {
 public:
  TaskFile(pid_t thread, const char* name) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/%s", static_cast<int>(thread),
                  name);
    const int file = open_apart(AT_FDCWD, path, O_RDONLY);
    if (file < 0) return;
    const ssize_t length = read(file, text_, sizeof text_);
    close(file);
    if (length > 0) length_ = static_cast<std::size_t>(length);
  }
  std::string_view text() const noexcept { return {text_, length_}; }

 private:
  char text_[4096];
  std::size_t length_ = 0;
};

std::string_view after_word(std::string_view text) noexcept {
  const std::size_t end = text.find(' ');
  return end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
}

std::uint64_t number_at(std::string_view text) noexcept {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Of a line "name   :   value".
std::uint64_t number_of(std::string_view text, std::string_view name) noexcept {
  std::size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  at = text.find(':', at);
  if (at == std::string_view::npos) return 0;
  at = text.find_first_not_of(": \t", at);
  return at == std::string_view::npos ? 0 : number_at(text.substr(at));
}

void add_times(base::ThreadUse& use, pid_t thread) noexcept {
  const TaskFile times(thread, "schedstat");
  use.core_ns = number_at(times.text());
  use.core_wait_ns = number_at(after_word(times.text()));
}

constexpr unsigned kAdditions = 2048;

// One after the other.
void add_up() noexcept {
#if defined(__x86_64__)
  std::uint64_t sum = 1, number = kAdditions / 8;
  asm volatile(
      "1:\n\t"
      "add %0, %0\n\tadd %0, %0\n\tadd %0, %0\n\tadd %0, %0\n\t"
      "add %0, %0\n\tadd %0, %0\n\tadd %0, %0\n\tadd %0, %0\n\t"
      "dec %1\n\tjnz 1b"
      : "+r"(sum), "+r"(number)
      :
      : "cc");
#elif defined(__aarch64__)
  std::uint64_t sum = 1, number = kAdditions / 8;
  asm volatile(
      "1:\n\t"
      "add %0, %0, %0\n\tadd %0, %0, %0\n\tadd %0, %0, %0\n\tadd %0, %0, %0\n\t"
      "add %0, %0, %0\n\tadd %0, %0, %0\n\tadd %0, %0, %0\n\tadd %0, %0, %0\n\t"
      "subs %1, %1, #1\n\tb.ne 1b"
      : "+r"(sum), "+r"(number)
      :
      : "cc");
#endif
}

}  // namespace

double cycles_per_ns() noexcept {
#if defined(__x86_64__) || defined(__aarch64__)
  std::uint64_t least = ~std::uint64_t{0}, least_clock = least;
  // The first one brings the code into the caches; any may be interrupted.
  for (int trial = 0; trial < 3; ++trial) {
    const std::uint64_t begin = Clock::now(), middle = Clock::now();
    add_up();
    const std::uint64_t end = Clock::now();
    least_clock = std::min(least_clock, middle - begin);
    least = std::min(least, end - middle);
  }
  if (least <= least_clock) return 0;
  return kAdditions * Clock::ticks_per_second() /
         (1e9 * static_cast<double>(least - least_clock));
#else
  return 0;
#endif
}

base::ThreadUse RowUseReader::read(pid_t thread, bool is_caller,
                                   std::uint64_t ticks) noexcept {
  base::ThreadUse use;
  if (thread <= 0) return use;
  rusage usage{};
  if (is_caller) {
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return use;
    use.page_faults = static_cast<std::uint64_t>(usage.ru_minflt);
  }
  const bool slept = usage.ru_nvcsw != slept_ && ticks >= next_;
  if (!is_caller || usage.ru_nivcsw != preempted_ || slept) {
    const SlowPath slow_path;
    const std::uint64_t begin = Clock::now();
    on_own_stack([&] { add_times(times_, thread); });
    // What took longer was interrupted.
    next_ = ticks + 1000 * std::min(Clock::now() - begin, Clock::ticks_of_seconds(4e-5));
    preempted_ = is_caller ? usage.ru_nivcsw : -1;
    slept_ = is_caller ? usage.ru_nvcsw : -1;
  }
  use.core_ns = times_.core_ns;
  use.core_wait_ns = times_.core_wait_ns;
  timespec on_core{};
  if (is_caller && use.core_ns != 0 &&
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &on_core) == 0)
    use.core_ns = static_cast<std::uint64_t>(on_core.tv_sec) * 1'000'000'000 +
                  static_cast<std::uint64_t>(on_core.tv_nsec);
  return use;
}

namespace {

void add_all(base::ThreadUse& use, pid_t thread) noexcept {
  add_times(use, thread);
  {
    // Behind the name, which may contain anything: state, then fields 4 and on of proc(5).
    const TaskFile stat(thread, "stat");
    std::string_view rest = stat.text();
    rest.remove_prefix(std::min(rest.size(), rest.rfind(')') + 2));
    for (int field = 3; field <= 15 && !rest.empty(); ++field, rest = after_word(rest)) {
      if (field == 10) use.page_faults = number_at(rest);
      if (field == 12) use.disk_faults = number_at(rest);
      if (field == 15)
        use.kernel_ns = number_at(rest) * 1'000'000'000 /
                        static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    }
  }
  {
    const TaskFile sched(thread, "sched");
    use.migrations = number_of(sched.text(), "nr_migrations");
    use.preemptions = number_of(sched.text(), "nr_involuntary_switches");
  }
  base::CoreSet::Words cores{};
  // Machines with more cores than there is room for: refused, and so not known.
  if (sched_getaffinity(thread, sizeof cores, reinterpret_cast<cpu_set_t*>(cores.data())) ==
      0)
    use.cores = base::CoreSet(cores);
}

}  // namespace

base::ThreadUse thread_use_of(pid_t thread) noexcept {
  const SlowPath slow_path;
  base::ThreadUse use;
  if (thread > 0) on_own_stack([&] { add_all(use, thread); });
  return use;
}

base::ThreadUse used_between(const base::ThreadUse& before,
                             const base::ThreadUse& now) noexcept {
  base::ThreadUse used;
  for (const base::ThreadUseNumber& number : base::kThreadUseNumbers) {
    if (now.*number.value < before.*number.value) return {};
    used.*number.value = now.*number.value - before.*number.value;
  }
  used.cores = now.cores;
  return used;
}

namespace {

// "NAME   NUMBER kB"; 0: there is no such line.
std::uint64_t bytes_after(std::string_view text, std::string_view name) noexcept {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  const std::size_t digit = text.find_first_of("0123456789", at + name.size());
  if (digit == std::string_view::npos) return 0;
  std::uint64_t kib = 0;
  std::from_chars(text.data() + digit, text.data() + text.size(), kib);
  return kib * 1024;
}

ProcessMemory read_memory() noexcept {
  const int file = open_apart(AT_FDCWD, "/proc/self/status", O_RDONLY);
  if (file < 0) return {};
  char text[2048];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  if (length <= 0) return {};
  const std::string_view all(text, static_cast<std::size_t>(length));
  return {bytes_after(all, "\nVmRSS:"), bytes_after(all, "\nVmHWM:"),
          bytes_after(all, "\nRssAnon:")};
}

}  // namespace

ProcessMemory process_memory() noexcept {
  const SlowPath slow_path;
  return on_own_stack(read_memory);
}

std::uint64_t process_faults() noexcept {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_minflt) +
         static_cast<std::uint64_t>(usage.ru_majflt);
}

}  // namespace refrain::recorder
