#include "tracer/runtime/process_folder.h"

#include "spool/spool_place.h"

namespace refrain::runtime {

std::string ProcessFolder::make(const filters::Settings& settings,
                                const std::string& program, bool of_job) {
  if (!settings.spool_dir.empty()) return make_elsewhere(settings, program, of_job);
  const ArchiveFolder folder =
      of_job ? make_provisional_folder(settings.archive, program)
             : make_archive_folder(settings.archive, program, settings.overwrite);
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
    const ArchiveFolder archive =
        make_bare_archive_folder(settings.archive, program, settings.overwrite);
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

void ProcessFolder::discard() noexcept {
  if (!settled()) remove_spool(provisional_);
}

}  // namespace refrain::runtime
