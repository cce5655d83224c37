#include "tracer/runtime/process_folder.h"

namespace refrain::runtime {

std::string ProcessFolder::make(const filters::Settings& settings,
                                const std::string& program, bool of_job) {
  const ArchiveFolder folder =
      of_job ? make_provisional_folder(settings.archive, program)
             : make_archive_folder(settings.archive, program, 0, settings.overwrite);
  if (!folder.error.empty()) return folder.error;
  archive_ = folder.archive;
  spool_ = folder.spool;
  if (of_job) provisional_ = folder;
  return {};
}

void ProcessFolder::remove_empty() noexcept {
  runtime::remove_empty({archive_, spool_, {}});
}

std::string ProcessFolder::settle(const std::string& archive, std::uint32_t rank,
                                  std::uint32_t size) {
  const ArchiveFolder folder = move_spool(provisional_, archive, rank);
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
