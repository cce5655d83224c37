#include "test/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "test/support/openmp_leftovers.h"

extern char** environ;

namespace refrain::test {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read, write;
};

Pipe make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC)) throw std::runtime_error("no pipe");
  return {Descriptor(fds[0]), Descriptor(fds[1])};
}

std::vector<std::string> make_environment(const Command& command) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    if (!command.environment.count(name)) result.emplace_back(*entry);
  }
  for (const auto& [name, value] : command.environment)
    if (value) result.push_back(name + "=" + *value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// In the child; only calls that are safe after fork() in a process with threads. Signals
// are blocked at its start, so that none runs a handler of the test.
[[noreturn]] void become(char* const* arguments, char* const* environment,
                         const char* folder, int output, int errors) {
  setpgid(0, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  if (!*folder || chdir(folder) == 0) execvpe(arguments[0], arguments, environment);
  static const char kMessage[] = "cannot be started: ";
  (void)!write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  (void)!write(STDERR_FILENO, arguments[0], std::strlen(arguments[0]));
  _exit(127);
}

// Reads what is available; closes at the end of the file.
void drain(Descriptor& from, std::string& into) {
  char buffer[1 << 16];
  const ssize_t bytes = read(from.get(), buffer, sizeof buffer);
  if (bytes > 0) into.append(buffer, static_cast<std::size_t>(bytes));
  if (bytes == 0 || (bytes < 0 && errno != EINTR)) from.close();
}

class Child {
 public:
  Child(const Command& command, Pipe& output, Pipe& errors) {
    std::vector<std::string> arguments = command.arguments;
    std::vector<std::string> environment = make_environment(command);
    const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
    Descriptor nowhere;
    if (command.discard_output)
      nowhere = Descriptor(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const int out = command.discard_output ? nowhere.get() : output.write.get();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_ = fork();
    if (pid_ != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid_ < 0) throw std::runtime_error("no process");
    if (pid_ == 0)
      become(argv.data(), envp.data(), command.folder.c_str(), out, errors.write.get());
    setpgid(pid_, pid_);
    handle_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    output.write.close();
    errors.write.close();
  }

  int handle() const { return ended_ ? -1 : handle_.get(); }
  bool ended() const { return ended_; }
  void signal(int number) const { kill(-pid_, number); }
  // Of all its threads, until now.
  double cpu_seconds() const {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0)
      return 0;
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }

  void reap(Result& result) {
    int status = 0;
    rusage usage{};
    if (wait4(pid_, &status, 0, &usage) != pid_) throw std::runtime_error("lost a process");
    ended_ = true;
    if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    result.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

 private:
  pid_t pid_ = -1;
  Descriptor handle_;
  bool ended_ = false;
};

timespec until(Clock::time_point moment) {
  const auto left = std::max(Clock::duration::zero(), moment - Clock::now());
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  return {static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
}

}  // namespace

Result run(const Command& command) {
  if (command.arguments.empty()) throw std::runtime_error("no command");
  remove_openmp_leftovers();
  Result result;
  Pipe output = make_pipe(), errors = make_pipe();
  const Clock::time_point start = Clock::now();
  Child child(command, output, errors);
  Clock::time_point limit = start + command.time_limit;
  bool kill_pending = command.kill_signal != 0;
  std::optional<Clock::time_point> kill_at;
  if (!command.kill_once) kill_at = start + command.kill_after;

  while (!child.ended() || output.read.get() >= 0 || errors.read.get() >= 0) {
    if (kill_pending && !kill_at && !child.ended()) {
      result.cpu_seconds = child.cpu_seconds();
      if (command.kill_once(result)) kill_at = Clock::now() + command.kill_after;
    }
    const Clock::time_point next =
        kill_at.value_or(Clock::now() + std::chrono::milliseconds(10));
    const timespec wait = until(kill_pending ? std::min(next, limit) : limit);
    pollfd fds[3] = {{output.read.get(), POLLIN, 0},
                     {errors.read.get(), POLLIN, 0},
                     {child.handle(), POLLIN, 0}};
    const bool idle = ppoll(fds, 3, &wait, nullptr) <= 0;
    if (kill_pending && kill_at && !child.ended() && Clock::now() >= *kill_at) {
      child.signal(command.kill_signal);
      kill_pending = false;
      result.signalled = true;
    }
    if (Clock::now() >= limit) {
      if (child.ended() && idle) break;  // a descendant keeps the pipes open
      if (!child.ended()) {
        child.signal(SIGKILL);
        result.timed_out = true;
      }
      limit += std::chrono::seconds(1);
    }
    if (fds[0].revents) drain(output.read, result.output);
    if (fds[1].revents) drain(errors.read, result.errors);
    if (fds[2].revents) {
      child.reap(result);
      result.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
      kill_pending = false;
      limit = std::min(limit, Clock::now() + std::chrono::seconds(1));
    }
  }
  return result;
}

std::string output_value(const std::string& output, const std::string& key) {
  const std::string wanted = key + "=";
  for (std::size_t at = output.rfind(wanted); at != std::string::npos;
       at = at ? output.rfind(wanted, at - 1) : std::string::npos) {
    if (at > 0 && output[at - 1] != ' ' && output[at - 1] != '\n') continue;
    const std::size_t begin = at + wanted.size();
    return output.substr(begin, output.find_first_of(" \n", begin) - begin);
  }
  return "";
}

long output_number(const std::string& output, const std::string& key) {
  const std::string value = output_value(output, key);
  char* end = nullptr;
  const long number = std::strtol(value.c_str(), &end, 10);
  return value.empty() || *end ? -1 : number;
}

long number_from_environment(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

}  // namespace refrain::test
