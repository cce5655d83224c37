// What a thread used of the machine, as the kernel counts: cores, time in the kernel, page faults, migrations; and what of it
// tracing took.
//
// Place in the flow: read where threads and recordings end (tracer/recorder/resource_use.h), kept in the spool and the summary,
// printed by `refrain info` and `analyze`. Thread-safety: pure. Units: ns, numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::base {

// Cores by their numbers on the machine. Empty: not known.
class CoreSet {
 public:
  static constexpr std::size_t kMax = 1024;
  using Words = std::array<std::uint64_t, kMax / 64>;

  CoreSet() = default;
  explicit CoreSet(const Words& words) : words_(words) {}
  // Of text(); what is no such list gives an empty set.
  static CoreSet parse(std::string_view text);

  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  bool contains(const CoreSet& other) const noexcept;
  void add(const CoreSet& other) noexcept;
  const Words& words() const noexcept { return words_; }
  // As Linux writes it: "0-3,8".
  std::string text() const;

  auto operator<=>(const CoreSet&) const = default;

 private:
  Words words_{};
};

struct ThreadUse {
  std::uint64_t core_ns = 0;       // on a core
  std::uint64_t core_wait_ns = 0;  // ready to run, and without one; both 0: not known
  std::uint64_t kernel_ns = 0;     // of core_ns, in the kernel
  std::uint64_t page_faults = 0;
  std::uint64_t disk_faults = 0;  // page faults that waited for a disk
  std::uint64_t preemptions = 0;  // its core was taken from it
  std::uint64_t migrations = 0;   // it went on on another core
  std::uint64_t tracing_ns = 0;   // what Refrain's own work took, estimated
  std::uint64_t core_cycles = 0;  // of core_ns, in rows of iterations alone: estimated
  CoreSet cores;                  // those that it may use, at its end

  // Its numbers are added; `cores` are those of both.
  void add(const ThreadUse& other) noexcept;
  bool operator==(const ThreadUse&) const = default;
};

inline constexpr const char* kCore = "core_ns";
inline constexpr const char* kCoreWait = "core_wait_ns";
inline constexpr const char* kCoreCycles = "core_cycles";

// All numbers of it, with their names in files.
struct ThreadUseNumber {
  const char* name;
  std::uint64_t ThreadUse::*value;
};
inline constexpr std::array<ThreadUseNumber, 8> kThreadUseNumbers = {{
    {kCore, &ThreadUse::core_ns},
    {kCoreWait, &ThreadUse::core_wait_ns},
    {"kernel_ns", &ThreadUse::kernel_ns},
    {"page_faults", &ThreadUse::page_faults},
    {"disk_faults", &ThreadUse::disk_faults},
    {"preemptions", &ThreadUse::preemptions},
    {"migrations", &ThreadUse::migrations},
    {"tracing_ns", &ThreadUse::tracing_ns},
}};

// Those that rows of iterations have (summary/iteration_rows.h), with their units there.
struct RowUseNumber {
  const char* name;
  const char* unit;
  std::uint64_t ThreadUse::*value;
};
// How far two looks at them are apart at least.
inline constexpr double kRowUseApart_s = 0.01;
inline constexpr std::array<RowUseNumber, 4> kRowUse = {{
    {kCore, "ns", &ThreadUse::core_ns},
    {kCoreCycles, "#", &ThreadUse::core_cycles},
    {kCoreWait, "ns", &ThreadUse::core_wait_ns},
    {"page_faults", "#", &ThreadUse::page_faults},
}};

}  // namespace refrain::base
