#include "analysis/flow/graphviz.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

// The program's own; unistd.h has it only for GNU's.
extern char** environ;  // NOLINT

namespace refrain::analysis {
namespace {

// A file in memory: what is in it needs no second thread to be read or written.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("refrain-graph", MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  bool put(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t written = write(descriptor_, text.data() + at, text.size() - at);
      if (written <= 0) return false;
      at += static_cast<std::size_t>(written);
    }
    return lseek(descriptor_, 0, SEEK_SET) == 0;
  }
  std::string take() const {
    std::string text;
    std::array<char, 65536> part{};
    if (lseek(descriptor_, 0, SEEK_SET) != 0) return text;
    for (ssize_t got = 0; (got = read(descriptor_, part.data(), part.size())) > 0;)
      text.append(part.data(), static_cast<std::size_t>(got));
    return text;
  }

 private:
  int descriptor_;
};

class Actions {
 public:
  Actions() { posix_spawn_file_actions_init(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }

  void give(const MemoryFile& file, int as) {
    posix_spawn_file_actions_adddup2(&actions_, file.descriptor(), as);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

base::Result<std::string> laid_out(const std::string& dot, const std::string& format) {
  MemoryFile in, out, problems;
  if (!in.put(dot) || out.descriptor() < 0 || problems.descriptor() < 0)
    return base::Failure{std::string("no memory for Graphviz: ") + std::strerror(errno)};
  Actions actions;
  actions.give(in, STDIN_FILENO);
  actions.give(out, STDOUT_FILENO);
  actions.give(problems, STDERR_FILENO);
  std::string name = "dot", option = "-T" + format;
  char* const arguments[] = {name.data(), option.data(), nullptr};
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, name.c_str(), actions.get(), nullptr, arguments, environ);
  if (error == ENOENT || error == EACCES) return base::Failure{kNoGraphviz};
  if (error != 0)
    return base::Failure{std::string("Graphviz ('dot') does not start: ") +
                         std::strerror(error)};
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  std::string text = out.take();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty()) return text;
  const std::string said = first_line(problems.take());
  return base::Failure{"Graphviz ('dot') failed: " +
                       (WIFSIGNALED(status)
                            ? "signal " + std::to_string(WTERMSIG(status))
                            : "exit status " + std::to_string(WEXITSTATUS(status))) +
                       (said.empty() ? "" : ", " + said)};
}

}  // namespace refrain::analysis
