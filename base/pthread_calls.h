// What regions of POSIX threads wait for, by their names as Refrain and Score-P write them: "pthread_mutex_lock @a.c:5".
//
// Place in the flow: for who reads archives and summaries; regions of the paradigm PTHREAD only. Pure. Cost: some comparisons.
#pragma once

#include <cstdint>
#include <string_view>

namespace refrain::base {

enum class PthreadCall : std::uint8_t {
  kOther,      // waits for nothing: makes threads, gives locks back
  kLock,       // also the region inside, of who has it
  kCondition,  // a condition, semaphore or barrier
  kJoin
};

// The region inside of a wait for a lock: "held by worker".
inline constexpr std::string_view kHeldBy = "held by ";

constexpr PthreadCall pthread_call(std::string_view region) noexcept {
  if (region.starts_with(kHeldBy)) return PthreadCall::kLock;
  const std::string_view name = region.substr(0, region.find(" @"));
  for (const std::string_view end : {"_lock", "_rdlock", "_wrlock"})
    if (name.ends_with(end)) return PthreadCall::kLock;
  for (const std::string_view end : {"_wait", "_timedwait"})
    if (name.ends_with(end)) return PthreadCall::kCondition;
  return name.ends_with("_join") ? PthreadCall::kJoin : PthreadCall::kOther;
}

}  // namespace refrain::base
