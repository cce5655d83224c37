#include "tracer/sampler/sampler.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/thread_end.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/sampler/sample_table.h"
#include "tracer/sampler/stack_walk.h"

namespace refrain::sampler {

// Of threads, where handlers find it. As runtime::t_thread, and not local to this file for the same
// reason.
struct SampledThread {
  std::uint32_t node = 0;  // 0: not seen yet
  bool has_timer = false;
  timer_t timer{};
  StackBounds stack{};
};
extern constinit thread_local SampledThread t_sampled
    __attribute__((tls_model("initial-exec")));
constinit thread_local SampledThread t_sampled __attribute__((tls_model("initial-exec")));

namespace {

constexpr unsigned kMaxFrames = 128;

constinit SampleTable g_made;
std::atomic<SampleTable*> g_table{nullptr};  // null: nothing is sampled
std::atomic<bool> g_started{false};
std::atomic<int> g_signal{0};
timespec g_period{};

std::uint64_t outermost(WalkEnd end) noexcept {
  switch (end) {
    case WalkEnd::kOutermost:
      return 0;
    case WalkEnd::kTooDeep:
      return spool::kDeeper;
    default:
      return spool::kUnknownCaller;
  }
}

void take_sample(int, siginfo_t* info, void* context) {
  if (!is_of_own_timer(*info)) return;
  SampleTable* const table = g_table.load(std::memory_order_acquire);
  if (table == nullptr) return;
  const recorder::KeepErrno keep_errno;
  if (t_sampled.node == 0) t_sampled.node = table->thread(table->next_thread());
  std::array<std::uint64_t, kMaxFrames> frames;
  const Walk walk = walk_stack(*static_cast<const ucontext_t*>(context), t_sampled.stack,
                               frames.data(), kMaxFrames);
  const auto passed =
      static_cast<std::uint64_t>(info->si_overrun < 0 ? 0 : info->si_overrun);
  table->add(t_sampled.node, frames.data(), walk.count, outermost(walk.end), passed + 1);
}

// The CPU time of a thread, as the kernel numbers such clocks (clock_getcpuclockid(3) has only
// those of processes).
clockid_t cpu_clock_of(pid_t thread) noexcept {
  constexpr unsigned kOfThread = 4, kScheduled = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kOfThread |
                                kScheduled);
}

bool make_timer(pid_t thread, timer_t& timer) noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = g_signal;
  event.sigev_value.sival_ptr = &g_made;  // which makes it known as ours
  event._sigev_un._tid = thread;
  if (timer_create(cpu_clock_of(thread), &event, &timer) != 0) return false;
  const itimerspec times{g_period, g_period};
  if (timer_settime(timer, 0, &times, nullptr) == 0) return true;
  timer_delete(timer);
  return false;
}

pid_t own_thread() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

void drop_timer(void*) noexcept {
  if (!t_sampled.has_timer) return;
  t_sampled.has_timer = false;
  timer_delete(t_sampled.timer);
}

constinit base::ThreadEnd g_thread_end(drop_timer);

// The threads that there were before. They keep their timers until the process ends.
void sample_other_threads(SampleTable& table) {
  DIR* const folder = opendir("/proc/self/task");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    pid_t thread = 0;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, thread).ec != std::errc{}) continue;
    timer_t timer{};
    if (thread != own_thread() && !make_timer(thread, timer)) table.thread_without();
  }
  closedir(folder);
}

// A real-time signal that nobody handles; 0: there is none.
int free_signal() noexcept {
  for (int signal = SIGRTMAX - 1; signal > SIGRTMIN; --signal) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) return signal;
  }
  return 0;
}

bool take_signal() noexcept {
  g_signal = free_signal();
  if (g_signal == 0) return false;
  struct sigaction action {};
  action.sa_sigaction = take_sample;
  // On the thread's alternate stack, where it has one: its usual one may be tiny.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  // A handler that jumped out of ours would leave nothing half done, but its own stack.
  sigfillset(&action.sa_mask);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
    sigdelset(&action.sa_mask, own);
  return sigaction(g_signal, &action, nullptr) == 0;
}

}  // namespace

std::string start_sampling(const std::string& path, std::uint64_t hz) {
  if (g_started.exchange(true)) return {};
  const recorder::SlowPath slow_path;
  const recorder::NoLowDescriptors no_low_descriptors;
  const std::uint64_t period_ns = 1'000'000'000 / hz;
  g_period = {static_cast<time_t>(period_ns / 1'000'000'000),
              static_cast<long>(period_ns % 1'000'000'000)};
  if (std::string error = g_made.open(path, period_ns); !error.empty()) return error;
  if (!take_signal()) return "no real-time signal is free";
  g_table.store(&g_made);
  sample_this_thread();
  sample_other_threads(g_made);
  return {};
}

int own_signal() noexcept { return g_signal.load(std::memory_order_relaxed); }

bool is_of_own_timer(const siginfo_t& info) noexcept {
  return info.si_code == SI_TIMER && info.si_value.sival_ptr == &g_made;
}

bool sampling() noexcept { return g_table.load(std::memory_order_relaxed) != nullptr; }

void sample_this_thread() noexcept {
  SampleTable* const table = g_table.load();
  if (table == nullptr || t_sampled.has_timer) return;
  const recorder::SlowPath slow_path;
  t_sampled.stack = bounds_of_this_thread();
  t_sampled.has_timer = make_timer(own_thread(), t_sampled.timer);
  if (!t_sampled.has_timer) return table->thread_without();
  g_thread_end.set(&t_sampled);
}

void stop_sampling() noexcept {
  SampleTable* const table = g_table.exchange(nullptr);
  if (table != nullptr) table->end();
}

void abandon_sampling() noexcept {
  g_table.store(nullptr);
  t_sampled = {};
}

}  // namespace refrain::sampler
