#include "tools/programs/device_tools.h"

#include <cstdlib>
#include <filesystem>

#include "tools/programs/installation.h"
#include "tools/programs/shared_libraries.h"

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

// The directory of LLVM's libraries that has libomp.so; empty if none is known.
std::string folder_of_libomp() {
  const char* wanted = std::getenv("REFRAIN_LIBOMP");
  std::error_code error;
  const fs::path libomp =
      fs::canonical(find_libomp(wanted == nullptr ? "" : wanted), error);
  if (error || !fs::exists(libomp.parent_path() / "libomp.so", error)) return {};
  return libomp.parent_path();
}

}  // namespace

std::string why_devices_are_not_traced(const Program& program) {
  if (!loads(program, "libomptarget.so") || !find_shared_library("libomp.so").empty())
    return {};
  const std::string folder = folder_of_libomp();
  return "its target constructs are not recorded because LLVM's libomptarget does not "
         "find libomp.so; set LD_LIBRARY_PATH=" +
         (folder.empty() ? "(its directory)" : folder);
}

}  // namespace refrain::tools
