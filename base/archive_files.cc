#include "base/archive_files.h"

#include <filesystem>
#include <system_error>

#include "base/folder.h"

namespace refrain::base {

namespace fs = std::filesystem;

bool holds_archive(const std::string& folder) {
  std::error_code error;
  for (const char* name : kArchiveFiles)
    if (fs::exists(fs::path(folder) / name, error)) return true;
  return false;
}

std::string archive_folder(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return path;
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

std::string irregular_file(const std::string& anchor) {
  std::error_code error;
  for (const char* extension : {".otf2", ".def", ".marker"}) {
    const fs::path file = fs::path(anchor).replace_extension(extension);
    const fs::file_type type = fs::status(file, error).type();
    if (type != fs::file_type::regular && type != fs::file_type::not_found)
      return file.string();
  }
  for (fs::directory_iterator entry(fs::path(anchor).replace_extension(), error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    const bool harmless = entry->is_regular_file(unknown) || entry->is_directory(unknown) ||
                          !entry->exists(unknown);
    if (!harmless) return entry->path().string();
  }
  return {};
}

ArchiveBytes archive_bytes(const std::string& folder) {
  ArchiveBytes bytes;
  std::error_code error;
  const auto add = [&bytes](const fs::path& file) {
    std::error_code unknown;
    if (!fs::is_regular_file(file, unknown)) return;
    const std::uint64_t size = fs::file_size(file, unknown);
    if (unknown) return;
    bytes.all += size;
    if (file.extension() == ".evt") bytes.events += size;
  };
  for (const char* name : kArchiveFiles) {
    const fs::path path = fs::path(folder) / name;
    add(path);
    if (!fs::is_directory(path, error)) continue;
    for (const std::string& file : names_in(path.string(), error)) add(path / file);
  }
  return bytes;
}

Result<> remove_archive(const std::string& folder) {
  // Without the anchor there is no archive for any reader.
  for (auto name = kArchiveFiles.rbegin(); name != kArchiveFiles.rend(); ++name) {
    const fs::path path = fs::path(folder) / *name;
    std::error_code error;
    remove_tree(path.string(), error);
    if (error) return Failure{path.string() + " cannot be removed: " + error.message()};
  }
  return {};
}

}  // namespace refrain::base
