#include "tools/doctor/trial.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "analysis/archive_info.h"

extern char** environ;

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

// A directory that goes away with its content.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& above)
      : path_(above + "/.refrain-trial-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The last line of a file, which tells most of what went wrong.
std::string last_line(const std::string& file) {
  std::ifstream input(file);
  std::string last;
  for (std::string line; std::getline(input, line);)
    if (!line.empty()) last = line;
  return last;
}

// Runs it with its output in a file, and ends it where it hangs. Settings of the user's shell do not
// apply.
struct Ended {
  int status = -1;  // exit status
  std::string problem;
};

Ended run_quietly(const std::vector<std::string>& words, const std::string& output) {
  std::vector<std::string> texts;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::strncmp(*variable, "REFRAIN_LIB", 11) == 0 ||
        std::strncmp(*variable, "REFRAIN_", 8) != 0)
      texts.emplace_back(*variable);
  std::vector<char*> variables;
  variables.reserve(texts.size() + 1);
  for (std::string& text : texts) variables.push_back(text.data());
  variables.push_back(nullptr);
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  arguments.reserve(copies.size() + 1);
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, &attributes,
                                 arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return {-1, std::strerror(error)};

  constexpr auto kPatience = std::chrono::seconds(60);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (int status = 0;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child && WIFEXITED(status)) return {WEXITSTATUS(status), ""};
    if (ended == child) return {-1, fmt::format("signal {}", WTERMSIG(status))};
    if (std::chrono::steady_clock::now() > end) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return {-1, "no end within a minute"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// The command's own path: /proc/self/exe would be the child's.
std::string own_path() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

Trial run_trial(const std::string& folder, const std::vector<std::string>& command,
                std::uint64_t processes) {
  const ScratchFolder scratch(folder);
  if (scratch.path().empty())
    return {false, fmt::format("cannot make a directory: {}", std::strerror(errno))};
  const std::string archive = scratch.path() + "/trial";
  const std::string output = scratch.path() + "/output";
  std::vector<std::string> words = command;
  for (std::string& word : words)
    if (word == "ARCHIVE") word = archive;
  const Ended ended = run_quietly(words, output);
  if (ended.status != 0) {
    const std::string said = last_line(output);
    return {false,
            fmt::format("the trial ended with {}{}",
                        ended.problem.empty() ? fmt::format("exit status {}", ended.status)
                                              : ended.problem,
                        said.empty() ? "" : ": " + said)};
  }
  const auto read = analysis::read_archive_info(archive);
  if (!read) return {false, read.error()};
  const analysis::ArchiveInfo& info = *read;
  if (info.events_written == 0) return {false, "the trial's archive has no events"};
  if (info.processes != processes)
    return {false, fmt::format("the trial's archive has {} of {} processes", info.processes,
                               processes)};
  return {true, fmt::format("a trial recorded {} events of {} {}", info.events_written,
                            processes == 1 ? info.locations.size() : processes,
                            processes == 1 ? "threads" : "processes")};
}

}  // namespace

Trial try_openmp(const std::string& folder) {
  const std::string refrain = own_path();
  return run_trial(folder,
                   {refrain, "run", "--mpi", "none", "-n", "0", "-o", "ARCHIVE", "--",
                    refrain, "doctor", "--be-traced", "openmp"},
                   1);
}

Trial try_mpi(const std::string& folder, const std::string& launcher,
              const std::string& mpi) {
  const std::string refrain = own_path();
  std::vector<std::string> words{launcher, "-n", "2"};
  if (mpi == "openmpi")
    words.emplace_back("--oversubscribe");  // else it asks for a core each
  words.insert(words.end(), {refrain, "run", "--mpi", mpi, "-n", "0", "-o", "ARCHIVE", "--",
                             refrain, "doctor", "--be-traced", "mpi"});
  return run_trial(folder, words, 2);
}

}  // namespace refrain::tools

namespace refrain::tools {

// What the traced processes of trials do. They have the OpenMP runtime, or MPI, from the loader alone, as
// the command itself uses neither.

namespace {

template <typename Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

int missing(const char* name) {
  std::fprintf(stderr, "refrain: %s was not found\n", name);
  return 1;
}

void body(void* count) {
  __atomic_add_fetch(static_cast<int*>(count), 1, __ATOMIC_RELAXED);
}

}  // namespace

int be_traced_openmp() {
  // What gcc makes of "#pragma omp parallel num_threads(2)"; LLVM's runtime has it, too.
  auto* parallel = find<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel");
  if (parallel == nullptr) return missing("GOMP_parallel");
  int count = 0;
  constexpr int kRegions = 5;
  for (int i = 0; i < kRegions; ++i) parallel(body, &count, 2, 0);
  return count == 2 * kRegions ? 0 : 1;
}

int be_traced_mpi() {
  auto* init = find<int(int*, char***)>("MPI_Init");
  auto* barrier = find<int(int)>("MPI_Barrier");
  auto* barrier_of = find<int(void*)>("MPI_Barrier");
  auto* finalize = find<int()>("MPI_Finalize");
  if (init == nullptr || barrier == nullptr || finalize == nullptr)
    return missing("MPI_Init");
  // MPI_COMM_WORLD is a variable of Open MPI's library, and a number in MPICH's ABI.
  void* const world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  constexpr int kWorld = 0x44000000;
  if (init(nullptr, nullptr) != 0) return 1;
  for (int i = 0; i < 3; ++i) world != nullptr ? barrier_of(world) : barrier(kWorld);
  return finalize();
}

}  // namespace refrain::tools
