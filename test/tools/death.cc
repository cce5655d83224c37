// Preloaded into a program, makes it die at a given moment, whatever the program does there.
//
//   DEATH_PROGRAM   the program that is to die; others (commands, shells) are left alone
//   DEATH_RANK      of an MPI program: the rank that dies; without: all of them
//   DEATH_ONCE      a directory: not before there is something in it; without: at once
//   DEATH_AFTER     when: microseconds of the program's CPU time after that, so that it is equally far on a busy machine
//   DEATH_SEED      which thread dies
//   DEATH           how:
//     segv, abort, _exit, quick-exit, exec   in the middle of some thread's work
//     exit        a handler that calls exit(), as programs have for a batch system's SIGTERM
//     exit-kill   the same, and SIGKILL comes DEATH_LATER microseconds later
//     uncaught    an exception that a new thread does not catch
//     mpi-abort   MPI_Abort
//
// A process that ends by itself ends with status 5.
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kStatus = 5;

std::string from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

// How, for the handler.
const std::string& way() {
  static const std::string how = from_environment("DEATH");
  return how;
}

void abort_job() {
  // MPICH's MPI_COMM_WORLD. Through the tracer's wrapper, if there is one.
  using Abort = int (*)(int, int);
  const auto abort = reinterpret_cast<Abort>(dlsym(RTLD_DEFAULT, "MPI_Abort"));
  if (abort != nullptr) abort(0x44000000, kStatus);
}

// A thread dies: the others are not asked any more.
std::atomic<bool> g_dying{false};

void die(int) {
  if (g_dying.exchange(true)) return;
  const std::string& how = way();
  if (how == "segv") {
    int* volatile nowhere = nullptr;
    *nowhere = 1;
  }
  if (how == "abort") std::abort();
  if (how == "_exit") _exit(kStatus);
  if (how == "quick-exit") std::quick_exit(kStatus);
  if (how == "exec") execl("/bin/sh", "sh", "-c", "exit 5", nullptr);
  if (how == "exit" || how == "exit-kill") std::exit(kStatus);
  if (how == "mpi-abort") abort_job();
}

// All threads but this one.
std::vector<int> threads() {
  std::vector<int> result;
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return result;
  while (const dirent* entry = readdir(folder)) {
    const int thread = std::atoi(entry->d_name);
    if (thread > 0 && thread != gettid()) result.push_back(thread);
  }
  closedir(folder);
  return result;
}

long cpu_us() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000 + used.tv_nsec / 1000;
}

void wait_for(const std::string& once, long after) {
  std::error_code missing;
  while (!once.empty() && (std::filesystem::is_empty(once, missing) || missing))
    usleep(1000);
  for (const long end = cpu_us() + after; cpu_us() < end;) usleep(1000);
}

void wait_and_kill(const std::string& once, long after, long later, unsigned seed) {
  wait_for(once, after);
  if (way() == "uncaught") throw std::runtime_error("nobody catches this");
  const int number = SIGRTMIN + 5;
  // A thread may have ended by now, or take no signals.
  for (unsigned tries = 0; !g_dying; ++tries) {
    const std::vector<int> all = threads();
    if (!all.empty())
      syscall(SYS_tgkill, getpid(), all[(seed + tries) % all.size()], number);
    if (way() == "exit-kill") {
      usleep(static_cast<useconds_t>(later));
      raise(SIGKILL);
    }
    usleep(100'000);
  }
}

__attribute__((constructor)) void begin() {
  if (from_environment("DEATH_PROGRAM") != program_invocation_short_name) return;
  const std::string rank = from_environment("DEATH_RANK");
  if (!rank.empty() && rank != from_environment("PMI_RANK") &&
      rank != from_environment("OMPI_COMM_WORLD_RANK"))
    return;
  way();
  struct sigaction action {};
  action.sa_handler = die;
  sigaction(SIGRTMIN + 5, &action, nullptr);
  const long after = std::atol(from_environment("DEATH_AFTER").c_str());
  const long later = std::atol(from_environment("DEATH_LATER").c_str());
  const auto seed =
      static_cast<unsigned>(std::atol(from_environment("DEATH_SEED").c_str()));
  std::thread(wait_and_kill, from_environment("DEATH_ONCE"), after, later, seed).detach();
}

}  // namespace
