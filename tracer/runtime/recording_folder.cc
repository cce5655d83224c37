#include "tracer/runtime/recording_folder.h"

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
#include "spool/spool_folder.h"
#include "spool/spool_place.h"
#include "tracer/recorder/no_size_signal.h"

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

std::string with_host_and_process(const std::string& prefix, const std::string& program) {
  return prefix + fs::path(program).filename().string() + "-" + spool::own_host() + "-" +
         std::to_string(getpid());
}

// The spool of process 0 in a folder that is ours.
void make_spool(ArchiveFolder& folder) {
  if (!folder.error.empty()) return;
  const fs::path spool = fs::path(folder.archive) / "spool" / "process-0";
  std::error_code error;
  fs::create_directories(spool, error);
  if (error)
    folder.error = "cannot make the folder '" + spool.string() + "': " + error.message();
  folder.spool = spool.string();
}

}  // namespace

ArchiveFolder make_bare_archive_folder(const std::string& wanted,
                                       const std::string& program, bool overwrite) {
  ArchiveFolder out;
  std::error_code error;
  const fs::path base =
      fs::absolute(wanted.empty() ? default_name(program) : wanted, error);
  if (error) {
    out.error = "cannot read the current folder: " + error.message();
    return out;
  }
  // An archive that a parent of this process is just making is none to be replaced.
  if (overwrite && is_ours(base) && spool::recording_process(base) == 0) {
    spool::remove_spools(base.string(), error);
    base::remove_tree(base.string());
  }
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
  out.archive = folder.string();
  return out;
}

ArchiveFolder make_archive_folder(const std::string& wanted, const std::string& program,
                                  bool overwrite) {
  ArchiveFolder out = make_bare_archive_folder(wanted, program, overwrite);
  make_spool(out);
  return out;
}

// What a killed process with the same number has left is kept: it belongs to an archive.
ArchiveFolder make_spool_elsewhere(const std::string& spool_dir,
                                   const std::string& program) {
  const std::string name = with_host_and_process(spool::kPlacePrefix, program);
  return make_archive_folder((fs::absolute(spool_dir) / name).lexically_normal().string(),
                             program, false);
}

ArchiveFolder place_spool(const ArchiveFolder& from, const std::string& archive,
                          std::uint32_t process) {
  const recorder::NoSizeSignal no_signal;
  ArchiveFolder out;
  out.error = spool::write_place(archive, process, {spool::own_host(), from.spool});
  if (!out.error.empty()) return out;
  spool::name_archive(from.archive, archive);
  out.archive = archive;
  out.spool = from.spool;
  return out;
}

ArchiveFolder make_provisional_folder(const std::string& wanted,
                                      const std::string& program) {
  std::error_code error;
  const fs::path where =
      wanted.empty() ? fs::path(".") : fs::absolute(wanted, error).parent_path();
  const std::string name = with_host_and_process(".refrain-", program);
  return make_archive_folder((where / name).string(), program, true);
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
