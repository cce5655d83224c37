// Which MPI a command's processes use, and so which library traces them.
//
// Place in the flow: ARCHITECTURE.md, stage 1 (run_command.h). What the program names decides; where it names none
// (Python, plugins), whose launcher starts it, and of a Python what its mpi4py uses. What is not refused is
// reported in one line, for the program does as it would untraced.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/programs/elf_program.h"

namespace refrain::tools {

struct MpiChoice {
  std::string mpi;      // "mpich", "openmpi"; empty: none that is traced
  std::string preload;  // path of MPI's library, where the program does not name it
  std::string report;   // what the user should know of a run that goes on
};

// `wanted`: auto, none, or a name. `first`: the program of the command's first word; `traced`: that which MPI's
// processes run.
// A failure: the run is refused.
base::Result<MpiChoice> choose_mpi(const std::string& wanted,
                                   const std::vector<std::string>& command,
                                   const Program& first, const Program& traced);

// A Python, or a script for one, that a launcher of MPI starts: it loads MPI later, with mpi4py.
bool is_python_of_mpi(const std::vector<std::string>& command);

// One of several that a launcher has started, and no process of MPI: each has an archive of its own.
bool is_task_of_its_own(const MpiChoice& choice, const std::vector<std::string>& command);

// Of `mpirun -n 4 ./app` the app, also where a shell's script starts it by that name; of anything else the program itself.
Program find_traced(const std::vector<std::string>& command, const Program& first);

// Of a command that runs Python: which one, and whose MPI its mpi4py uses.
//
// A Python names no MPI: mpi4py brings it when the program imports it. Errors: what cannot be found out is empty.
// Cost: find_python() reads the first line of each word that is a program; mpi4py_of() starts the Python once.

// The path of the Python that a word of the command is ("python3", a path to one), or that a script among the
// words names in its first line; empty: there is none. It may be none that can be run.
std::string find_python(const std::vector<std::string>& command);

// The name of the ABI that mpi4py's own library needs, as --mpi has it. Empty: no mpi4py, one of an MPI that is not
// known, or one that chooses when it is imported. Nothing of mpi4py is run.
std::string mpi4py_of(const std::string& python);

}  // namespace refrain::tools
