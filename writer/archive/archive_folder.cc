#include "writer/archive/archive_folder.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/archive_files.h"
#include "base/folder.h"
#include "base/new_file.h"

namespace refrain::writer {
namespace {

namespace fs = std::filesystem;

// In the order of publication.
constexpr auto& kFiles = base::kArchiveFiles;

// All that is in a directory, whatever the program's umask was.
void open_all_to_group(const fs::path& folder) {
  std::error_code error;
  for (const std::string& name : base::names_in(folder.string(), error)) {
    const fs::path path = folder / name;
    const bool is_folder = fs::is_directory(path, error);
    if (is_folder) open_all_to_group(path);
    chmod(path.c_str(), is_folder ? base::folder_mode() : base::file_mode());
  }
}

}  // namespace

std::string part_folder(const std::string& work_folder, std::uint32_t rank) {
  return (fs::path(work_folder) / ("rank-" + std::to_string(rank))).string();
}

base::Result<> move_part(const std::string& work_folder, std::uint32_t rank) {
  const fs::path part = part_folder(work_folder, rank);
  std::error_code error;
  for (const char* folder : {"traces", "summary", "samples"}) {
    if (!fs::exists(part / folder)) continue;  // there may be no summary or samples
    fs::create_directory(fs::path(work_folder) / folder, error);
    const std::vector<std::string> files = base::names_in((part / folder).string(), error);
    if (error) return base::Failure{(part / folder).string() + ": " + error.message()};
    for (const std::string& file : files) {
      fs::rename(part / folder / file, fs::path(work_folder) / folder / file, error);
      if (error)
        return base::Failure{(part / folder / file).string() + ": " + error.message()};
    }
  }
  base::remove_tree(part.string());
  return {};
}

ArchiveFolder::ArchiveFolder(std::string archive)
    : archive_(std::move(archive)),
      work_((fs::path(archive_) / ".traces-being-written").string()) {}

ArchiveFolder::~ArchiveFolder() { base::remove_tree(work_); }

// A process that died in publish() leaves files in their place without the anchor, and the
// others in the work directory. That goes last: without it nothing would show whose the files
// are.
bool ArchiveFolder::publication_was_interrupted() const {
  std::error_code error;
  return fs::exists(work_, error) && !fs::exists(fs::path(archive_) / kFiles.back(), error);
}

base::Result<> ArchiveFolder::prepare(bool overwrite) {
  if (publication_was_interrupted()) {
    if (auto removed = base::remove_archive(archive_); !removed) return removed;
  } else if (!overwrite && base::holds_archive(archive_)) {
    return base::Failure{archive_ + " has an archive already"};
  }
  std::error_code error;
  base::remove_tree(work_);
  fs::create_directories(work_, error);
  if (error) return base::Failure{work_ + ": " + error.message()};
  return {};
}

base::Result<> ArchiveFolder::publish() {
  if (auto removed = base::remove_archive(archive_); !removed) return removed;
  if (base::group_may_read()) open_all_to_group(work_);
  std::error_code error;
  for (const char* name : kFiles) {
    const fs::path from = fs::path(work_) / name;
    if (!fs::exists(from, error)) continue;
    fs::rename(from, fs::path(archive_) / name, error);
    if (error) return base::Failure{from.string() + ": " + error.message()};
  }
  return {};
}

}  // namespace refrain::writer
