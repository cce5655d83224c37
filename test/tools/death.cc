// Preloaded into a program, makes it die at a given moment, whatever the program does there.
//
//   DEATH_PROGRAM   the program that is to die; others (commands, shells) are left alone
//   DEATH_RANK      of an MPI program: the rank that dies; without: all of them
//   DEATH_AFTER     when: microseconds after the program was loaded
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
#include <unistd.h>

#include <cstdlib>
#include <cstring>
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

void die(int) {
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

void wait_and_kill(long after, long later, unsigned seed) {
  usleep(static_cast<useconds_t>(after));
  if (way() == "uncaught") throw std::runtime_error("nobody catches this");
  const int number = SIGRTMIN + 5;
  // A thread may have ended by now, or take no signals.
  for (int tries = 0; tries < 100; ++tries) {
    const std::vector<int> all = threads();
    if (!all.empty())
      syscall(SYS_tgkill, getpid(), all[(seed + static_cast<unsigned>(tries)) % all.size()],
              number);
    if (way() == "exit-kill") {
      usleep(static_cast<useconds_t>(later));
      raise(SIGKILL);
    }
    usleep(tries == 0 ? 5'000'000 : 100'000);
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
  std::thread(wait_and_kill, after, later, seed).detach();
}

}  // namespace
