// What the system counts of a thread: page faults, context switches, migrations, times.
//
// Place in the flow: ARCHITECTURE.md, stage 2, beside counters.cc. Values are those since the
// thread began, as getrusage and the scheduler have them.
// Thread-safety: the thread itself. Cost: a system call or two a read, some hundred
// nanoseconds; migrations a read of a file, some microseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tracer/recorder/descriptors.h"

namespace refrain::counters {

enum class Usage : std::uint8_t {
  kFaults,  // minor and major
  kMinorFaults,
  kMajorFaults,
  kSwitches,  // voluntary and not
  kVoluntarySwitches,
  kInvoluntarySwitches,
  kMigrations,
  kUserTime,    // ns
  kSystemTime,  // ns
};
inline constexpr std::size_t kUsages = 9;

struct UsageInfo {
  const char* name;
  const char* unit;
  Usage usage;
};
std::span<const UsageInfo> usage_table();

class ThreadUsage {
 public:
  ~ThreadUsage();
  // Reads what is asked for next. False: it cannot be known here.
  bool open(Usage usage) noexcept;
  void read() noexcept;
  std::uint64_t value(Usage usage) const noexcept;

 private:
  bool read_migrations() noexcept;

  bool migrations_ = false;
  int sched_ = -1;  // file that has them; -1: is opened each time
  recorder::FileIdentity file_;
  bool rusage_ = false;
  std::uint64_t values_[kUsages] = {};
};

}  // namespace refrain::counters
