#include "tools/programs/installation.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tools/programs/elf_program.h"
#include "tools/programs/shared_libraries.h"

namespace refrain::tools {
namespace {
namespace fs = std::filesystem;

// The number at the end of a directory's name, as in llvm-19; -1 if there is none.
int version_of(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  return dash == std::string::npos ? -1 : std::atoi(name.c_str() + dash + 1);
}

// Of a runtime in such a directory, also by links; -1: not known.
int version_of_libomp(const fs::path& libomp) {
  std::error_code error;
  for (const fs::path& path : {libomp, fs::canonical(libomp, error)})
    for (const fs::path& part : path)
      if (part.string().rfind("llvm-", 0) == 0) return version_of(part);
  return -1;
}

// A program's plugin may need what only a newer runtime has, and no older one: of those whose version is known the newest; one in
// another directory (of LD_LIBRARY_PATH) if it has what compilers call since then.
std::string newest_of(const std::vector<std::string>& found) {
  std::string best;
  for (const std::string& each : found) {
    if (each.empty()) continue;
    if (best.empty()) {
      best = each;
      continue;
    }
    const int version = version_of_libomp(each), other = version_of_libomp(best);
    const bool newer = version >= 0 && other >= 0 ? version > other
                                                  : entry_points(each) > entry_points(best);
    // It may be of another program, or half of it.
    if (newer && defines(each, "__kmpc_fork_call")) best = each;
  }
  return best;
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
  std::vector<std::string> found{newest_libomp("/usr/lib")};
  for (const char* name : {"libomp.so.5", "libomp.so"})
    found.push_back(find_shared_library(name));
  if (std::string newest = newest_of(found); !newest.empty()) return newest;
  // What tools/setup has unpacked where it could not be installed.
  const char* home = std::getenv("HOME");
  return home == nullptr
             ? ""
             : newest_libomp(fs::path(home) / ".cache/refrain/packages/usr/lib");
}

}  // namespace refrain::tools
