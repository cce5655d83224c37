// Of a command that runs Python: which one, and whose MPI its mpi4py uses.
//
// A Python names no MPI: mpi4py brings it when the program imports it. Errors: what cannot be found out is empty.
// Cost: find_python() reads the first line of each word that is a program; mpi4py_of() starts the Python once.
#pragma once

#include <string>
#include <vector>

namespace refrain::tools {

// The path of the Python that a word of the command is ("python3", a path to one), or that a script among the
// words names in its first line; empty: there is none. It may be none that can be run.
std::string find_python(const std::vector<std::string>& command);

// The name of the ABI that mpi4py's own library needs, as --mpi has it. Empty: no mpi4py, one of an MPI that is not
// known, or one that chooses when it is imported. Nothing of mpi4py is run.
std::string mpi4py_of(const std::string& python);

}  // namespace refrain::tools
