#include "tools/doctor/runtimes.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/processor.h"
#include "base/texts.h"
#include "spool/spool_folder.h"
#include "tools/doctor/trial.h"
#include "tools/programs/elf_program.h"
#include "tools/programs/installation.h"
#include "tools/programs/mpi_abi.h"
#include "tools/programs/openmp_choice.h"
#include "tools/programs/shared_libraries.h"

namespace refrain::tools {

namespace {

using State = Check::State;

constexpr const char* kInstall =
    "install any from LLVM 13 on (Debian: the newest libomp5-N that apt has), or name it in "
    "REFRAIN_LIBOMP";

std::string libomp() { return find_libomp(wanted_libomp()); }

void check_openmp(Checks& checks, const std::string& folder) {
  if (wanted_libomp() == kNoLibomp) {
    checks.push_back(
        {State::kNote, "OpenMP",
         "none (REFRAIN_LIBOMP): OpenMP of programs built by gcc is not traced", ""});
    return;
  }
  const std::string runtime = libomp();
  if (runtime.empty()) {
    checks.push_back(
        {State::kProblem, "OpenMP", "LLVM's OpenMP runtime (libomp.so.5) was not found",
         std::string("programs built by gcc cannot be traced without it; ") + kInstall});
    return;
  }
  Check check{State::kWorks, "OpenMP", runtime, ""};
  if (!folder.empty()) {
    const Trial trial = try_openmp(folder);
    check.text += "; " + trial.text;
    if (!trial.works) {
      check.state = State::kProblem;
      check.advice =
          "this runtime or directory cannot be used; REFRAIN_LIBOMP names another runtime";
    }
  }
  checks.push_back(check);
}

// Open MPI's mpirun refuses to be started by root, unless two variables say that it may.
bool refuses_root(const MpiAbi& abi) {
  return std::string_view(abi.name) == "openmpi" && geteuid() == 0 &&
         std::getenv("OMPI_ALLOW_RUN_AS_ROOT") == nullptr;
}

void try_launcher(Check& check, const MpiAbi& abi, const std::string& folder) {
  const std::string launcher = find_launcher(abi);
  if (launcher.empty()) {
    check.text +=
        std::string("; not tested: no mpiexec found for ") + abi.title + " in PATH";
    return;
  }
  if (refuses_root(abi)) {
    check.text += "; not tested: its mpiexec does not run as root (OMPI_ALLOW_RUN_AS_ROOT)";
    return;
  }
  const Trial trial = try_mpi(folder, launcher, abi.name);
  check.text += fmt::format("; {} ({})", trial.text, launcher);
  if (trial.works) return;
  check.state = State::kProblem;
  check.advice = fmt::format("test it by hand: {} -n 2 refrain run -- ./app", launcher);
}

void check_mpi(Checks& checks, const MpiAbi& abi, const std::string& library,
               const std::string& folder) {
  const std::string path = find_mpi_library(abi);
  if (path.empty()) {
    checks.push_back({State::kAbsent, abi.title,
                      fmt::format("no library of its ABI ({})", abi.libraries[0]),
                      "programs with it cannot run here"});
    return;
  }
  if (find_variant(library, abi.name).empty()) {
    checks.push_back(
        {State::kProblem, abi.title,
         fmt::format("{}, but librefrain_{}.so is not there", path, abi.name),
         "its MPI calls cannot be traced; install Refrain again, built with this MPI"});
    return;
  }
  Check check{State::kWorks, abi.title, path, ""};
  if (!folder.empty()) try_launcher(check, abi, folder);
  checks.push_back(check);
}

Check openmp_of(const Program& program) {
  const char* name = "its OpenMP";
  if (const std::string why = why_devices_are_not_traced(program); !why.empty())
    return {State::kProblem, name, "LLVM's runtime, with devices", why};
  const auto choice = choose_openmp(program, wanted_libomp());
  if (choice && !choice->report.empty()) return {State::kNote, name, choice->report, ""};
  if (!choice)
    return {State::kProblem, name,
            "libgomp, and LLVM's libomp is not there to take its place", kInstall};
  if (loads(program, "libgomp.so"))
    return {State::kWorks, name,
            "libgomp: " + choice->preload + " takes its place while it is traced", ""};
  if (loads(program, "libomp.so") || loads(program, "libiomp5.so"))
    return {State::kWorks, name, "LLVM's or Intel's runtime: traced as it is", ""};
  return {State::kNote, name, "no OpenMP runtime linked",
          "unless it loads one later, only MPI and user regions (refrain.h) are recorded"};
}

Check mpi_of_program(const Program& program, const std::string& library) {
  const char* name = "its MPI";
  const std::string mpi = mpi_of(program);
  const std::string other = other_mpi_of(program);
  if (!other.empty())
    return {State::kProblem, name, other + ", which is not supported",
            "its MPI calls are not traced; link it with MPICH or Open MPI"};
  if (has_mpi_inside(program))
    return {State::kProblem, name, "linked into it statically",
            "its MPI calls are not traced; link it with the shared library"};
  if (mpi.empty()) return {State::kWorks, name, "none", ""};
  const MpiAbi& abi = *find_mpi_abi(mpi);
  if (find_variant(library, mpi).empty())
    return {State::kProblem, name,
            fmt::format("{}, but librefrain_{}.so was not found", abi.title, mpi),
            "install Refrain again, built with this MPI"};
  return {State::kWorks, name,
          fmt::format("{}, or a library of its ABI: traced", abi.title), ""};
}

}  // namespace

void check_runtimes(Checks& checks, const std::string& folder) {
  const std::string library = find_library();
  if (library.empty()) {
    checks.push_back({State::kProblem, "library",
                      "librefrain.so was not found next to this command",
                      "install Refrain again, or name the library in REFRAIN_LIBRARY"});
    return;
  }
  checks.push_back({State::kWorks, "library", library, ""});
  check_openmp(checks, folder);
  for (const MpiAbi& abi : kMpiAbis) check_mpi(checks, abi, library, folder);
}

void check_program(Checks& checks, const std::string& command) {
  const Program program = inspect_program(command);
  if (program.path.empty()) {
    checks.push_back({State::kProblem, "program", why_no_program(command), ""});
    return;
  }
  if (program.alone) {
    checks.push_back({State::kProblem, "program", program.path + " is linked statically",
                      "it cannot be traced; link it with shared libraries"});
    return;
  }
  if (program.privileged) {
    checks.push_back(
        {State::kProblem, "program",
         program.path + " runs with other privileges than yours (setuid, capabilities)",
         "no library can be loaded into it; a copy without these privileges can be traced"});
    return;
  }
  if (!program.dynamic) {
    checks.push_back({State::kNote, "program", program.path + " is a script",
                      "the programs that it starts are traced"});
    return;
  }
  checks.push_back({State::kWorks, "program", program.path, ""});
  checks.push_back(openmp_of(program));
  checks.push_back(mpi_of_program(program, find_library()));
}

std::string runtimes_text() {
  const std::string runtime = libomp();
  std::string text =
      fmt::format("OpenMP runtime: {}\n", runtime.empty() ? "none found" : runtime);
  const std::string library = find_library();
  for (const MpiAbi& abi : kMpiAbis) {
    const std::string path = find_mpi_library(abi);
    const bool traced = !find_variant(library, abi.name).empty();
    text += fmt::format("{}: {}{}\n", abi.title, path.empty() ? "none found" : path,
                        path.empty() || traced ? "" : " (not traced)");
  }
  return text;
}

namespace {

using State = Check::State;

std::string first_line(const char* file) {
  std::ifstream input(file);
  std::string line;
  std::getline(input, line);
  return line;
}

// File systems of several machines: the numbers that statfs(2) gives.
const char* network_file_system(unsigned long type) {
  switch (type) {
    case 0x6969:
      return "NFS";
    case 0x0BD00BD0:
      return "Lustre";
    case 0x47504653:
      return "GPFS";
    case 0x19830326:
      return "BeeGFS";
    case 0x65735546:
      return "FUSE";
    case 0xFF534D42:
      return "CIFS";
    case 0x00C36400:
      return "Ceph";
    default:
      return nullptr;
  }
}

void check_space(Checks& checks, const std::string& folder) {
  struct statfs space {};
  if (statfs(folder.c_str(), &space) != 0) return;
  const std::uint64_t free_bytes =
      std::uint64_t{space.f_bavail} * static_cast<std::uint64_t>(space.f_bsize);
  constexpr std::uint64_t kLittle = 1'000'000'000;
  const char* network = network_file_system(static_cast<unsigned long>(space.f_type));
  Check check{
      State::kWorks, "directory",
      fmt::format("{}: can be written, {} free", folder, base::bytes_text(free_bytes)), ""};
  if (free_bytes < kLittle) {
    check.state = State::kNote;
    check.advice =
        "a full disk ends the recording, not the program; --disk-limit sets a limit";
  } else if (network != nullptr) {
    check.state = State::kNote;
    check.text += fmt::format(", on {}", network);
    check.advice =
        "a killed run may lose the last 96 KiB of a thread where pages and writes are not "
        "coherent";
  }
  checks.push_back(check);
}

}  // namespace

void check_helpers(Checks& checks) {
  struct Helper {
    const char* name;
    const char* library;
    const char* use;
    const char* advice;
  };
  constexpr std::array kHelpers{
      Helper{"Zydis", "libZydis.so.4.0", "names loops by their machine code",
             "without it loops get less exact names (Debian: libzydis4.0)"},
      Helper{"PAPI", "libpapi.so", "counters of the processor",
             "--counters knows only the system's counters (Debian: libpapi-dev)"},
  };
  for (const Helper& helper : kHelpers) {
    std::string path = find_shared_library(helper.library);
    for (const char* version : {".7.1", ".7.0", ".6.0", ".5.7"})
      if (path.empty()) path = find_shared_library(std::string(helper.library) + version);
    void* const loaded =
        path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (path.empty())
      checks.push_back({State::kAbsent, helper.name,
                        fmt::format("{} was not found", helper.library), helper.advice});
    else if (loaded == nullptr)
      checks.push_back({State::kAbsent, helper.name,
                        fmt::format("{} cannot be loaded", path), helper.advice});
    else
      checks.push_back(
          {State::kWorks, helper.name, fmt::format("{}: {}", path, helper.use), ""});
  }
  const std::string dot = find_program("dot");
  if (dot.empty())
    checks.push_back({State::kAbsent, "Graphviz", "the program dot was not found",
                      "refrain graph --to svg needs it (Debian: graphviz)"});
  else
    checks.push_back({State::kWorks, "Graphviz", dot + ": draws graphs", ""});
}

void check_clock(Checks& checks) {
  const std::string source =
      first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (base::is_counter_source(source) || base::is_virtual_source(source))
    checks.push_back(
        {State::kWorks, "clock",
         fmt::format("the processor's {}{}", base::kCounterName,
                     base::is_virtual_source(source)
                         ? ", synchronized between processors (virtual machine)"
                         : ""),
         ""});
  else
    checks.push_back({State::kNote, "clock",
                      fmt::format("the kernel's clock, because the kernel does not trust "
                                  "the processor's counter (clock source: {})",
                                  source.empty() ? "unknown" : source),
                      "each time stamp takes about 12 ns longer"});
}

void check_limits(Checks& checks) {
  rlimit size{};
  if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY)
    checks.push_back({State::kNote, "limit",
                      fmt::format("file size limited to {} (ulimit -f)",
                                  base::bytes_text(size.rlim_cur)),
                      "recording ends there, the program goes on"});
  rlimit files{};
  constexpr rlim_t kFew = 256;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kFew)
    checks.push_back({State::kNote, "limit",
                      fmt::format("{} open files (ulimit -n)", files.rlim_cur),
                      "each thread needs one; threads without one are not recorded"});
}

void check_folder(Checks& checks, const std::string& folder) {
  if (access(folder.c_str(), W_OK) != 0) {
    checks.push_back({State::kProblem, "directory",
                      fmt::format("{}: {}", folder, std::strerror(errno)),
                      "use another one: refrain run -o DIR/NAME"});
    return;
  }
  check_space(checks, folder);
  spool::FoundArchives found = spool::find_archives("", folder, 0);
  found.left.insert(found.left.end(), found.reported.begin(), found.reported.end());
  if (!found.left.empty())
    checks.push_back({State::kNote, "recordings",
                      fmt::format("{} without an archive, the first is {}",
                                  found.left.size(), found.left.front()),
                      "refrain recover DIR makes the archive"});
}

}  // namespace refrain::tools
