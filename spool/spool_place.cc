#include "spool/spool_place.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/folder.h"
#include "base/new_file.h"

namespace refrain::spool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxText = std::size_t{2} * PATH_MAX;  // of a note

fs::path note_of(const std::string& archive, std::uint32_t process) {
  return fs::path(archive) / "spool" /
         ("process-" + std::to_string(process) + kPlaceSuffix);
}

std::string contents(const fs::path& file) {
  if (!base::is_regular_file(file.string())) return {};
  std::ifstream in(file, std::ios::binary);
  std::string text(kMaxText, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

// The rest of the line that begins with `key`; empty: there is none.
std::string value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};  // cut
    if (const std::string_view line = text.substr(0, end); line.starts_with(key))
      return std::string(line.substr(key.size()));
    text.remove_prefix(end + 1);
  }
  return {};
}

// What is in a note is removed at the end: nothing but a directory of ours.
bool is_placed(const std::string& folder) {
  const fs::path path(folder);
  const std::string root = fs::path(place_root(folder)).filename().string();
  return path.is_absolute() && path.lexically_normal() == path &&
         path.filename() == "process-0" && path.parent_path().filename() == "spool" &&
         (root.starts_with(kPlacePrefix) || root.starts_with(kProvisionalPrefix));
}

}  // namespace

std::string own_host() {
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof host - 1);
  return host;
}

base::Result<> write_place(const std::string& archive, std::uint32_t process,
                           const SpoolPlace& place) {
  return base::write_new_file(note_of(archive, process).string(),
                              "host " + place.host + "\nspool " + place.folder + "\n",
                              base::Existing::kReplace, base::file_mode());
}

std::optional<SpoolPlace> read_place(const std::string& archive, std::uint32_t process) {
  const std::string text = contents(note_of(archive, process));
  SpoolPlace place{value_of(text, "host "), value_of(text, "spool ")};
  if (place.host.empty() || !is_placed(place.folder)) return std::nullopt;
  return place;
}

void remove_place(const std::string& archive, std::uint32_t process) noexcept {
  try {
    unlink(note_of(archive, process).c_str());
  } catch (const std::exception&) {
    // No memory: it stays.
  }
}

std::string place_root(const std::string& folder) {
  return fs::path(folder).parent_path().parent_path().string();
}

std::string archive_of_place(const std::string& root) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::path(root) / "archive", ignored)) return {};
  return value_of(contents(fs::path(root) / "archive"), "archive ");
}

void name_archive(const std::string& root, const std::string& archive) noexcept {
  try {
    (void)base::write_new_file((fs::path(root) / "archive").string(),
                               "archive " + archive + "\n", base::Existing::kReplace,
                               base::file_mode());
    // It is for `refrain watch` and for people who find the directory.
  } catch (const std::exception&) {
  }
}

void remove_placed(const SpoolPlace& place) noexcept {
  try {
    if (!is_placed(place.folder)) return;
    const std::string root = place_root(place.folder);
    base::remove_tree(place.folder);
    rmdir((root + "/spool").c_str());
    unlink((root + "/archive").c_str());
    rmdir(root.c_str());
  } catch (const std::exception&) {
    // No memory: it stays.
  }
}

}  // namespace refrain::spool
