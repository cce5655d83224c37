#include "tools/programs/valgrind_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/folder.h"
#include "tools/programs/elf_program.h"
#include "tools/programs/installation.h"

namespace refrain::tools {
namespace {
namespace fs = std::filesystem;

constexpr const char* kTool = "refrainloops-amd64-linux";

// Where valgrind's own files lie.
fs::path valgrind_folder() {
  std::error_code error;
  if (const char* given = std::getenv("VALGRIND_LIB")) return given;
  for (const char* place : {"/usr/libexec/valgrind", "/usr/lib/x86_64-linux-gnu/valgrind",
                            "/usr/lib/valgrind", "/usr/local/libexec/valgrind"})
    if (fs::exists(fs::path(place) / "vgpreload_core-amd64-linux.so", error)) return place;
  return {};
}

std::vector<std::string> files_of(const std::string& prefix) {
  const fs::path path(prefix);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  const std::string begin = path.filename().string() + ".";
  std::error_code error;
  std::vector<std::string> found;
  for (const std::string& name : base::names_in(folder, error))
    if (name.starts_with(begin)) found.push_back((fs::path(folder) / name).string());
  return found;
}

}  // namespace

ValgrindRun::~ValgrindRun() {
  if (!folder_.empty()) base::remove_tree(folder_);
}

base::Result<> ValgrindRun::prepare() {
#if !defined(__x86_64__)
  return base::Failure{
      "exact counts are for x86-64 only; samples work here: refrain run --loops"};
#endif
  valgrind_ = inspect_program("valgrind").path;
  const fs::path own = valgrind_folder();
  if (valgrind_.empty() || own.empty())
    return base::Failure{"exact counts need valgrind: install the package 'valgrind'"};
  const std::string tool = find_loop_tool();
  if (tool.empty())
    return base::Failure{std::string("the tool for valgrind, ") + kTool +
                         ", is missing: it is built with refrain"};
  std::string pattern = (fs::temp_directory_path() / "refrain-loops-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    return base::Failure{"cannot make a temporary directory: " +
                         std::string(std::strerror(errno))};
  folder_ = pattern;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(own, error)) {
    const std::string name = entry.path().filename();
    if (name != kTool) fs::create_symlink(entry.path(), fs::path(folder_) / name, error);
    if (error)
      return base::Failure{"'" + folder_ + "' cannot be filled: " + error.message()};
  }
  fs::create_symlink(tool, fs::path(folder_) / kTool, error);
  if (error) return base::Failure{"'" + folder_ + "' cannot be filled: " + error.message()};
  return {};
}

base::Result<> ValgrindRun::start(const std::vector<std::string>& command) {
  std::vector<std::string> words = {
      valgrind_,   "--tool=refrainloops",  "-q",
      "--vgdb=no", "--trace-children=yes", "--loops-out=" + prefix_};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0)
    return base::Failure{"no process can be started: " + std::string(std::strerror(errno))};
  if (child == 0) {
    setenv("VALGRIND_LIB", folder_.c_str(), 1);
    execv(valgrind_.c_str(), arguments.data());
    _exit(127);
  }
  // What a terminal sends is for the program; what it counted until then is printed.
  const auto interrupt = std::signal(SIGINT, SIG_IGN), quit = std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::signal(SIGINT, interrupt);
  std::signal(SIGQUIT, quit);
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {};
}

base::Result<> ValgrindRun::run(const std::vector<std::string>& command,
                                const std::string& prefix) {
  if (inspect_program(command.front()).path.empty())
    return base::Failure{why_no_program(command.front())};
  if (const auto done = prepare(); !done) return done;
  prefix_ = prefix.empty() ? (fs::path(folder_) / "loops").string()
                           : fs::absolute(prefix).string();
  const std::vector<std::string> before = files_of(prefix_);
  if (const auto done = start(command); !done) return done;
  for (const std::string& file : files_of(prefix_))
    if (std::ranges::find(before, file) == before.end()) files_.push_back(file);
  if (files_.empty())
    return base::Failure{"valgrind counted nothing: it ended with status " +
                         std::to_string(status_)};
  return {};
}

}  // namespace refrain::tools
