#include "tracer/counters/thread_usage.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <string>

namespace refrain::counters {
namespace {

constexpr UsageInfo kTable[] = {
    {"page_faults", "#", Usage::kFaults},
    {"minor_faults", "#", Usage::kMinorFaults},
    {"major_faults", "#", Usage::kMajorFaults},
    {"context_switches", "#", Usage::kSwitches},
    {"voluntary_switches", "#", Usage::kVoluntarySwitches},
    {"involuntary_switches", "#", Usage::kInvoluntarySwitches},
    {"migrations", "#", Usage::kMigrations},
    {"user_time", "ns", Usage::kUserTime},
    {"system_time", "ns", Usage::kSystemTime},
};

std::uint64_t ns_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_usec) * 1000u;
}

int open_sched() noexcept {
  return recorder::open_apart(AT_FDCWD, "/proc/thread-self/sched", O_RDONLY);
}

}  // namespace

std::span<const UsageInfo> usage_table() { return kTable; }

ThreadUsage::~ThreadUsage() { recorder::drop_descriptor(sched_, file_); }

bool ThreadUsage::open(Usage usage) noexcept {
  if (usage != Usage::kMigrations) return rusage_ = true;
  if (migrations_) return true;
  sched_ = recorder::keep_descriptor(open_sched());
  recorder::identify(sched_, file_);
  return migrations_ = read_migrations();
}

// Where the program has closed the descriptor it is opened again, and not kept.
bool ThreadUsage::read_migrations() noexcept {
  recorder::FileIdentity now;
  const bool kept = recorder::identify(sched_, now) && now == file_;
  const int file = kept ? sched_ : open_sched();
  if (file < 0) return false;
  char text[4096];
  const ssize_t bytes = pread(file, text, sizeof text, 0);
  if (!kept) close(file);
  if (bytes <= 0) return false;
  const std::string_view all(text, static_cast<std::size_t>(bytes));
  std::size_t at = all.find("nr_migrations");
  if (at != std::string_view::npos) at = all.find_first_of("0123456789", all.find(':', at));
  if (at == std::string_view::npos) return false;
  std::uint64_t value = 0;
  std::from_chars(all.data() + at, all.data() + all.size(), value);
  values_[static_cast<std::size_t>(Usage::kMigrations)] = value;
  return true;
}

void ThreadUsage::read() noexcept {
  if (migrations_) read_migrations();
  rusage usage{};
  if (!rusage_ || getrusage(RUSAGE_THREAD, &usage) != 0) return;
  const auto set = [this](Usage which, std::uint64_t value) {
    values_[static_cast<std::size_t>(which)] = value;
  };
  set(Usage::kFaults, static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt));
  set(Usage::kMinorFaults, static_cast<std::uint64_t>(usage.ru_minflt));
  set(Usage::kMajorFaults, static_cast<std::uint64_t>(usage.ru_majflt));
  set(Usage::kSwitches, static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw));
  set(Usage::kVoluntarySwitches, static_cast<std::uint64_t>(usage.ru_nvcsw));
  set(Usage::kInvoluntarySwitches, static_cast<std::uint64_t>(usage.ru_nivcsw));
  set(Usage::kUserTime, ns_of(usage.ru_utime));
  set(Usage::kSystemTime, ns_of(usage.ru_stime));
}

std::uint64_t ThreadUsage::value(Usage usage) const noexcept {
  return values_[static_cast<std::size_t>(usage)];
}

}  // namespace refrain::counters
