#include "tracer/ompt/helper_threads.h"

#include <link.h>

#include <atomic>
#include <utility>

#include "tracer/ompt/callbacks.h"

namespace refrain::ompt {
namespace {

// The code of the runtime; empty: not known, or that of the program, too.
std::uint64_t g_code_begin = 0;
std::uint64_t g_code_bytes = 0;
ompt_set_callback_t g_set_callback = nullptr;
std::atomic<bool> g_any_helper{false};

struct ModuleSearch {
  std::uint64_t inside;
  bool program = true;  // comes first
};

int find_module(dl_phdr_info* info, std::size_t, void* data) noexcept {
  auto& search = *static_cast<ModuleSearch*>(data);
  const bool program = std::exchange(search.program, false);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || search.inside - begin >= header.p_memsz) continue;
    if (program) return 1;
    g_code_begin = begin & spool::kAddressMask;
    g_code_bytes = header.p_memsz;
    return 1;
  }
  return 0;
}

}  // namespace

void find_runtime(const void* inside) noexcept {
  ModuleSearch search{reinterpret_cast<std::uint64_t>(inside)};
  dl_iterate_phdr(find_module, &search);
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
