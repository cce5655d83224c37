#include "tools/programs/installation.h"

#include <cstdlib>
#include <filesystem>

#include "base/processor.h"

namespace refrain::tools {
namespace {
namespace fs = std::filesystem;

// The number at the end of a folder's name, as in llvm-19; -1 if there is none.
int version_of(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  return dash == std::string::npos ? -1 : std::atoi(name.c_str() + dash + 1);
}
}  // namespace

std::string find_library() {
  std::error_code error;
  if (const char* given = std::getenv("REFRAIN_LIBRARY"))
    return fs::exists(given, error) ? fs::absolute(given).string() : std::string();
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../lib/librefrain.so", "../lib/refrain/librefrain.so",
                            "../tracer/librefrain.so", "../../tracer/librefrain.so"})
    if (fs::exists(here / place, error)) return (here / place).lexically_normal();
  return {};
}

std::string find_variant(const std::string& library, const std::string& mpi) {
  std::error_code error;
  const fs::path variant = fs::path(library).parent_path() / ("librefrain_" + mpi + ".so");
  return fs::exists(variant, error) ? variant.string() : std::string();
}

std::string find_loop_tool() {
  std::error_code error;
  if (const char* given = std::getenv("REFRAIN_LOOP_TOOL"))
    return fs::exists(given, error) ? fs::absolute(given).string() : std::string();
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../libexec/refrain/refrainloops-amd64-linux",
                            "../loops/exact/refrainloops-amd64-linux"})
    if (fs::exists(here / place, error)) return (here / place).lexically_normal();
  return {};
}

std::string find_libomp(const std::string& wanted) {
  std::error_code error;
  if (!wanted.empty())
    return fs::exists(wanted, error) ? fs::absolute(wanted).string() : std::string();
  fs::path best;
  int best_version = -1;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/lib", error)) {
    const std::string name = entry.path().filename();
    const fs::path candidate = entry.path() / "lib" / "libomp.so.5";
    if (name.rfind("llvm-", 0) != 0 || !fs::exists(candidate, error)) continue;
    if (version_of(name) > best_version) best = candidate, best_version = version_of(name);
  }
  if (!best.empty()) return best;
  for (const char* folder : {"/usr/lib/" REFRAIN_MULTIARCH, "/usr/lib64", "/usr/lib"})
    for (const char* name : {"libomp.so.5", "libomp.so"})
      if (fs::exists(fs::path(folder) / name, error)) return fs::path(folder) / name;
  return {};
}

}  // namespace refrain::tools
