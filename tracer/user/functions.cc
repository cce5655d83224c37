// Functions: what gcc, clang and gfortran call at the start and end of each with
// -finstrument-functions.
//
// Place in the flow: ARCHITECTURE.md, stage 2. A function is known by its address; the writer of
// the archive names it. Whether the filter file excludes a function is asked once for each; those
// that are called too often for what they do are switched off (filters/settings.h:
// function_calls, function_mean), which is reported to the journal at once.
// Each thread keeps the functions that it is in (functions.h): what is unwound without notice is
// ended when that is detected, with the time of then.
//
// Thread-safety: any thread; what comes while a thread's recorder is busy is counted as lost.
// Cost: of a recorded call two time stamps and two records; of one that is switched off or
// filtered a look into a table of the thread's own.
#include "tracer/user/functions.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "base/thread_end.h"
#include "tracer/life/lifecycle.h"
#include "tracer/recorder/clock.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/code_address.h"
#include "tracer/runtime/live_filter.h"
#include "tracer/user/user_thread.h"

namespace refrain::user {
namespace {

using recorder::Clock;
using recorder::ThreadRecorder;
using runtime::g_session;
using runtime::Scope;
using runtime::t_thread;

constinit FunctionTable g_functions;
constinit OffRule g_rule;
enum class Wanted : std::uint8_t { kUnknown, kYes, kNo };
constinit std::atomic<Wanted> g_wanted{Wanted::kUnknown};

}  // namespace

// The calls of a function that ended on this thread and that the table does not know of yet.
struct Recent {
  std::uint64_t address = 0;
  Function* function = nullptr;
  std::uint64_t calls = 0;
  std::uint64_t ticks = 0;
};

struct Begun {
  Function* function;
  std::uint64_t ticks;
  std::uint32_t depth;  // of the recorder's stack before it
  bool recorded;
};

// A thread's own. Made at its first function, freed at its end.
struct FunctionThread {
  static constexpr std::size_t kRecent = 256;
  static constexpr std::uint64_t kReportEvery = 64;  // calls

  CallStack<Begun> stack;
  std::uint32_t low = 0;     // depth at and below which a symbol begins an epoch
  std::uint32_t lowest = 0;  // of the latest symbols
  std::uint32_t symbols = 0;
  Recent recent[kRecent];

