// The MPI libraries that Refrain has wrappers for, and which one a program or a launcher belongs to.
//
// An ABI is what programs linked with one library share with those linked with another: MPICH's is that of Intel's,
// MVAPICH's and Cray's MPI, too. Errors: what cannot be read belongs to none.
#pragma once

#include <array>
#include <string>

#include "tools/programs/elf_program.h"

namespace refrain::tools {

struct MpiAbi {
  const char* name;   // of --mpi, and of librefrain_<name>.so
  const char* title;  // for people
  std::array<const char*, 2>
      libraries;  // the same ABI; the first is that of its own package
  std::array<const char*, 4> launchers;  // names that are its own come first
};
extern const std::array<MpiAbi, 2> kMpiAbis;

// Null: there is none of that name.
const MpiAbi* find_mpi_abi(const std::string& name);

// The path of its library on this machine, and of a launcher in PATH that belongs to it; empty if there is none.
std::string find_mpi_library(const MpiAbi& abi);
std::string find_launcher(const MpiAbi& abi);

// The name of the ABI of the MPI library that a program will load; empty for none of these.
std::string mpi_of(const Program& program);

// A library of MPI that it will load and that has none of these ABIs; empty if there is none.
std::string other_mpi_of(const Program& program);

// MPI is linked into it statically: no other library's procedures are called. Of a program without symbols this
// is not known.
bool has_mpi_inside(const Program& program);

// Of a program that starts processes of MPI (mpirun): the name of the ABI; empty if it is none, or may be any.
std::string mpi_of_launcher(const Program& launcher);

}  // namespace refrain::tools
