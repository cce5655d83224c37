#include "tools/command/run_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/watch_socket.h"
#include "spool/spool_folder.h"

namespace refrain::tools {
namespace {

struct Watched {
  int process;  // pidfd
  int socket;
  std::string archive;
  std::string folder;
  std::int64_t since;
  bool silent;
};

enum class End { kUnknown, kAllSaid, kNothing };

// Takes what has come; whether that says how it ended.
End read_messages(Watched& watched) {
  base::WatchMessage message{};
  while (recv(watched.socket, &message, 1, MSG_DONTWAIT) > 0) {
    if (message == base::WatchMessage::kSaid) watched.silent = true;
    if (message == base::WatchMessage::kEnded) return End::kAllSaid;
    if (message == base::WatchMessage::kNothing) return End::kNothing;
  }
  return End::kUnknown;
}

End wait_for_end(Watched& watched) {
  std::array<pollfd, 2> sources{
      {{watched.process, POLLIN, 0}, {watched.socket, POLLIN, 0}}};
  for (;;) {
    if (poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR)
      return End::kAllSaid;
    const End end = read_messages(watched);
    if (end != End::kUnknown || (sources[0].revents & POLLIN) != 0) return end;
  }
}

void report(const Watched& watched) {
  const spool::FoundArchives found =
      spool::find_archives(watched.archive, watched.folder, watched.since);
  if (!found.left.empty()) {
    std::fprintf(stderr, "refrain: %s\n", spool::line_about_left(found.left).c_str());
  } else if (!found.any && !watched.silent) {
    std::fprintf(
        stderr,
        "refrain: no archive: before its end nothing was recorded of the program. It was "
        "killed, used no OpenMP, no MPI and no regions of refrain.h, or started programs that "
        "are linked statically or without LD_PRELOAD\n");
  }
}

void report_nothing() {
  std::fputs(
      "refrain: no archive: no process of the command used OpenMP, MPI (MPICH, Open MPI) or regions "
      "of refrain.h, or those that did are statically linked\n",
      stderr);
}

[[noreturn]] void watch(Watched watched) {
  setsid();
  std::signal(SIGPIPE, SIG_IGN);
  // What the program's readers wait for to be closed.
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  const unsigned low = static_cast<unsigned>(std::min(watched.process, watched.socket));
  const unsigned high = static_cast<unsigned>(std::max(watched.process, watched.socket));
  if (low > 3) syscall(SYS_close_range, 3U, low - 1, 0U);
  if (high - low > 1) syscall(SYS_close_range, low + 1, high - 1, 0U);
  syscall(SYS_close_range, high + 1, ~0U, 0U);
  if (chdir("/") != 0) _exit(0);
  const End end = wait_for_end(watched);
  if (end == End::kUnknown) report(watched);
  if (end == End::kNothing && !watched.silent) report_nothing();
  std::fflush(stderr);
  _exit(0);
}

}  // namespace

void RunWatch::start(const std::string& archive, const std::string& folder,
                     std::int64_t since, bool silent) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string name = "refrain-" + std::to_string(getpid()) + '-' +
                           std::to_string(now.tv_sec * 1'000'000'000 + now.tv_nsec);
  Watched watched{static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)),
                  base::bind_watch_socket(name),
                  archive,
                  folder,
                  since,
                  silent};
  if (watched.process >= 0 && watched.socket >= 0) {
    std::fflush(nullptr);
    const pid_t between = fork();
    if (between == 0) {
      if (fork() == 0) watch(watched);
      _exit(0);
    }
    if (between > 0) {
      waitpid(between, nullptr, 0);
      name_ = name;
      setenv("REFRAIN_WATCH", name.c_str(), 1);
    }
  }
  if (watched.process >= 0) close(watched.process);
  if (watched.socket >= 0) close(watched.socket);
}

void RunWatch::stop() const {
  if (!name_.empty()) base::tell_watch_socket(name_.c_str(), base::WatchMessage::kEnded);
}

}  // namespace refrain::tools
