#include "spool/recording_process.h"

#include <signal.h>

#include <filesystem>
#include <system_error>

#include "base/folder.h"
#include "spool/spool_folder.h"

namespace refrain::spool {

namespace fs = std::filesystem;

// Process numbers are reused, so one counts only if it has one of the spool's files open.
long recording_process(const std::string& archive) {
  const SpoolFolder folder = open_spool_folder(archive);
  for (const ProcessSpool& process : folder.processes) {
    const auto pid = static_cast<long>(process.journal.facts().pid);
    if (process.journal.facts().ended || pid <= 0 || kill(static_cast<pid_t>(pid), 0) != 0)
      continue;
    std::error_code error;
    const fs::path spool = fs::canonical(process.folder, error);
    if (error) continue;
    const fs::path descriptors = "/proc/" + std::to_string(pid) + "/fd";
    std::error_code ignored;
    for (const std::string& name : base::names_in(descriptors.string(), error))
      if (fs::read_symlink(descriptors / name, ignored)
              .string()
              .starts_with(spool.string() + "/"))
        return pid;
  }
  return 0;
}

}  // namespace refrain::spool
