// Event source: threads that the program begins by itself, and where its threads wait for each other.
//
// Place in the flow: ARCHITECTURE.md, stage 2. A thread that begins while the setting `threads` is on has a location, and its
// function is its outermost region. The main thread's calls that make a thread, wait for its end, or for all at a barrier are
// symbols of the detector: they come in the same order in every run. That a lock is free, and how often a condition is waited
// for, is nondeterministic.
// Thread-safety: any thread; not in signal handlers. Errors: what cannot be recorded is counted as lost; the program's calls go on.
#include "tracer/threads/thread_source.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "filters/settings.h"
#include "tracer/life/lifecycle.h"
#include "tracer/recorder/clock.h"
#include "tracer/runtime/live_filter.h"
#include "tracer/runtime/this_thread.h"
#include "tracer/sampler/sampler.h"
#include "tracer/threads/thread_places.h"
#include "tracer/threads/threads_api.h"
#include "tracer/user/user_thread.h"

namespace refrain::threads {
namespace {

using recorder::Clock;
using recorder::ThreadRecorder;
using runtime::g_session;
using runtime::Scope;
using runtime::t_thread;
using spool::ThreadCall;

// --- What is known of threads, by the kernel's or the C library's names of these ---

// A name that is given again is another thread's; where there is no room the first one goes.
class KnownThreads {
 public:
  void add(std::uint64_t thread, std::uint64_t fact) noexcept {
    Entry* free = nullptr;
    for (std::size_t i = 0; i < kProbes; ++i) {
      Entry& entry = at(thread, i);
      const std::uint64_t known = entry.thread.load(std::memory_order_relaxed);
      if (known == thread || known == 0) {
        free = &entry;
        break;
      }
    }
    if (free == nullptr) free = &at(thread, 0);
    free->fact.store(fact, std::memory_order_relaxed);
    free->thread.store(thread, std::memory_order_release);
  }
  // False: it is none of the program's.
  bool find(std::uint64_t thread, std::uint64_t& fact) noexcept {
    for (std::size_t i = 0; i < kProbes; ++i) {
      const Entry& entry = at(thread, i);
      if (entry.thread.load(std::memory_order_acquire) != thread) continue;
      fact = entry.fact.load(std::memory_order_relaxed);
      return true;
    }
    return false;
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> thread{0};
    std::atomic<std::uint64_t> fact{0};
  };
  static constexpr std::size_t kSlots = 4096, kProbes = 16;
  // Names are numbers in a row, or addresses of stacks.
  Entry& at(std::uint64_t thread, std::size_t probe) noexcept {
    return entries_[((thread ^ thread >> 12 ^ thread >> 23) + probe) % kSlots];
  }
  std::array<Entry, kSlots> entries_{};
};
constinit KnownThreads g_functions{};  // by the kernel's number
constinit KnownThreads g_numbers{};    // by pthread_t
std::atomic<std::uint64_t> g_last_number{0};

bool find_holder(std::uint32_t thread, std::uint64_t& function) noexcept {
  if (thread == 0) return false;
  if (thread == static_cast<std::uint32_t>(getpid()))
    function = spool::kMainThread;
  else if (!g_functions.find(thread, function))
    function = spool::kAnotherThread;  // of OpenMP, say
  return true;
}

// --- Calls ---

constexpr bool is_in_order(ThreadCall call) noexcept {
  return call == ThreadCall::kCreate || call == ThreadCall::kJoin ||
         call == ThreadCall::kBarrier || call == ThreadCall::kC11Create ||
         call == ThreadCall::kC11Join;
}

// The thread records, and what it is about to do is the program's.
bool is_recorded() noexcept {
  const ThreadRecorder* const recorder = t_thread.recorder;
  return recorder != nullptr && !recorder::OwnCode::is_here() && !recorder->busy() &&
         g_session->settings().threads && g_session->state().recording() &&
         !runtime::is_in_mpi(*recorder);
}

void begin_call(ThreadRecorder& recorder, ThreadCall call, std::uint64_t place,
                std::uint64_t ticks) noexcept {
  const bool outside = t_thread.teams_open == 0;
  std::uint8_t cut = 0;
  std::uint64_t epoch = 0;
  if (!is_in_order(call) || !user::feeds(recorder)) {
    if (outside) user::keep_up(recorder, ticks);
  } else if (g_session->auto_symbols() && !g_session->in_phase()) {
    if (outside) {
      cut = g_session->begin_epoch(recorder, ticks);
      epoch = recorder.epoch();
    }
    const auto symbol = runtime::make_symbol(spool::kThreadCallBegin,
                                             static_cast<std::uint16_t>(call), place);
    g_session->on_symbol(recorder, symbol, symbol, ticks);
  }
  recorder.begin(spool::record_words(
      spool::kThreadCallBegin, ticks, place,
      static_cast<std::uint8_t>(static_cast<std::uint8_t>(call) | cut), epoch));
}

bool begin(ThreadCall call, const void* returns_to, std::uint32_t holder) noexcept {
  if (!is_recorded()) return false;
  const recorder::KeepErrno keep_errno;
  const std::uint64_t place = place_of(returns_to);
  if (place == 0) return false;
  std::uint64_t function = 0;
  const bool held = find_holder(holder, function);
  const Scope scope;
  if (!scope) return false;
  if (scope->depth() + 2 > spool::kMaxDepth) {
    scope->count_loss(spool::kLossDepth);
    return false;
  }
  const std::uint64_t ticks = Clock::now();
  begin_call(*scope, call, place, ticks);
  if (held) {
    scope->count_event();
    scope->begin(spool::record_words(spool::kHolderBegin, ticks, function));
  }
  return true;
}

void end_innermost(ThreadRecorder& recorder, std::uint64_t ticks,
                   std::uint64_t thread = 0) noexcept {
  const spool::Record& open = *recorder.top();
  recorder.end(spool::record_words(open.kind + 1, ticks, open.payload,
                                   open.sub & spool::kThreadCalls, thread));
}

// `thread`: that the call has made, or waited for; 0: none.
void end(std::uint64_t thread) noexcept {
  if (t_thread.recorder == nullptr) return;
  const recorder::KeepErrno keep_errno;
  const Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = Clock::now();
  const auto is_open = [&](std::uint8_t kind) {
    return scope->depth() != 0 && scope->top()->kind == kind;
  };
  if (is_open(spool::kHolderBegin)) {
    scope->count_event();
    end_innermost(*scope, ticks);
  }
  if (!is_open(spool::kThreadCallBegin)) return scope->count_loss(spool::kLossUnmatched);
  const auto call = static_cast<ThreadCall>(scope->top()->sub & spool::kThreadCalls);
  end_innermost(*scope, ticks, thread);
  if (!g_session->primary().is(&*scope)) {
    if (t_thread.teams_open == 0) user::keep_up(*scope, ticks);
  } else if (is_in_order(call) && g_session->auto_symbols() && !g_session->in_phase() &&
             user::in_order(*scope)) {
    g_session->on_symbol_end(ticks, scope->depth());
  }
}

// --- Names ---

// As the kernel has it, with its zero.
using KernelName = std::array<char, 16>;

// Not through our own stand-in.
KernelName name_of_this_thread() noexcept {
  KernelName name{};
  syscall(SYS_prctl, PR_GET_NAME, name.data(), 0, 0, 0);
  return name;
}

void named(pthread_t thread, const char* name) noexcept {
  const ThreadRecorder* const recorder = t_thread.recorder;
  if (recorder == nullptr || recorder::OwnCode::is_here() || recorder->busy() ||
      !g_session->settings().threads || !g_session->state().recording())
    return;
  const recorder::KeepErrno keep_errno;
  const recorder::SlowPath slow_path;
  g_session->name_thread(recorder, thread, {name, strnlen(name, KernelName{}.size() - 1)});
}

std::uint64_t number_of(pthread_t thread) noexcept {
  std::uint64_t number = 0;
  g_numbers.find(thread, number);
  return number;
}

constexpr Api kApi = {begin, end, number_of, named};

// --- Threads ---

// `inherited`: the name of the thread that made this one. Who made it may have named it by now.
void begin_thread(std::uint64_t function, std::uint64_t number,
                  const KernelName& inherited) noexcept {
  if (t_thread.recorder != nullptr || !g_session->state().recording()) return;
  g_functions.add(static_cast<std::uint32_t>(syscall(SYS_gettid)), function);
  g_numbers.add(pthread_self(), number);
  runtime::name_thread_function(function);
  runtime::attach_thread(spool::kRoleRoot, true, function);
  if (const KernelName name = name_of_this_thread(); name != inherited)
    named(pthread_self(), name.data());
  const Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = Clock::now();
  user::keep_up(*scope, ticks);
  scope->begin(spool::record_words(spool::kFunctionEnter, ticks, function, 0, number));
}

// In this process, whether a session has started or not.
bool is_wanted() noexcept {
  static const bool wanted =
      runtime::tracing_enabled() && runtime::wanted_settings().threads;
  return wanted;
}

template <typename Result>
struct Start {
  Result (*begin)(void*);
  void* argument;
  bool sampled;
  std::uint64_t function;  // 0: not recorded
  std::uint64_t number;    // among the process' threads
  KernelName name;         // of who makes it; of one that is recorded
};

// The program's function comes last, and with optimisation in the place of this one: stacks look as without us.
template <typename Result>
Result begin_known(void* data) {
  auto* const given = static_cast<Start<Result>*>(data);
  const Start<Result> start = *given;
  std::free(given);
  if (start.sampled) sampler::sample_this_thread();
  if (start.function != 0) begin_thread(start.function, start.number, start.name);
  return start.begin(start.argument);
}

// `make` gets the function that the thread shall begin with, and its argument, and puts the thread into `made`.
template <typename Result, typename Make>
int create_by(ThreadCall call, Result (*begin_function)(void*), void* argument,
              const void* returns_to, const pthread_t* made, Make make) noexcept {
  const bool sampled = sampler::sampling();
  std::uint64_t function = 0;
  if (!recorder::OwnCode::is_here() && is_wanted()) {
    const recorder::KeepErrno keep_errno;
    function =
        function_of(returns_to, reinterpret_cast<std::uint64_t>(begin_function), argument);
    // The first one starts the session, if nothing else has.
    if (function != 0 && (!user::ready() || !is_recorded())) function = 0;
  }
  auto* const start = sampled || function != 0
                          ? static_cast<Start<Result>*>(std::malloc(sizeof(Start<Result>)))
                          : nullptr;
  if (start == nullptr) return make(begin_function, argument);
  const std::uint64_t number =
      function == 0 ? 0 : g_last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  *start = {begin_function, argument, sampled,
            function,       number,   function != 0 ? name_of_this_thread() : KernelName{}};
  const bool on = function != 0 && begin(call, returns_to, 0);
  const int result = make(begin_known<Result>, start);
  // Who waits for it knows it from here, or from itself.
  if (result == 0 && number != 0) g_numbers.add(*made, number);
  if (on) end(result == 0 ? number : 0);
  if (result != 0) std::free(start);
  return result;
}

}  // namespace

int create(CreateThread* next, pthread_t* thread, const pthread_attr_t* attributes,
           void* (*begin)(void*), void* argument, const void* returns_to) noexcept {
  return create_by(ThreadCall::kCreate, begin, argument, returns_to, thread,
                   [&](void* (*function)(void*), void* data) {
                     return next(thread, attributes, function, data);
                   });
}

int create(CreateC11Thread* next, thrd_t* thread, int (*begin)(void*), void* argument,
           const void* returns_to) noexcept {
  static_assert(std::is_same_v<thrd_t, pthread_t>);
  return create_by(
      ThreadCall::kC11Create, begin, argument, returns_to, thread,
      [&](int (*function)(void*), void* data) { return next(thread, function, data); });
}

}  // namespace refrain::threads

// What librefrain_threads.so looks for.
extern "C" __attribute__((visibility("default"))) const refrain::threads::Api*
refrain_threads_api() {
  return &refrain::threads::kApi;
}
