#include "tracer/ompt/helper_threads.h"

#include <atomic>

#include "tracer/ompt/callbacks.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/runtime/search_order.h"

namespace refrain::ompt {
namespace {

// The code of the runtime; empty: not known, or that of the program, too.
std::uint64_t g_code_begin = 0;
std::uint64_t g_code_bytes = 0;
ompt_set_callback_t g_set_callback = nullptr;
std::atomic<bool> g_any_helper{false};
std::atomic<const void*> g_inside{nullptr};

}  // namespace

const void* runtime_code() noexcept { return g_inside.load(); }

void find_runtime(const void* inside) noexcept {
  g_inside.store(inside);
  recorder::attempted([inside] {
    const runtime::SearchOrder files;
    const runtime::SearchOrder::File* const file = files.file_at(inside);
    if (file == nullptr || file->name.empty()) return;  // the program itself
    g_code_begin = file->begin & spool::kAddressMask;
    g_code_bytes = file->end - file->begin;
  });
}

bool is_runtime_code(std::uint64_t address) noexcept {
  return address - g_code_begin < g_code_bytes;
}

void watch_helpers(ompt_set_callback_t set) noexcept { g_set_callback = set; }

// Their barrier begins when the callbacks have been changed: they come to it from this call.
void become_helper(recorder::ThreadRecorder& recorder) noexcept {
  recorder.uncount_event();  // there is no record of it
  if (t_state.helper) return;
  t_state.helper = true;
  recorder.header().role = spool::kRoleHelper;
  if (!g_any_helper.exchange(true)) set_callbacks_with_helpers(g_set_callback);
}

}  // namespace refrain::ompt
