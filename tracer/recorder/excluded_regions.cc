#include "tracer/recorder/excluded_regions.h"

#include <atomic>

namespace refrain::recorder {
namespace {

constinit std::atomic<IsExcluded> g_asked{nullptr};

}  // namespace

void set_excluded(IsExcluded asked) noexcept {
  g_asked.store(asked, std::memory_order_release);
}

bool is_excluded(spool::CallKey key, std::uint64_t team) noexcept {
  // Acquire: pairs with the store above; what is asked is ready.
  const IsExcluded asked = g_asked.load(std::memory_order_acquire);
  return asked != nullptr && key.what != 0 && key.what != spool::kOtherRegions &&
         asked(key, team);
}

}  // namespace refrain::recorder
