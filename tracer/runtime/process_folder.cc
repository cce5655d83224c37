#include "tracer/runtime/process_folder.h"

#include <fcntl.h>

#include "base/file_modes.h"
#include "spool/spool_place.h"

namespace refrain::runtime {

std::string ProcessFolder::make(const filters::Settings& settings,
                                const std::string& program, bool of_job) {
  base::let_group_read(settings.group_readable);
  std::string error;
  wanted_ = archive_path(settings.archive, program, error);
  if (!error.empty()) return error;
  if (!settings.spool_dir.empty()) return make_elsewhere(settings, program, of_job);
  const ArchiveFolder folder = of_job ? make_provisional_folder(wanted_, program)
                                      : make_archive_folder(wanted_, settings.overwrite);
  if (!folder.error.empty()) return folder.error;
  archive_ = folder.archive;
  spool_ = folder.spool;
  if (of_job) provisional_ = folder;
  return {};
}

std::string ProcessFolder::make_elsewhere(const filters::Settings& settings,
                                          const std::string& program, bool of_job) {
  ArchiveFolder folder = make_spool_elsewhere(settings.spool_dir, program);
  if (!folder.error.empty()) return folder.error;
  elsewhere_ = folder;
  if (of_job) {
    provisional_ = folder;
  } else {
    const ArchiveFolder archive = make_bare_archive_folder(wanted_, settings.overwrite);
    if (archive.error.empty())
      folder = place_spool(elsewhere_, archive.archive, 0);
    else
      folder.error = archive.error;
    if (!folder.error.empty()) {
      archive_ = archive.archive;
      remove_empty();
      return folder.error;
    }
  }
  archive_ = folder.archive;
  spool_ = folder.spool;
  return {};
}

void ProcessFolder::remove_empty() noexcept {
  if (!elsewhere_.spool.empty()) {
    if (settled() && !archive_.empty()) spool::remove_place(archive_, 0);
    spool::remove_placed({{}, elsewhere_.spool});
  }
  if (!archive_.empty()) runtime::remove_empty({archive_, spool_, {}});
}

std::string ProcessFolder::settle(const std::string& archive, std::uint32_t rank,
                                  std::uint32_t size) {
  const ArchiveFolder folder = elsewhere_.spool.empty()
                                   ? move_spool(provisional_, archive, rank)
                                   : place_spool(provisional_, archive, rank);
  if (!folder.error.empty()) return folder.error;
  provisional_ = {};
  archive_ = folder.archive;
  spool_ = folder.spool;
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

void ProcessFolder::abandon() noexcept {
  recorder::drop_descriptor(descriptor_, folder_);
  descriptor_ = -1;
}

void ProcessFolder::discard() noexcept {
  if (!settled()) remove_spool(provisional_);
}

}  // namespace refrain::runtime
