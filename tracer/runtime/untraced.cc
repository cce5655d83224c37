#include "tracer/runtime/untraced.h"

#include <atomic>

namespace refrain::runtime {
namespace {
constinit std::atomic<const char*> g_untraced_runtime{nullptr};
}  // namespace

void note_untraced_runtime(const char* path) noexcept { g_untraced_runtime.store(path); }

const char* untraced_runtime() noexcept { return g_untraced_runtime.load(); }

}  // namespace refrain::runtime
