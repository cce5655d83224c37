// What a program needs from the dynamic loader, without running it.
//
// Errors: a file that is no dynamic program gives an empty answer.
#pragma once

#include <string>
#include <vector>

namespace refrain::tools {

struct Program {
  std::string path;                    // as found in PATH; empty if there is none
  bool dynamic = false;                // an ELF file with a loader
  std::vector<std::string> libraries;  // names of all libraries it will load
};

// Finds `command` as execvp would, and asks its own loader what it would load (so that
// RPATH, LD_LIBRARY_PATH and libraries of libraries count).
Program inspect_program(const std::string& command);

bool loads(const Program& program, const std::string& library_prefix);

// The ABI of the MPI library that it will load: "mpich" (and what has the same ABI),
// "openmpi", or empty for none.
std::string mpi_of(const Program& program);

}  // namespace refrain::tools
