#include "tools/programs/installation.h"

#include <cstdlib>
#include <filesystem>

#include "tools/programs/shared_libraries.h"

namespace refrain::tools {
namespace {
namespace fs = std::filesystem;

// The number at the end of a directory's name, as in llvm-19; -1 if there is none.
int version_of(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  return dash == std::string::npos ? -1 : std::atoi(name.c_str() + dash + 1);
}

// Of the runtimes in directories named llvm-N of this one.
std::string newest_libomp(const fs::path& folder) {
  std::error_code error;
  fs::path best;
  int best_version = -1;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.rfind("llvm-", 0) != 0 || version_of(name) <= best_version) continue;
    for (const char* library : {"libomp.so.5", "libomp.so"})
      if (const fs::path candidate = entry.path() / "lib" / library;
          fs::exists(candidate, error)) {
        best = candidate;
        best_version = version_of(name);
        break;
      }
  }
  return best;
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

std::string find_variant(const std::string& library, const std::string& name) {
  std::error_code error;
  const fs::path variant = fs::path(library).parent_path() / ("librefrain_" + name + ".so");
  return fs::exists(variant, error) ? variant.string() : std::string();
}

std::string find_loop_tool() {
  std::error_code error;
  if (const char* given = std::getenv("REFRAIN_LOOP_TOOL"))
    return fs::exists(given, error) ? fs::absolute(given).string() : std::string();
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../libexec/refrain/refrainloops-amd64-linux",
                            "../code_profile/counter/refrainloops-amd64-linux"})
    if (fs::exists(here / place, error)) return (here / place).lexically_normal();
  return {};
}

std::string find_libomp(const std::string& wanted) {
  std::error_code error;
  if (!wanted.empty())
    return fs::exists(wanted, error) ? fs::absolute(wanted).string() : std::string();
  if (std::string newest = newest_libomp("/usr/lib"); !newest.empty()) return newest;
  for (const char* name : {"libomp.so.5", "libomp.so"})
    if (std::string path = find_shared_library(name); !path.empty()) return path;
  // What tools/setup has unpacked where it could not be installed.
  const char* home = std::getenv("HOME");
  return home == nullptr
             ? ""
             : newest_libomp(fs::path(home) / ".cache/refrain/packages/usr/lib");
}

}  // namespace refrain::tools
