#include "tools/programs/mpi_abi.h"

#include <algorithm>
#include <filesystem>

#include "tools/programs/shared_libraries.h"

namespace refrain::tools {

const std::array<MpiAbi, 2> kMpiAbis{{
    {"mpich",
     "MPICH",
     {"libmpich.so.12", "libmpi.so.12"},
     {"mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra", "mpiexec"}},
    {"openmpi",
     "Open MPI",
     {"libmpi.so.40", "libmpi.so.40"},
     {"mpiexec.openmpi", "mpirun.openmpi", "orterun", "mpiexec"}},
}};

const MpiAbi* find_mpi_abi(const std::string& name) {
  const auto found = std::find_if(kMpiAbis.begin(), kMpiAbis.end(),
                                  [&](const MpiAbi& abi) { return abi.name == name; });
  return found == kMpiAbis.end() ? nullptr : &*found;
}

std::string find_mpi_library(const MpiAbi& abi) {
  for (const char* name : abi.libraries)
    if (std::string path = find_shared_library(name); !path.empty()) return path;
  return {};
}

std::string find_launcher(const MpiAbi& abi) {
  for (const char* name : abi.launchers) {
    const Program launcher = inspect_program(name);
    if (!launcher.path.empty() && mpi_of_launcher(launcher) == abi.name)
      return launcher.path;
  }
  return {};
}

std::string mpi_of(const Program& program) {
  for (const MpiAbi& abi : kMpiAbis)
    for (const char* library : abi.libraries)
      if (loads(program, library)) return abi.name;
  return {};
}

std::string other_mpi_of(const Program& program) {
  if (!mpi_of(program).empty()) return {};
  for (const std::string& name : program.libraries)
    for (const char* begin : {"libmpi.so.", "libmpi_abi.so.", "libmpich.so.", "libmpt.so"})
      if (name.rfind(begin, 0) == 0) return name;
  return {};
}

bool has_mpi_inside(const Program& program) {
  return !program.path.empty() && mpi_of(program).empty() &&
         other_mpi_of(program).empty() && defines(program.path, "PMPI_Init");
}

std::string mpi_of_launcher(const Program& launcher) {
  if (loads(launcher, "libopen-rte.so.") || loads(launcher, "libprrte.so."))
    return "openmpi";
  std::error_code error;
  const std::string name =
      std::filesystem::canonical(launcher.path, error).filename().string();
  if (name.rfind("mpiexec.hydra", 0) == 0 || name.find("mpich") != std::string::npos)
    return "mpich";
  return {};
}

}  // namespace refrain::tools
