#include "tools/command/elf_program.h"

#include <elf.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

bool executable_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::string find_in_path(const std::string& command) {
  if (command.find('/') != std::string::npos)
    return executable_file(command) ? command : std::string();
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (executable_file(fs::path(folder) / command)) return fs::path(folder) / command;
  return {};
}

// The loader that a 64-bit ELF file names; empty for anything else.
std::string interpreter(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff +
                                           std::uint64_t(i) * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return {};
    if (segment.p_type != PT_INTERP || segment.p_filesz > 4096) continue;
    std::string name(segment.p_filesz, 0);
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(name.data(), static_cast<std::streamsize>(name.size()))) return {};
    return name.c_str();
  }
  return {};
}

std::string output_of(std::vector<const char*> arguments) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr,
                                const_cast<char* const*>(arguments.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; error == 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  if (error == 0) waitpid(child, nullptr, 0);
  return text;
}

}  // namespace

Program inspect_program(const std::string& command) {
  Program program;
  program.path = find_in_path(command);
  if (program.path.empty()) return program;
  const std::string loader = interpreter(program.path);
  if (loader.empty()) return program;
  program.dynamic = true;
  const std::string absolute = fs::absolute(program.path);
  std::istringstream lines(output_of({loader.c_str(), "--list", absolute.c_str()}));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    if (words >> name) program.libraries.push_back(fs::path(name).filename());
  }
  return program;
}

bool loads(const Program& program, const std::string& library_prefix) {
  for (const std::string& name : program.libraries)
    if (name.rfind(library_prefix, 0) == 0) return true;
  return false;
}

std::string mpi_of(const Program& program) {
  if (loads(program, "libmpich.so.12") || loads(program, "libmpi.so.12")) return "mpich";
  if (loads(program, "libmpi.so.40") || loads(program, "libmpi.so.20")) return "openmpi";
  return {};
}

}  // namespace refrain::tools
