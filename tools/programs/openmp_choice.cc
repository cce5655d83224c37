#include "tools/programs/openmp_choice.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tools/programs/installation.h"
#include "tools/programs/shared_libraries.h"

namespace refrain::tools {

namespace {

bool has_llvm(const Program& program) {
  return loads(program, "libomp.so") || loads(program, "libiomp5.so") ||
         loads(program, "libomp-");
}

std::string llvm_of(const Program& program) {
  for (const char* name : {"libomp.so", "libiomp5.so", "libomp-"})
    if (std::string file = file_of(program, name); !file.empty()) return file;
  return {};
}

struct Unserved {
  const char* symbol;
  const char* feature;
};
// What LLVM's runtime does not do for programs of gcc's, or does wrongly.
constexpr Unserved kUnserved[] = {
    {"omp_fulfill_event", "detached tasks"},
    {"omp_fulfill_event_", "detached tasks"},
    {"GOMP_loop_start", "reductions of loops with inscan or task"},
    {"GOMP_loop_ull_start", "reductions of loops with inscan or task"},
    {"GOMP_loop_ordered_start", "reductions of loops with inscan or task"},
    {"GOMP_loop_ull_ordered_start", "reductions of loops with inscan or task"},
    {"GOMP_loop_doacross_start", "reductions of loops with inscan or task"},
    {"GOMP_loop_ull_doacross_start", "reductions of loops with inscan or task"},
    {"GOMP_loop_ull_doacross_static_start", "doacross loops over unsigned long"},
    {"GOMP_loop_ull_doacross_dynamic_start", "doacross loops over unsigned long"},
    {"GOMP_loop_ull_doacross_guided_start", "doacross loops over unsigned long"},
    {"GOMP_loop_ull_doacross_runtime_start", "doacross loops over unsigned long"},
    {"GOMP_sections2_start", "reductions of sections with task"},
    {"GOMP_scope_start", "reductions of scopes with task"},
};

// LLVM's runtime would be traced there, too. A program without a table of symbols is not known.
bool has_libgomp_inside(const Program& program) {
  return defines(program.path, "GOMP_parallel") &&
         !defines(program.path, "__kmpc_fork_call");
}

// LLVM's runtime registers itself in shared memory. Where there is none it ends the program, or the first touch does: a page is
// tried here. 0: there is; else errno.
int why_no_shared_memory() {
  const std::string name = "/refrain-" + std::to_string(getpid());
  const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0) return errno;
  const int why = posix_fallocate(file, 0, sysconf(_SC_PAGESIZE));
  close(file);
  shm_unlink(name.c_str());
  return why;
}

// Newer ones do with a file in /tmp, where nothing is mounted at all.
std::string why_llvm_cannot_start(const std::string& runtime) {
  const int why = why_no_shared_memory();
  if (why == 0 || (why == ENOENT && contains(runtime, "/tmp/%s"))) return {};
  return std::string(
             "LLVM's OpenMP runtime needs shared memory, which cannot be made (/dev/shm: ") +
         std::strerror(why) +
         "), so programs by gcc keep libgomp: their parallel regions are not traced";
}

struct Use {
  std::string file;
  const char* feature = nullptr;
};

Use unserved_use(const Program& program) {
  std::vector<std::string> files = program.files;
  files.insert(files.begin(), program.path);
  for (const std::string& file : files) {
    bool of_gcc = false;
    for (const std::string& name : named_libraries(file))
      of_gcc |= name.rfind("libgomp.so", 0) == 0;
    if (!of_gcc) continue;
    for (const Unserved& one : kUnserved)
      if (imports(file, one.symbol)) return {file, one.feature};
  }
  return {};
}

}  // namespace

std::string wanted_libomp() {
  const char* wanted = std::getenv("REFRAIN_LIBOMP");
  return wanted == nullptr ? "" : wanted;
}

base::Result<OpenMpChoice> choose_openmp(const Program& program,
                                         const std::string& wanted) {
  OpenMpChoice choice;
  const bool gcc = loads(program, "libgomp.so");
  const bool llvm = program.dynamic && has_llvm(program);
  if (llvm && !gcc) return choice;
  if (!gcc && program.dynamic && has_libgomp_inside(program))
    choice.report = "'" + program.path +
                    "' has libgomp linked into it statically: its parallel regions are not "
                    "traced; link it with the shared library";
  if (wanted == kNoLibomp) {
    if (gcc)
      choice.report =
          "'" + program.path +
          "' keeps libgomp as requested: parallel regions are not traced, only MPI, "
          "regions of refrain.h and samples (--loops)";
    return choice;
  }
  if (gcc) {
    if (const Use use = unserved_use(program); use.feature != nullptr) {
      choice.report =
          "'" + use.file + "' uses " + use.feature +
          ", which needs libgomp, and libgomp has no tools interface: parallel regions of "
          "code built by gcc are not traced; build with clang";
      return choice;
    }
  }
  choice.preload = llvm ? llvm_of(program) : find_libomp(wanted);
  if (!llvm && !choice.preload.empty())
    if (std::string why = why_llvm_cannot_start(choice.preload); !why.empty()) {
      choice.preload.clear();
      choice.report = std::move(why);
      return choice;
    }
  choice.replaces = gcc && !choice.preload.empty();
  if (choice.replaces || !gcc) return choice;
  if (llvm)
    choice.report =
        "'" + program.path +
        "' uses two OpenMP runtimes: parallel regions of code built by gcc are not traced";
  else
    return base::Failure{"'" + program.path +
                         "' uses libgomp, and LLVM's libomp to replace it was not found "
                         "(REFRAIN_LIBOMP)"};
  return choice;
}

std::string sanitizer_of(const Program& program) {
  for (const char* name : {"libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so",
                           "libclang_rt.asan", "libclang_rt.hwasan", "libclang_rt.tsan"})
    if (std::string file = file_of(program, name); !file.empty()) return file;
  return {};
}

namespace {

namespace fs = std::filesystem;

// The directory of LLVM's libraries that has libomp.so, of the program's own version where that is known; empty if none is.
std::string folder_of_libomp(const Program& program) {
  for (const std::string& library :
       {file_of(program, "libomptarget.so"), find_libomp(wanted_libomp())}) {
    std::error_code error;
    const fs::path folder = fs::canonical(library, error).parent_path();
    if (!error && fs::exists(folder / "libomp.so", error)) return folder;
  }
  return {};
}

}  // namespace

std::string why_devices_are_not_traced(const Program& program) {
  if (!loads(program, "libomptarget.so") || !find_shared_library("libomp.so").empty())
    return {};
  const std::string folder = folder_of_libomp(program);
  return "its target constructs are not recorded because LLVM's libomptarget does not "
         "find libomp.so; set LD_LIBRARY_PATH=" +
         (folder.empty() ? "(its directory)" : folder);
}

}  // namespace refrain::tools
