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
  bool alone = false;    // an ELF file without one: linked statically
  // It runs with other rights than its user's (setuid), so that the loader preloads nothing for it.
  bool privileged = false;
  // Names of the libraries that it will load: all, or where these are known to bring no other
  // runtime of OpenMP and no MPI with them, those that it names itself.
  std::vector<std::string> libraries;
  std::vector<std::string> files{};  // their paths, as far as the loader was asked
  // The processor that it is for, if that is another one than this command's.
  std::string foreign{};
};

// The path of a program as execvp would find it; empty if there is none.
std::string find_program(const std::string& command);

// Why there is none, in words, with what helps.
std::string why_no_program(const std::string& command);

// Finds `command` as execvp would, and asks its own loader what it would load (so that
// RPATH, LD_LIBRARY_PATH and libraries of libraries count), if it has to be asked.
Program inspect_program(const std::string& command);

bool loads(const Program& program, const std::string& library_prefix);

// The path of the library that it loads and whose name begins so; empty: none, or not known.
std::string file_of(const Program& program, const std::string& library_prefix);

// The libraries that the file at `path` (a program or a library) names itself.
std::vector<std::string> named_libraries(const std::string& path);

// What a command prints on stdout; its first word is a path. Its stderr is not shown.
std::string output_of(std::vector<const char*> arguments);

// Returns true if the file at `path` has the text somewhere. Reads all of it.
bool contains(const std::string& path, const std::string& text);

// Returns true if the file at `path` defines a symbol, as far as its tables of symbols say.
bool defines(const std::string& path, const std::string& symbol);
// True if it takes one from another file.
bool imports(const std::string& path, const std::string& symbol);

// How many functions a library has that LLVM's compilers call ("__kmpc_...").
std::size_t entry_points(const std::string& path);

}  // namespace refrain::tools
