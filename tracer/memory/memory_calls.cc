#include "tracer/memory/memory_calls.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "tracer/memory/block_table.h"
#include "tracer/memory/memory_api.h"
#include "tracer/memory/memory_table.h"
#include "tracer/recorder/clock.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/sampler/stack_walk.h"

extern "C" void* __libc_stack_end;  // glibc's: where the stack of the process begins

namespace refrain::memory {

// As recorder::t_own_code. No constructor, no destructor: blocks go back until a thread's very end.
struct OfThread {
  std::uint32_t shard;         // plus one; 0: not known
  std::uintptr_t stack_begin;  // as far as it is known to be mapped
  std::uintptr_t stack_end;    // 0: not known
  ThreadAllocations allocations;
};
extern constinit thread_local OfThread t_memory __attribute__((tls_model("initial-exec")));
constinit thread_local OfThread t_memory{};

namespace {

using base::AllocationCall;
using recorder::OwnCode;

constinit MemoryTable g_memory_table;
constinit BlockTable g_blocks;
constinit std::atomic<State> g_memory_state{State::kNotAsked};
constinit std::atomic<bool> g_attached{false};
constinit std::atomic<bool> g_kept{false};         // in a file; the clock is known
constinit std::atomic<bool> g_memory_left{false};  // this is a forked child
constinit std::atomic<std::uint32_t> g_threads{0};
constinit std::uint64_t g_from_bytes = 0;

// As the setting has been checked by who started the program: digits, perhaps with a fraction, and a unit. 0: off.
std::uint64_t size_of_text(const char* text) noexcept {
  double value = 0, scale = 1;
  for (; (*text >= '0' && *text <= '9') || *text == '.'; ++text) {
    if (*text == '.') {
      scale = 0.1;
    } else if (scale == 1) {
      value = value * 10 + (*text - '0');
    } else {
      value += scale * (*text - '0');
      scale /= 10;
    }
  }
  constexpr const char* kUnits = "kmgt";
  for (unsigned i = 0; i != 4; ++i)
    if ((*text | 0x20) == kUnits[i])
      value *= static_cast<double>(std::uint64_t{1} << 10 * (i + 1));
  return value >= 9e18 ? 0 : static_cast<std::uint64_t>(value);
}

// What the settings say is known when a session starts. Here, perhaps before the program's own memory is ready, nothing may be
// allocated.
__attribute__((noinline, cold)) bool ask() {
  static constinit std::atomic<bool> asking{false};
  if (environ == nullptr || asking.exchange(true)) return false;
  const recorder::KeepErrno keep_errno;
  const char* const text = std::getenv("REFRAIN_MEMORY");
  g_from_bytes = text == nullptr ? 0 : size_of_text(text);
  const bool on = g_from_bytes != 0 && g_memory_table.make(g_from_bytes);
  State before = State::kNotAsked;
  g_memory_state.compare_exchange_strong(before, on ? State::kOn : State::kOff);
  return on;
}

void attach() { g_attached.store(true); }

spool::MemoryShard& own_shard() noexcept {
  std::uint32_t& number = t_memory.shard;
  if (number == 0) [[unlikely]]
    number = 1 + g_threads.fetch_add(1, std::memory_order_relaxed) % spool::kMemoryShards;
  return g_memory_table.shard(number - 1);
}

std::uint64_t now() noexcept {
  return g_kept.load(std::memory_order_relaxed) ? recorder::Clock::now() : 0;
}

// What is mapped of the calling thread's stack, from here outwards. Asked for without the C library, whose pthread_getattr_np() allocates
// with the thread's lock in its hands. On another stack (a handler's, a coroutine's): both 0.
sampler::StackBounds own_stack() noexcept {
  constexpr std::uintptr_t kMost = std::uintptr_t{256} << 20;
  constexpr std::uintptr_t kFurtherIn = 16 << 10;  // what is called from here needs less
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  OfThread& thread = t_memory;
  if (thread.stack_end == 0) {
    // That of a thread ends at what the C library has of it.
    thread.stack_end = reinterpret_cast<std::uintptr_t>(
        syscall(SYS_gettid) == syscall(SYS_getpid) ? __libc_stack_end
                                                   : __builtin_thread_pointer());
    thread.stack_begin = thread.stack_end;
  }
  if (here >= thread.stack_end || thread.stack_end - here > kMost) return {};
  if (here < thread.stack_begin) [[unlikely]] {
    const std::uintptr_t page = here & ~(std::uintptr_t{getauxval(AT_PAGESZ)} - 1);
    // Fails if there is a hole, and does nothing else.
    if (syscall(SYS_msync, page, thread.stack_begin - page, MS_ASYNC) != 0) return {};
    thread.stack_begin = page;
  }
  return {thread.stack_begin - kFurtherIn, thread.stack_end};
}

__attribute__((noinline)) void follow(void* block, std::size_t bytes,
                                      const void* returns_to) noexcept {
  const recorder::KeepErrno keep_errno;
  std::array<std::uint64_t, spool::kMemoryFrames> frames;
  const sampler::Walk walk =
      sampler::walk_callers(reinterpret_cast<std::uint64_t>(returns_to), own_stack(),
                            frames.data(), spool::kMemoryFrames);
  const std::uint32_t path = g_memory_table.find({frames.data(), walk.count});
  if (!g_blocks.put(block, {bytes, path})) return g_memory_table.untracked(path, bytes);
  g_memory_table.allocated(path, bytes, now());
}

void small(spool::MemoryShard& shard, std::int64_t bytes) noexcept {
  if (MemoryTable::small(shard, bytes)) [[unlikely]]
    g_memory_table.hand_over(shard, now());
}

void count_call(spool::MemoryShard& shard, AllocationCall call) noexcept {
  shard.calls[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed);
}

void allocated(AllocationCall call, void* block, std::size_t bytes, std::size_t usable,
               const void* returns_to) {
  if (OwnCode::is_here()) return;
  spool::MemoryShard& shard = own_shard();
  count_call(shard, call);
  spool::MemoryShard::Size& size = shard.sizes[base::size_class(bytes)];
  size.calls.fetch_add(1, std::memory_order_relaxed);
  size.bytes.fetch_add(bytes, std::memory_order_relaxed);
  ++t_memory.allocations.calls;
  t_memory.allocations.bytes += bytes;
  if (usable < g_from_bytes) [[likely]]
    return small(shard, static_cast<std::int64_t>(usable));
  // So that its high-water mark has this thread's small blocks.
  g_memory_table.hand_over(shard, now());
  follow(block, bytes, returns_to);
}

void failed(AllocationCall call) {
  if (OwnCode::is_here()) return;
  spool::MemoryShard& shard = own_shard();
  count_call(shard, call);
  shard.failed.fetch_add(1, std::memory_order_relaxed);
}

// What was followed goes back, whoever gives it.
void released(AllocationCall call, void* block, std::size_t usable, Released* what) {
  const bool own = OwnCode::is_here();
  spool::MemoryShard& shard = own_shard();
  if (!own) {
    if (call == AllocationCall::kFree) count_call(shard, call);
    shard.released.fetch_add(1, std::memory_order_relaxed);
  }
  if (usable < g_from_bytes) [[likely]] {
    if (own) return;
    *what = {.bytes = usable, .path = 0, .known = false, .small = true};
    return small(shard, -static_cast<std::int64_t>(usable));
  }
  KnownBlock known;
  if (!g_blocks.take(block, known)) {
    if (!own) shard.unknown_frees.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (own) shard.released.fetch_add(1, std::memory_order_relaxed);
  *what = {.bytes = known.bytes, .path = known.path, .known = true, .small = false};
  g_memory_table.released(known.path, known.bytes);
}

void kept(void* block, const Released* what) {
  const recorder::KeepErrno keep_errno;
  spool::MemoryShard& shard = own_shard();
  if (what->small || what->known) shard.released.fetch_sub(1, std::memory_order_relaxed);
  if (what->small) small(shard, static_cast<std::int64_t>(what->bytes));
  if (!what->known) return;
  if (g_blocks.put(block, {what->bytes, what->path}))
    g_memory_table.kept(what->path, what->bytes);
  else
    g_memory_table.header().untracked.fetch_add(1, std::memory_order_relaxed);
}

constexpr Api kMemoryApi = {&g_memory_state, ask,      attach, allocated,
                            failed,          released, kept};

}  // namespace

std::string start(const std::string& path) {
  State state = g_memory_state.load();
  if (state == State::kNotAsked && ask()) state = State::kOn;
  if (!g_attached.load())
    return "another allocator comes first (the program's own, a sanitizer's), or "
           "librefrain_memory.so is not loaded";
  if (state == State::kOff) return g_memory_left.load() ? "" : "no memory left";
  const recorder::SlowPath slow_path;
  const recorder::NoLowDescriptors no_low_descriptors;
  std::string error = g_memory_table.move_to(path);
  if (error.empty()) g_kept.store(true);
  return error;
}

void stop() noexcept {
  if (!g_kept.load()) return;
  g_memory_state.store(State::kOff);
  g_memory_table.header().ended.store(1);
}

void abandon() noexcept {
  g_memory_state.store(State::kOff);
  g_memory_left.store(true);
  g_kept.store(false);
  g_memory_table.leave_file();
}

ThreadAllocations thread_allocations() noexcept { return t_memory.allocations; }

bool counts_allocations() noexcept {
  return g_attached.load() && g_memory_state.load() == State::kOn;
}

}  // namespace refrain::memory

// What librefrain_memory.so looks for.
extern "C" __attribute__((visibility("default"))) const refrain::memory::Api*
refrain_memory_api() {
  return &refrain::memory::kMemoryApi;
}
