// Event source for programs with Kokkos: its tool interface, whose functions Kokkos looks up in the library that
// KOKKOS_TOOLS_LIBS names (github.com/kokkos/kokkos, core/src/impl/Kokkos_Profiling_C_Interface.h).
//
// Place in the flow: ARCHITECTURE.md, stage 2. A kernel, fence, copy, region and section is a region as refrain.h's;
// a copy has its bytes as a parameter. Allocations are not recorded. Cost: of a region by name.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "tracer/life/lifecycle.h"
#include "tracer/runtime/live_filter.h"
#include "tracer/runtime/this_thread.h"
#include "tracer/user/user_thread.h"

namespace refrain::user {
namespace {

using runtime::Scope;

bool g_kokkos = false;  // the program is traced

// A section's name, by its number; sections may be created by any thread.
constexpr std::uint32_t kMaxSections = 4096;
constinit std::array<std::atomic<std::uint64_t>, kMaxSections> g_sections{};
constinit std::atomic<std::uint32_t> g_section_count{0};

std::uint64_t packed(RegionId id) noexcept {
  return std::uint64_t{id.name} << 32 | id.region;
}
RegionId unpacked(std::uint64_t id) noexcept {
  return {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)};
}

// Kokkos' own number of it, 0: it is not recorded.
std::uint64_t begin(const char* name, std::string_view construct) noexcept {
  if (!g_kokkos || !ready()) return 0;
  const Scope scope;
  if (!scope) return 0;
  const RegionId id =
      region_of(*scope, name == nullptr ? construct : name, {}, 0, construct);
  if (id.name == 0) {
    scope->count_loss(spool::kLossMemory);
    return 0;
  }
  begin_region(*scope, id);
  return packed(id);
}

void end(std::uint64_t id) noexcept {
  if (id == 0 || !ready()) return;
  const Scope scope;
  if (scope) end_region(*scope, unpacked(id).name);
}

// Regions and copies, which Kokkos ends without saying which.
void push(const char* name) noexcept { t_user.pushed += begin(name, "region") != 0; }
void pop() noexcept {
  if (!g_kokkos || !ready()) return;
  const Scope scope;
  if (!scope) return;
  if (t_user.pushed == 0) return scope->count_loss(spool::kLossUnmatched);
  --t_user.pushed;
  end_region(*scope, innermost_region(*scope));
}

void begin_copy(const char* to_space, const char* to, const char* from_space,
                const char* from, std::uint64_t bytes) noexcept {
  std::array<char, 512> name{};
  const bool apart = std::string_view(to_space) != from_space;
  std::snprintf(name.data(), name.size(),
                apart ? "%.200s (%.40s) <- %.200s (%.40s)" : "%.200s%.0s <- %.200s%.0s", to,
                to_space, from, from_space);
  if (begin(name.data(), "deep_copy") == 0) return;
  ++t_user.pushed;
  const Scope scope;
  if (scope)
    put_parameter(*scope, parameter_of(*scope, "bytes"), static_cast<std::int64_t>(bytes));
}

std::uint32_t new_section(const char* name) noexcept {
  if (!g_kokkos || !ready()) return kMaxSections;
  const Scope scope;
  if (!scope) return kMaxSections;
  scope->uncount_event();
  const RegionId id = region_of(*scope, name, {}, 0, "section");
  const std::uint32_t section =
      id.name == 0 ? kMaxSections : g_section_count.fetch_add(1, std::memory_order_relaxed);
  if (section >= kMaxSections) {
    scope->count_loss(spool::kLossMemory);
    return kMaxSections;
  }
  g_sections[section].store(packed(id), std::memory_order_release);
  return section;
}

RegionId section_of(std::uint32_t section) noexcept {
  return section < kMaxSections
             ? unpacked(g_sections[section].load(std::memory_order_acquire))
             : RegionId{};
}

void begin_section(RegionId id) noexcept {
  if (id.name == 0 || !ready()) return;
  const Scope scope;
  if (scope) begin_region(*scope, id);
}

void put_event(const char* name) noexcept {
  if (!g_kokkos || !ready()) return;
  const Scope scope;
  if (scope)
    put_parameter(*scope, parameter_of(*scope, "Kokkos event"), std::string_view(name));
}

}  // namespace
}  // namespace refrain::user

// Kokkos' names. Structures of its interface are passed as there.
extern "C" {

#define REFRAIN_SHOWN __attribute__((visibility("default")))

struct KokkosSpace {
  char name[64];
};
struct KokkosToolSettings {
  bool requires_global_fencing;
  bool padding[255];
};

REFRAIN_SHOWN void kokkosp_init_library(int, std::uint64_t, std::uint32_t, void*) {
  refrain::user::g_kokkos = refrain::runtime::tracing_enabled();
}
REFRAIN_SHOWN void kokkosp_finalize_library() {}
// Kernels need not wait for each other because they are traced.
REFRAIN_SHOWN void kokkosp_request_tool_settings(std::uint32_t,
                                                 KokkosToolSettings* settings) {
  settings->requires_global_fencing = false;
}

#define REFRAIN_KOKKOS_CONSTRUCT(construct)                                     \
  REFRAIN_SHOWN void kokkosp_begin_##construct(const char* name, std::uint32_t, \
                                               std::uint64_t* id) {             \
    *id = refrain::user::begin(name, #construct);                               \
  }                                                                             \
  REFRAIN_SHOWN void kokkosp_end_##construct(std::uint64_t id) { refrain::user::end(id); }
REFRAIN_KOKKOS_CONSTRUCT(parallel_for)
REFRAIN_KOKKOS_CONSTRUCT(parallel_reduce)
REFRAIN_KOKKOS_CONSTRUCT(parallel_scan)
REFRAIN_KOKKOS_CONSTRUCT(fence)
#undef REFRAIN_KOKKOS_CONSTRUCT

REFRAIN_SHOWN void kokkosp_push_profile_region(const char* name) {
  refrain::user::push(name);
}
REFRAIN_SHOWN void kokkosp_pop_profile_region() { refrain::user::pop(); }

REFRAIN_SHOWN void kokkosp_begin_deep_copy(KokkosSpace to_space, const char* to,
                                           const void*, KokkosSpace from_space,
                                           const char* from, const void*,
                                           std::uint64_t bytes) {
  refrain::user::begin_copy(to_space.name, to, from_space.name, from, bytes);
}
REFRAIN_SHOWN void kokkosp_end_deep_copy() { refrain::user::pop(); }

REFRAIN_SHOWN void kokkosp_create_profile_section(const char* name,
                                                  std::uint32_t* section) {
  *section = refrain::user::new_section(name);
}
REFRAIN_SHOWN void kokkosp_start_profile_section(std::uint32_t section) {
  refrain::user::begin_section(refrain::user::section_of(section));
}
REFRAIN_SHOWN void kokkosp_stop_profile_section(std::uint32_t section) {
  const refrain::user::RegionId id = refrain::user::section_of(section);
  if (id.name != 0) refrain::user::end(refrain::user::packed(id));
}
REFRAIN_SHOWN void kokkosp_destroy_profile_section(std::uint32_t) {}

REFRAIN_SHOWN void kokkosp_profile_event(const char* name) {
  refrain::user::put_event(name);
}

#undef REFRAIN_SHOWN
}
