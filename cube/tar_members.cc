#include "cube/tar_members.h"

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <filesystem>
#include <memory>
#include <system_error>

namespace refrain::cube {

std::string read_tar(const std::string& file, std::map<std::string, std::string>& members) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return file + ": no such file";
  const std::unique_ptr<archive, decltype(&archive_read_free)> tar(archive_read_new(),
                                                                   &archive_read_free);
  if (tar == nullptr) return file + ": no memory";
  archive_read_support_format_tar(tar.get());
  const std::string refused = file + ": not a file of Cube (.cubex)";
  if (archive_read_open_filename(tar.get(), file.c_str(), 1 << 16) != ARCHIVE_OK)
    return refused;
  archive_entry* entry = nullptr;
  for (;;) {
    const int status = archive_read_next_header(tar.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
      // What CubeLib reads may have a block more behind a member than tar knows.
      return members.contains("anchor.xml") ? file + ": damaged" : refused;
    }
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) return refused;
    std::string& text = members[name];
    text.clear();
    std::array<char, 1 << 14> buffer;
    for (;;) {
      const auto bytes = archive_read_data(tar.get(), buffer.data(), buffer.size());
      if (bytes < 0) return file + ": damaged";
      if (bytes == 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(bytes));
    }
  }
  return members.contains("anchor.xml") ? std::string() : refused;
}

}  // namespace refrain::cube