  Recent& of(std::uint64_t address) noexcept {
    Recent& slot = recent[address * 0x9E3779B97F4A7C15u >> 56];
    if (slot.address == address) [[likely]]
      return slot;
    if (slot.function != nullptr && slot.calls != 0)
      FunctionTable::add(*slot.function, slot.calls, slot.ticks, {});
    slot = {address, g_functions.find(address), 0, 0};
    return slot;
  }
};

// As runtime::t_thread.
extern constinit thread_local FunctionThread* t_functions
    __attribute__((tls_model("initial-exec")));
constinit thread_local FunctionThread* t_functions = nullptr;

namespace {

constinit base::ThreadEnd g_thread_end([](void* thread) {
  t_functions = nullptr;
  std::free(thread);
});

// --- The rare parts ---------------------------------------------------------------------

__attribute__((noinline, cold)) bool want() noexcept {
  if (!runtime::tracing_enabled() || !runtime::wanted_settings().functions) {
    g_wanted.store(Wanted::kNo);
    return false;
  }
  if (!ready()) return false;
  const filters::Settings& settings = g_session->settings();
  g_rule = {settings.function_calls, Clock::ticks_of_seconds(settings.function_mean_s)};
  g_wanted.store(Wanted::kYes);
  return true;
}

__attribute__((noinline, cold)) FunctionThread* make_thread() noexcept {
  if (!ready()) return nullptr;
  const recorder::SlowPath slow_path;
  void* memory = std::calloc(1, sizeof(FunctionThread));
  if (memory == nullptr) return nullptr;
  t_functions = new (memory) FunctionThread;
  g_thread_end.set(memory);
  return t_functions;
}

__attribute__((noinline, cold)) FunctionState look_at(Function& function) noexcept {
  const bool out = runtime::filter_excludes_function(function.key());
  FunctionState now = FunctionState::kNew;
  function.value.state.compare_exchange_strong(
      now, out ? FunctionState::kFiltered : FunctionState::kRecorded);
  return function.value.state.load();
}

std::string hex(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

__attribute__((noinline, cold)) void report_off(const ThreadRecorder& recorder,
                                                const Function& function) noexcept {
  const recorder::SlowPath slow_path;
  try {
    g_session->put_fact(&recorder, spool::kTextFunctions,
                        hex(function.key()) + " " + hex(function.value.calls.load()) + " " +
                            hex(function.value.ticks.load()));
  } catch (const std::exception&) {  // no memory: it is off, and that is not reported
  }
}

// --- Enter and leave ----------------------------------------------------------------------

// Returns true if a symbol here begins an epoch, which costs a record for each open region. Iterations
// begin where fewest are open: what lies deeper than the recent minimum needs none.
bool begins_epoch(FunctionThread& thread, std::uint32_t depth) noexcept {
  constexpr std::uint32_t kShallow = 4;
  constexpr std::uint32_t kWindow = 256;
  thread.lowest = thread.symbols == 0 ? depth : std::min(thread.lowest, depth);
  if (++thread.symbols == kWindow) {
    thread.low = thread.lowest;
    thread.symbols = 0;
  }
  if (depth < thread.low) thread.low = depth;
  return depth <= kShallow || depth <= thread.low;
}

void symbol(FunctionThread& thread, ThreadRecorder& recorder, std::uint64_t address,
            std::uint64_t ticks, std::uint8_t& cut, std::uint64_t& epoch) noexcept {
  const bool outside = t_thread.teams_open == 0;
  if (!g_session->function_symbols() || !feeds(recorder)) {
    if (outside) keep_up(recorder, ticks);
    return;
  }
  if (g_session->in_phase()) return;
  if (outside && begins_epoch(thread, recorder.depth())) {
    cut = g_session->begin_epoch(recorder, ticks);
    epoch = recorder.epoch();
  }
  const auto place = runtime::make_symbol(spool::kFunctionEnter, 0, address);
  g_session->on_symbol(recorder, place, place, ticks);
}

// The innermost function is over.
void finish(FunctionThread& thread, ThreadRecorder& recorder,
            std::uint64_t ticks) noexcept {
  const auto call = thread.stack.pop();
  const Begun& begun = call.payload;
  if (!begun.recorded) return;
  // Not if the end of what is around it has ended it.
  if (recorder.depth() <= begun.depth) return;
  const spool::Record& open = recorder.open_region(begun.depth);
  if (open.kind != spool::kFunctionEnter || open.payload != call.function) return;
  while (recorder.depth() > begun.depth + 1) {
    const spool::Record* top = recorder.top();
    if (top->kind != spool::kUserEnter && top->kind != spool::kFunctionEnter) return;
    recorder.end(spool::record_words(top->kind + 1, ticks, top->payload));
  }
  recorder.end(spool::record_words(spool::kFunctionLeave, ticks, call.function));
}

void enter(FunctionThread& thread, Function& function, std::uint64_t address,
           std::uintptr_t frame, std::uintptr_t site) noexcept {
  const Scope scope;
  if (!scope) return;
  ThreadRecorder& recorder = *scope;
  const std::uint64_t ticks = Clock::now();
  while (thread.stack.begin_ends_top(frame, site)) finish(thread, recorder, ticks);
  const std::uint32_t depth = recorder.depth();
  const bool fits = depth < spool::kMaxDepth;
  if (!thread.stack.push({address, frame, site, {&function, ticks, depth, fits}}) || !fits)
    return recorder.count_loss(spool::kLossDepth);
  std::uint8_t cut = 0;
  std::uint64_t epoch = 0;
  symbol(thread, recorder, address, ticks, cut, epoch);
  recorder.begin(spool::record_words(spool::kFunctionEnter, ticks, address, cut, epoch));
}

void leave(FunctionThread& thread, Recent& recent, std::uint64_t address,
           std::uintptr_t frame, std::uintptr_t site, bool tail) noexcept {
  const Scope scope;
  if (!scope) return;
  ThreadRecorder& recorder = *scope;
  std::size_t ended = thread.stack.ended_by(address, frame, site, tail);
  if (ended == 0) return scope->uncount_event();  // it began before we looked
  const std::uint64_t ticks = Clock::now();
  while (--ended != 0) finish(thread, recorder, ticks);
  const std::uint64_t begin = thread.stack.top().payload.ticks;
  finish(thread, recorder, ticks);
  if (g_session->primary().is(&recorder)) {
    if (g_session->function_symbols() && !g_session->in_phase() && in_order(recorder))
      g_session->on_symbol_end(ticks, recorder.depth());
  } else if (t_thread.teams_open == 0) {
    keep_up(recorder, ticks);
  }
  recent.ticks += ticks - begin;
  if (++recent.calls < FunctionThread::kReportEvery) return;
  Function& function = *recent.function;
  const bool off = FunctionTable::add(function, recent.calls, recent.ticks, g_rule);
  recent.calls = recent.ticks = 0;
  if (off) report_off(recorder, function);
}

}  // namespace

FunctionThread* function_thread() noexcept {
  const Wanted wanted = g_wanted.load(std::memory_order_relaxed);
  if (wanted == Wanted::kNo) return nullptr;
  // An allocator that is instrumented itself is called by what we do, too.
  if (recorder::OwnCode::is_here()) return nullptr;
  if (wanted != Wanted::kYes && !want()) return nullptr;
  FunctionThread* thread = t_functions;
  if (thread == nullptr) [[unlikely]] {
    thread = make_thread();
    if (thread == nullptr) return nullptr;
  }
  if (!g_session->state().recording()) return nullptr;
  // Its recorder went with the end of OpenMP's part of the thread, or is another's now.
  if (t_thread.recorder == nullptr) [[unlikely]] {
    thread->stack.clear();
    if (!ready()) return nullptr;
  }
  return thread;
}

void function_begins(FunctionThread& thread, std::uint64_t address, std::uintptr_t frame,
                     std::uintptr_t site) noexcept {
  const Recent& recent = thread.of(address);
  if (recent.function == nullptr) return;  // the table is full
  FunctionState state = recent.function->value.state.load(std::memory_order_relaxed);
  if (state == FunctionState::kNew) [[unlikely]]
    state = look_at(*recent.function);
  if (state != FunctionState::kRecorded) return;
  enter(thread, *recent.function, address, frame, site);
}

void function_ends(FunctionThread& thread, std::uint64_t address, std::uintptr_t frame,
                   std::uintptr_t site, bool tail) noexcept {
  Recent& recent = thread.of(address);
  if (recent.function == nullptr) return;
  // One that was switched off may have begun before.
  if (recent.function->value.state.load(std::memory_order_relaxed) !=
          FunctionState::kRecorded &&
      (thread.stack.empty() || thread.stack.top().function != address))
    return;
  leave(thread, recent, address, frame, site, tail);
}

}  // namespace refrain::user

// The stack pointer of the function that calls the hook, or a fixed distance below it. (Where the frame pointer
// of aarch64 points depends on the size of the hook's own frame.)
#if defined(__x86_64__)
#define HOOK_FRAME reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))
#else
#define HOOK_FRAME reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa())
#endif

extern "C" __attribute__((visibility("default"))) void __cyg_profile_func_enter(
    void* function, void* site) {
  using namespace refrain::user;
  if (FunctionThread* const thread = function_thread(); thread != nullptr)
    function_begins(*thread, refrain::runtime::code_address(function), HOOK_FRAME,
                    reinterpret_cast<std::uintptr_t>(site));
}

extern "C" __attribute__((visibility("default"))) void __cyg_profile_func_exit(
    void* function, void* site) {
  using namespace refrain::user;
  if (FunctionThread* const thread = function_thread(); thread != nullptr)
    function_ends(*thread, refrain::runtime::code_address(function), HOOK_FRAME,
                  reinterpret_cast<std::uintptr_t>(site),
                  __builtin_return_address(0) == site);
}
