// What depends on the processor that Refrain is built for: its counter of time, and names of its files.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: all; also in signal handlers.
// Units: ticks of the counter. Cost: a counter reading 8.6 ns (x86-64, 2.1 GHz).
#pragma once

#include <elf.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>
#include <string_view>

namespace refrain::base {

#if defined(__x86_64__)
inline constexpr std::uint16_t kElfMachine = EM_X86_64;
inline constexpr const char* kMachine = "x86-64";
#define REFRAIN_MULTIARCH "x86_64-linux-gnu"
// What Linux calls its clock source where it keeps time by this counter.
inline constexpr std::string_view kCounterSource = "tsc";
inline constexpr const char* kCounterName = "time stamp counter";
#elif defined(__aarch64__)
inline constexpr std::uint16_t kElfMachine = EM_AARCH64;
inline constexpr const char* kMachine = "aarch64";
#define REFRAIN_MULTIARCH "aarch64-linux-gnu"
inline constexpr std::string_view kCounterSource = "arch_sys_counter";
inline constexpr const char* kCounterName = "virtual counter";
#else
#error "Refrain is for x86-64 and aarch64"
#endif

// The time stamp counter (x86-64), the virtual counter (aarch64). Neither waits for instructions before it.
inline std::uint64_t processor_counter() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

// The counter runs at one rate, in sleep states, too, as the processor says. (In a virtual machine: as its host promises.)
inline bool processor_counter_is_steady() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
#else
  return true;
#endif
}

// By its clock source Linux keeps time by the counter: it checks then that counters of all processors agree, and that they run
// through sleep states.
inline bool is_counter_source(std::string_view source) noexcept {
  return source == kCounterSource;
}
// It keeps time by the counter of a virtual machine and what the host says of it. Nobody has checked if the processors agree.
inline bool is_virtual_source(std::string_view source) noexcept {
  return (source == "kvm-clock" || source == "hyperv_clocksource_tsc_page" ||
          source == "xen") &&
         processor_counter_is_steady();
}

// Ticks in a second as the processor says them; 0: it does not.
inline std::uint64_t processor_counter_hz() noexcept {
#if defined(__x86_64__)
  return 0;
#else
  std::uint64_t hz = 0;
  asm("mrs %0, cntfrq_el0" : "=r"(hz));
  return hz;
#endif
}

}  // namespace refrain::base
