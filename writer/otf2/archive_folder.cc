#include "writer/otf2/archive_folder.h"

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "writer/folder.h"

namespace refrain::writer {
namespace {

namespace fs = std::filesystem;

// In the order of publication.
constexpr std::array<const char*, 4> kFiles = {"traces", "traces.def", "traces.marker",
                                               "traces.otf2"};

}  // namespace

bool holds_archive(const std::string& folder) {
  std::error_code error;
  for (const char* name : kFiles)
    if (fs::exists(fs::path(folder) / name, error)) return true;
  return false;
}

std::uint64_t archive_bytes(const std::string& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const char* name : kFiles) {
    const fs::path path = fs::path(folder) / name;
    if (fs::is_regular_file(path, error)) bytes += fs::file_size(path, error);
    if (!fs::is_directory(path, error)) continue;
    for (const std::string& file : names_in(path.string(), error))
      if (fs::is_regular_file(path / file, error))
        bytes += fs::file_size(path / file, error);
  }
  return bytes;
}

std::string part_folder(const std::string& work_folder, std::uint32_t rank) {
  return (fs::path(work_folder) / ("rank-" + std::to_string(rank))).string();
}

std::string move_part(const std::string& work_folder, std::uint32_t rank) {
  const fs::path part = part_folder(work_folder, rank);
  const fs::path to = fs::path(work_folder) / "traces";
  std::error_code error;
  const std::vector<std::string> files = names_in((part / "traces").string(), error);
  if (error) return part.string() + ": " + error.message();
  for (const std::string& file : files) {
    fs::rename(part / "traces" / file, to / file, error);
    if (error) return (part / file).string() + ": " + error.message();
  }
  remove_tree(part.string());
  return {};
}

std::string remove_archive(const std::string& folder) {
  // Without the anchor there is no archive for any reader.
  for (auto name = kFiles.rbegin(); name != kFiles.rend(); ++name) {
    const fs::path path = fs::path(folder) / *name;
    std::error_code error;
    remove_tree(path.string(), error);
    if (error) return path.string() + " cannot be removed: " + error.message();
  }
  return {};
}

ArchiveFolder::ArchiveFolder(std::string archive)
    : archive_(std::move(archive)),
      work_((fs::path(archive_) / ".traces-being-written").string()) {}

ArchiveFolder::~ArchiveFolder() { remove_tree(work_); }

// A process that died in publish() leaves files in their place without the anchor, and the rest
// where it was. The work folder goes last: without it what is left would be somebody's.
bool ArchiveFolder::publication_was_interrupted() const {
  std::error_code error;
  return fs::exists(work_, error) && !fs::exists(fs::path(archive_) / kFiles.back(), error);
}

std::string ArchiveFolder::prepare(bool overwrite) {
  if (publication_was_interrupted()) {
    if (std::string wrong = remove_archive(archive_); !wrong.empty()) return wrong;
  } else if (!overwrite && holds_archive(archive_)) {
    return archive_ + " holds an archive already";
  }
  std::error_code error;
  remove_tree(work_);
  fs::create_directories(work_, error);
  if (error) return work_ + ": " + error.message();
  return {};
}

std::string ArchiveFolder::publish() {
  if (std::string wrong = remove_archive(archive_); !wrong.empty()) return wrong;
  std::error_code error;
  for (const char* name : kFiles) {
    const fs::path from = fs::path(work_) / name;
    if (!fs::exists(from, error)) continue;
    fs::rename(from, fs::path(archive_) / name, error);
    if (error) return from.string() + ": " + error.message();
  }
  return {};
}

}  // namespace refrain::writer
