#include "spool/file_reader.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/folder.h"
#include "spool/file_format.h"
#include "spool/format.h"
#include "spool/summary_areas.h"

namespace refrain::spool {
namespace {

class FileTableParser {
 public:
  explicit FileTableParser(std::span<const std::byte> file) : file_(file) {}

  const char* read(FileTable& table) {
    if (file_.size() < kFileTableBytes) return "is cut off: its end is missing";
    if (std::memcmp(file_.data(), kFilesMagic, sizeof kFilesMagic) != 0)
      return "has no files: it is another file";
    if (word(offsetof(FileHeader, byte_order)) != kByteOrder)
      return "is of a machine with another byte order";
    if (word(offsetof(FileHeader, version)) != kFilesVersion)
      return "is of another version of Refrain";
    for (std::uint32_t slot = 0; slot < kFileSlots; ++slot)
      if (!take(slot, table)) return "is damaged: a path leads nowhere";
    for (std::uint32_t i = 1; i < kFileNames; ++i) {
      const std::size_t at = kFileHeaderBytes + i * sizeof(FileName);
      const auto found = table.files.find(word(at + offsetof(FileName, file)));
      if (found == table.files.end() || found->first == 0) continue;
      table.names[i] = base::file_name(found->second.path);
    }
    return nullptr;
  }

 private:
  std::uint32_t word(std::size_t offset) const {
    return copy_at<std::uint32_t>(file_, offset);
  }

  bool take(std::uint32_t slot, FileTable& table) const {
    const std::size_t at = kFileEntriesOffset + slot * sizeof(FileEntry);
    const std::uint32_t ready = word(at + offsetof(FileEntry, ready));
    if (slot != 0 && ready != kFileReady && ready != kFileWithoutPlace) return true;
    base::UsedFile file;
    for (std::size_t i = 0; i < base::kFileUseNumbers.size(); ++i)
      file.use.*base::kFileUseNumbers[i].value = copy_at<std::uint64_t>(
          file_, at + offsetof(FileEntry, numbers) + i * sizeof(std::uint64_t));
    if (ready != kFileReady) {
      if (file.use != base::FileUse{}) table.files[0].use.add(file.use);
      return true;
    }
    const std::size_t offset = word(at + offsetof(FileEntry, path_offset));
    const std::size_t bytes = word(at + offsetof(FileEntry, path_bytes));
    if (offset + bytes > kFilePathBytes) return false;
    const auto* const text =
        reinterpret_cast<const char*>(file_.data()) + kFilePathsOffset + offset;
    // A line of texts of archives.
    file.path.assign(text, bytes);
    std::ranges::replace(file.path, '\n', ' ');
    std::ranges::replace(file.path, '\0', ' ');
    table.files.emplace(slot, std::move(file));
    return true;
  }

  std::span<const std::byte> file_;
};

}  // namespace

std::string FileTable::name(std::uint32_t number) const {
  const auto found = names.find(number);
  return found == names.end() || found->second.empty() ? "other files" : found->second;
}

base::Result<FileTable> read_files(std::span<const std::byte> file,
                                   const std::string& name) {
  FileTable table;
  const char* const problem = FileTableParser(file).read(table);
  if (problem != nullptr) return base::Failure{name + " " + problem};
  return table;
}

base::Result<FileTable> read_files(const std::string& folder) {
  const std::string path = folder + "/files";
  if (!base::is_regular_file(path)) return FileTable{};
  std::ifstream in(path, std::ios::binary);
  if (!in) return FileTable{};
  std::vector<char> bytes(kFileTableBytes);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return read_files(std::as_bytes(std::span<const char>(bytes)), path);
}

}  // namespace refrain::spool
