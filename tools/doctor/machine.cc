#include "tools/doctor/machine.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "base/processor.h"
#include "base/quantity_text.h"
#include "spool/spool_folder.h"
#include "tools/programs/elf_program.h"
#include "tools/programs/shared_libraries.h"

namespace refrain::tools {
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
      Helper{"Capstone", "libcapstone.so.4", "names loops by their machine code",
             "without it loops get less exact names (Debian: libcapstone4)"},
      Helper{"PAPI", "libpapi.so", "counters of the processor",
             "--counters knows only the system's counters (Debian: libpapi-dev)"},
  };
  for (const Helper& helper : kHelpers) {
    std::string path = find_shared_library(helper.library);
    for (const char* version : {".7.1", ".7.0", ".6.0", ".5.7"})
      if (path.empty()) path = find_shared_library(std::string(helper.library) + version);
    if (path.empty())
      checks.push_back({State::kAbsent, helper.name,
                        fmt::format("{} was not found", helper.library), helper.advice});
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
  const spool::FoundArchives found = spool::find_archives("", folder, 0);
  if (!found.left.empty())
    checks.push_back({State::kNote, "recordings",
                      fmt::format("{} of killed runs, the first is {}", found.left.size(),
                                  found.left.front()),
                      "refrain recover DIR makes the archive"});
}

}  // namespace refrain::tools
