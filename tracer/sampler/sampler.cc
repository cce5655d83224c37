#include "tracer/sampler/sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/new_file.h"
#include "base/thread_end.h"
#include "spool/format.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"
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

namespace {

constexpr std::uint32_t kNone = 0xffffffff;
constexpr unsigned kMaxProbes = 64;

std::uint64_t mixed(std::uint32_t parent, std::uint64_t address) noexcept {
  std::uint64_t hash =
      (address ^ std::rotl(std::uint64_t{parent}, 40)) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

void* mapped(int fd, std::size_t bytes) noexcept {
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

std::string SampleTable::open(const std::string& path, std::uint64_t period_ns,
                              std::uint32_t capacity) {
  const std::size_t bytes =
      spool::kSampleHeaderBytes + std::size_t{capacity} * sizeof(spool::SampleNode);
  const std::size_t slots = std::bit_ceil(std::size_t{capacity} * 2);
  const int fd = recorder::open_apart(
      AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, base::file_mode());
  if (fd < 0) return "cannot make '" + path + "': " + std::strerror(errno);
  base::open_to_group(fd);
  // All blocks now: a disk that is full later would kill the program at its next sample.
  const int problem = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  void* const file = problem == 0 ? mapped(fd, bytes) : nullptr;
  void* const index = file == nullptr ? nullptr : mapped(-1, slots * sizeof *index_);
  close(fd);
  if (index == nullptr) {
    if (file != nullptr) munmap(file, bytes);
    unlink(path.c_str());
    return "no memory or disk space for '" + path + "'";
  }
  index_ = static_cast<std::atomic<std::uint32_t>*>(index);
  index_mask_ = static_cast<std::uint32_t>(slots - 1);
  auto* const begin = static_cast<char*>(file);
  header_ = reinterpret_cast<spool::SampleHeader*>(begin);
  nodes_ = reinterpret_cast<spool::SampleNode*>(begin + spool::kSampleHeaderBytes);
  header_->version = spool::kSampleVersion;
  header_->byte_order = spool::kByteOrder;
  header_->pid = static_cast<std::uint64_t>(getpid());
  header_->period_ns = period_ns;
  header_->capacity = capacity_ = capacity;
  nodes_[0].ready.store(1);
  header_->nodes.store(1);
  std::memcpy(header_->magic, spool::kSampleMagic, sizeof header_->magic);
  return {};
}

std::uint32_t SampleTable::new_node(std::uint32_t parent, std::uint64_t address) noexcept {
  if (header_->nodes.load(std::memory_order_relaxed) >= capacity_) return kNone;
  const std::uint32_t number = header_->nodes.fetch_add(1);
  if (number >= capacity_) return kNone;
  spool::SampleNode& node = nodes_[number];
  node.address = address;
  node.parent = parent;
  node.ready.store(1, std::memory_order_release);
  return number;
}

// Threads that add the same node at the same time: one wins, and the other's node stays unused.
std::uint32_t SampleTable::find_or_add(std::uint32_t parent,
                                       std::uint64_t address) noexcept {
  std::uint32_t own = kNone;
  const std::uint64_t hash = mixed(parent, address);
  for (unsigned probe = 0; probe != kMaxProbes; ++probe) {
    std::atomic<std::uint32_t>& slot = index_[(hash + probe) & index_mask_];
    std::uint32_t number = slot.load(std::memory_order_acquire);
    if (number == 0) {
      if (own == kNone) own = new_node(parent, address);
      if (own == kNone) return kNone;
      if (slot.compare_exchange_strong(number, own)) return own;
    }
    const spool::SampleNode& node = nodes_[number];
    if (node.address == address && node.parent == parent) return number;
  }
  return kNone;
}

void SampleTable::add(std::uint32_t thread, const std::uint64_t* frames, unsigned count,
                      std::uint64_t outermost, std::uint64_t passed) noexcept {
  header_->taken.fetch_add(passed);
  if (passed > 1) header_->missed.fetch_add(passed - 1);
  if (outermost == spool::kUnknownCaller) header_->not_followed.fetch_add(passed);
  if (thread == kNone) {
    header_->lost.fetch_add(passed);
    return;
  }
  std::uint32_t at = thread;
  if (outermost != 0) {
    const std::uint32_t next = find_or_add(at, outermost);
    if (next != kNone) at = next;
  }
  for (unsigned left = count; left-- != 0;) {
    const std::uint64_t mark = left == 0 ? spool::kInnermost : 0;
    const std::uint32_t next = find_or_add(at, frames[left] | mark);
    if (next == kNone) {
      header_->shortened.fetch_add(passed);
      break;
    }
    at = next;
  }
  nodes_[at].samples.fetch_add(passed);
}

}  // namespace refrain::sampler
