#include "tracer/runtime/recording_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/folder.h"
#include "base/new_file.h"
#include "spool/spool_folder.h"
#include "spool/spool_place.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"

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

std::string cannot_make(const fs::path& folder, int why) {
  return "cannot make the directory '" + folder.string() + "': " + std::strerror(why);
}

// Why nothing of ours may be put into a directory, or a link to one, that somebody has made; empty: it is the user's, and
// nobody else can put anything there.
std::string not_safe(const fs::path& folder) {
  struct stat link {
  }, there{};
  if (lstat(folder.c_str(), &link) != 0 || stat(folder.c_str(), &there) != 0)
    return cannot_make(folder, errno);
  if (link.st_uid != geteuid() || there.st_uid != geteuid())
    return "'" + folder.string() + "' belongs to another user";
  if ((there.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "'" + folder.string() + "' can be changed by other users (chmod go-w)";
  return {};
}

bool make_folder(const fs::path& folder) {
  if (mkdir(folder.c_str(), base::folder_mode()) != 0) return false;
  base::open_folder_to_group(folder.c_str());
  return true;
}

// NAME, or the next free of NAME.2, NAME.3, ...: `take` makes one of them its own, is false and sets errno to EEXIST if
// it is in use, or to something else if none can be.
// If it puts something into `refused`, no other name is tried.
template <typename Take>
base::Result<std::string> first_free(const fs::path& base, std::string& refused,
                                     Take take) {
  constexpr int kMaxNames = 9999;
  fs::path folder = base;
  for (int i = 2; !take(folder); ++i) {
    if (!refused.empty()) return base::Failure{refused};
    if (errno != EEXIST || i > kMaxNames) return base::Failure{cannot_make(folder, errno)};
    folder = base.string() + "." + std::to_string(i);
  }
  return folder.string();
}

// An earlier program of this process may have left a recording that exec() ended: a shell whose script becomes the program. Without
// events it is removed. Returns true if it was.
bool removed_of_earlier_program(const fs::path& folder) {
  std::error_code error;
  if (!not_safe(folder).empty() || !fs::exists(folder / "spool", error)) return false;
  {
    const spool::SpoolFolder left = spool::open_spool_folder(folder.string());
    if (left.processes.size() != 1 || !left.distant.empty()) return false;
    const spool::ProcessSpool& process = left.processes.front();
    const spool::SpoolFacts& facts = process.journal.facts();
    if (facts.ended || facts.exited || facts.pid != static_cast<std::uint64_t>(getpid()))
      return false;
    for (const spool::SpoolFile& location : process.locations)
      if (location.facts().events_seen != 0) return false;
  }
  if (spool::recording_process(folder.string()) != 0)
    return false;  // by another tracer here
  spool::remove_spools(folder.string(), error);
  return !error;
}

// A recording is about to begin there: its journal comes a moment after its directory, and recording_process() finds it only then.
bool may_begin_now(const fs::path& folder) {
  constexpr time_t kMoment = 10;  // s
  struct stat info {};
  if (stat((folder / "spool").c_str(), &info) != 0 ||
      time(nullptr) - info.st_mtime >= kMoment)
    return false;
  return std::ranges::none_of(
      spool::open_spool_folder(folder.string()).processes,
      [](const spool::ProcessSpool& process) { return process.journal.usable(); });
}

// While one of these lives no other process replaces an archive next to this one: between looking at it and removing it, it may
// have become another one's. Where directories cannot be locked there is none.
class ReplacingLock {
 public:
  explicit ReplacingLock(const fs::path& archive)
      : folder_(recorder::open_apart(AT_FDCWD, archive.parent_path().c_str(),
                                     O_RDONLY | O_DIRECTORY)) {
    constexpr int kTrials = 300;
    constexpr timespec kPause{0, 10'000'000};
    for (int i = 0; folder_ >= 0 && i < kTrials && flock(folder_, LOCK_EX | LOCK_NB) != 0 &&
                    errno == EWOULDBLOCK;
         ++i)
      nanosleep(&kPause, nullptr);
  }
  ~ReplacingLock() {
    if (folder_ >= 0) close(folder_);
  }
  ReplacingLock(const ReplacingLock&) = delete;
  ReplacingLock& operator=(const ReplacingLock&) = delete;

 private:
  const int folder_;
};

recorder::FileIdentity root_of_process() noexcept {
  struct stat root {};
  if (stat("/", &root) != 0) return {};
  return {root.st_dev, root.st_ino};
}

// The spool of process 0 in a directory that is ours.
base::Result<ArchiveFolder> with_spool(const std::string& archive) {
  const fs::path spool = fs::path(archive) / "spool" / "process-0";
  if (make_folder(spool)) return ArchiveFolder{archive, spool.string()};
  const int why = errno;
  remove_empty({archive, spool.string()});
  return base::Failure{cannot_make(spool, why)};
}

// A directory that no other process has, whatever its number: of other containers there may be one with the same. What a killed
// process has left is kept: it belongs to an archive.
base::Result<ArchiveFolder> make_own_folder(const fs::path& wanted) {
  std::string refused;
  std::error_code ignored;
  fs::create_directories(wanted.parent_path(), ignored);
  const auto archive = first_free(wanted, refused, [&](const fs::path& folder) {
    if (make_folder(folder)) return true;
    if (errno == EEXIST && removed_of_earlier_program(folder) &&
        rmdir(folder.c_str()) == 0 && make_folder(folder))
      return true;
    struct stat there {};
    if (errno == EEXIST && lstat(folder.c_str(), &there) == 0 && there.st_uid != geteuid())
      refused = "'" + folder.string() + "' belongs to another user";
    errno = EEXIST;
    return false;
  });
  if (!archive) return archive.failure();
  const fs::path spool = fs::path(*archive) / "spool";
  if (make_folder(spool)) return with_spool(*archive);
  const int why = errno;
  rmdir(archive->c_str());
  return base::Failure{cannot_make(spool, why)};
}

}  // namespace

base::Result<std::string> archive_path(const std::string& wanted,
                                       const std::string& program) {
  std::error_code wrong;
  const fs::path path =
      fs::absolute(wanted.empty() ? default_name(program) : wanted, wrong);
  if (wrong) return base::Failure{"cannot read the current directory: " + wrong.message()};
  return path.string();
}

base::Result<ArchiveFolder> make_bare_archive_folder(const std::string& wanted,
                                                     bool overwrite) {
  std::string refused;
  std::error_code error;
  const fs::path base = wanted;
  // An archive that a parent of this process is just making is none to be replaced.
  std::optional<ReplacingLock> lock;
  if (overwrite) lock.emplace(base);
  if (overwrite && is_ours(base) && spool::recording_process(base) == 0 &&
      !may_begin_now(base)) {
    spool::remove_spools(base.string(), error);
    base::remove_tree(base.string());
  }
  fs::create_directories(base.parent_path(), error);
  // The spool directory is the token: whoever makes it owns the archive's directory.
  const auto archive = first_free(base, refused, [&](const fs::path& folder) {
    const bool made = make_folder(folder);
    if (!made) {
      if (errno != EEXIST) return false;
      removed_of_earlier_program(folder);
      const bool empty = base::names_in(folder.string(), error).empty() && !error;
      if (empty) refused = not_safe(folder);
      errno = EEXIST;
      if (!empty || !refused.empty()) return false;
    }
    if (make_folder(folder / "spool")) return true;
    const int why = errno;
    if (made && why != EEXIST) rmdir(folder.c_str());
    errno = why;
    return false;
  });
  if (!archive) return archive.failure();
  return ArchiveFolder{*archive, {}};
}

base::Result<ArchiveFolder> make_archive_folder(const std::string& wanted, bool overwrite) {
  const auto made = make_bare_archive_folder(wanted, overwrite);
  return made ? with_spool(made->archive) : made;
}

base::Result<ArchiveFolder> make_spool_elsewhere(const std::string& spool_dir,
                                                 const std::string& program) {
  const std::string name = with_host_and_process(spool::kPlacePrefix, program);
  std::error_code error;
  const fs::path folder = fs::absolute(spool_dir, error);
  return make_own_folder((folder / name).lexically_normal());
}

base::Result<ArchiveFolder> place_spool(const ArchiveFolder& from,
                                        const std::string& archive, std::uint32_t process) {
  const recorder::NoSizeSignal no_signal;
  const auto placed = spool::write_place(archive, process, {spool::own_host(), from.spool});
  if (!placed) return placed.failure();
  spool::name_archive(from.archive, archive);
  return ArchiveFolder{archive, from.spool};
}

base::Result<ArchiveFolder> make_provisional_folder(const std::string& archive,
                                                    const std::string& program) {
  const std::string name = with_host_and_process(spool::kProvisionalPrefix, program);
  return make_own_folder(fs::path(archive).parent_path() / name);
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

base::Result<ArchiveFolder> move_spool(const ArchiveFolder& from,
                                       const std::string& archive, std::uint32_t process) {
  const fs::path to = fs::path(archive) / "spool" / ("process-" + std::to_string(process));
  if (rename(from.spool.c_str(), to.c_str()) != 0) {
    // The program has changed its directory, or processes have directories of their own.
    if (errno == EXDEV) return place_spool(from, archive, process);
    return base::Failure{"cannot move '" + from.spool + "' to '" + to.string() +
                         "': " + std::strerror(errno)};
  }
  remove_empty(from);
  return ArchiveFolder{archive, to.string()};
}

base::Result<> ProcessFolder::make(const filters::Settings& settings,
                                   const std::string& program, bool of_job) {
  base::let_group_read(settings.group_readable);
  root_ = root_of_process();
  const auto wanted = archive_path(settings.archive, program);
  if (!wanted) return wanted.failure();
  wanted_ = *wanted;
  if (!settings.spool_dir.empty()) return make_elsewhere(settings, program, of_job);
  const auto folder = of_job ? make_provisional_folder(wanted_, program)
                             : make_archive_folder(wanted_, settings.overwrite);
  if (!folder) return folder.failure();
  archive_ = folder->archive;
  spool_ = folder->spool;
  if (of_job) provisional_ = *folder;
  return {};
}

base::Result<> ProcessFolder::make_elsewhere(const filters::Settings& settings,
                                             const std::string& program, bool of_job) {
  auto folder = make_spool_elsewhere(settings.spool_dir, program);
  if (!folder) return folder.failure();
  elsewhere_ = *folder;
  if (of_job) {
    provisional_ = elsewhere_;
  } else {
    const auto archive = make_bare_archive_folder(wanted_, settings.overwrite);
    folder = archive ? place_spool(elsewhere_, archive->archive, 0) : archive;
    if (!folder) {
      if (archive) archive_ = archive->archive;
      remove();
      return folder.failure();
    }
  }
  archive_ = folder->archive;
  spool_ = folder->spool;
  return {};
}

void ProcessFolder::remove() noexcept {
  if (!elsewhere_.spool.empty()) {
    if (settled() && !archive_.empty()) spool::remove_place(archive_, 0);
    spool::remove_placed({{}, elsewhere_.spool});
  }
  if (!archive_.empty()) remove_spool({archive_, spool_});
}

base::Result<> ProcessFolder::settle(const std::string& archive, std::uint32_t rank,
                                     std::uint32_t size) {
  const auto folder = elsewhere_.spool.empty() ? move_spool(provisional_, archive, rank)
                                               : place_spool(provisional_, archive, rank);
  if (!folder) return folder.failure();
  provisional_ = {};
  archive_ = folder->archive;
  spool_ = folder->spool;
  rank_ = rank;
  size_ = size;
  return {};
}

bool ProcessFolder::open_spool() noexcept {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
  descriptor_ =
      recorder::keep_descriptor(recorder::open_apart(AT_FDCWD, spool_.c_str(), kFlags));
  return recorder::identify(descriptor_, folder_);
}

int ProcessFolder::descriptor() noexcept {
  recorder::FileIdentity now;
  if (recorder::identify(descriptor_, now) && now == folder_) return descriptor_;
  return open_spool() ? descriptor_ : -1;
}

bool ProcessFolder::root_changed() const noexcept { return root_of_process() != root_; }

void ProcessFolder::abandon() noexcept {
  recorder::drop_descriptor(descriptor_, folder_);
  descriptor_ = -1;
}

void ProcessFolder::discard() noexcept {
  if (!settled()) remove_spool(provisional_);
}

}  // namespace refrain::runtime
