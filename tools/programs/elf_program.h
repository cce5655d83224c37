// What a program needs from the dynamic loader, found without running it.
//
// Errors: a file that is no dynamic program gives an empty answer.
#pragma once

#include <string>
#include <vector>

namespace refrain::tools {

struct Program {
  std::string path;      // as found in PATH; empty if there is none
  bool dynamic = false;  // an ELF file with a loader
  // Names of the libraries that it will load: all, or where these are known to bring no other
  // runtime of OpenMP and no MPI with them, those that it names itself.
  std::vector<std::string> libraries;
  // The processor that it is for, if that is another one than this command's.
  std::string foreign{};
};

// The path of a program as execvp would find it; empty if there is none.
std::string find_program(const std::string& command);

// Finds `command` as execvp would, and asks its own loader what it would load (so that
// RPATH, LD_LIBRARY_PATH and libraries of libraries count), if it has to be asked.
Program inspect_program(const std::string& command);

bool loads(const Program& program, const std::string& library_prefix);

// The libraries that the file at `path` (a program or a library) names itself.
std::vector<std::string> named_libraries(const std::string& path);

// What a command prints on stdout; its first word is a path. Its stderr is not shown.
std::string output_of(std::vector<const char*> arguments);

// Whether the file at `path` defines a symbol, as far as its tables of symbols say.
bool defines(const std::string& path, const std::string& symbol);

}  // namespace refrain::tools
