#include "tracer/runtime/recording_folder.h"

#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/folder.h"
#include "spool/recording_process.h"

namespace refrain::runtime {
namespace {

namespace fs = std::filesystem;

std::string default_name(const std::string& program) {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  char date[32];
  strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
  return "refrain-" + fs::path(program).filename().string() + "-" + date;
}

bool is_ours(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "spool", ignored) ||
         fs::exists(folder / "traces.otf2", ignored) ||
         fs::exists(folder / "traces.prv", ignored);
}

}  // namespace

ArchiveFolder make_archive_folder(const std::string& wanted, const std::string& program,
                                  std::uint32_t process, bool overwrite) {
  ArchiveFolder out;
  std::error_code error;
  const fs::path base =
      fs::absolute(wanted.empty() ? default_name(program) : wanted, error);
  if (error) {
    out.error = "cannot read the current folder: " + error.message();
    return out;
  }
  // An archive that a parent of this process is just making is none to be replaced.
  if (overwrite && is_ours(base) && spool::recording_process(base) == 0)
    base::remove_tree(base.string());
  fs::create_directories(base.parent_path(), error);
  // The spool folder is the token: whoever makes it owns the archive's folder.
  fs::path folder = base;
  for (int i = 2;; ++i) {
    const bool made = mkdir(folder.c_str(), 0777) == 0;
    const int why = errno;
    const bool usable =
        made || (why == EEXIST && base::names_in(folder.string(), error).empty() && !error);
    if (usable && mkdir((folder / "spool").c_str(), 0777) == 0) break;
    if ((!made && why != EEXIST) || (usable && errno != EEXIST) || i > 9999) {
      out.error = "cannot make the folder '" + folder.string() +
                  "': " + std::strerror(usable ? errno : why);
      return out;
    }
    folder = base.string() + "." + std::to_string(i);
  }
  const fs::path spool = folder / "spool" / ("process-" + std::to_string(process));
  error.clear();
  fs::create_directories(spool, error);
  if (error)
    out.error = "cannot make the folder '" + spool.string() + "': " + error.message();
  out.archive = folder.string();
  out.spool = spool.string();
  return out;
}

ArchiveFolder make_provisional_folder(const std::string& wanted,
                                      const std::string& program) {
  std::error_code error;
  const fs::path where =
      wanted.empty() ? fs::path(".") : fs::absolute(wanted, error).parent_path();
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof host - 1);
  const std::string name = ".refrain-" + fs::path(program).filename().string() + "-" +
                           host + "-" + std::to_string(getpid());
  return make_archive_folder((where / name).string(), program, 0, true);
}

void remove_empty(const ArchiveFolder& folder) noexcept {
  rmdir(folder.spool.c_str());
  rmdir((folder.archive + "/spool").c_str());
  rmdir(folder.archive.c_str());
}

void remove_spool(const ArchiveFolder& folder) noexcept {
  base::remove_tree(folder.spool);
  remove_empty(folder);
}

ArchiveFolder move_spool(const ArchiveFolder& from, const std::string& archive,
                         std::uint32_t process) {
  ArchiveFolder out;
  const fs::path to = fs::path(archive) / "spool" / ("process-" + std::to_string(process));
  if (rename(from.spool.c_str(), to.c_str()) != 0) {
    out.error = "cannot move '" + from.spool + "' to '" + to.string() +
                "': " + std::strerror(errno);
    return out;
  }
  remove_empty(from);
  out.archive = archive;
  out.spool = to.string();
  return out;
}

}  // namespace refrain::runtime
