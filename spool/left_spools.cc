#include "spool/left_spools.h"

#include <sys/stat.h>

#include <system_error>

#include "base/folder.h"
#include "spool/recording_process.h"
#include "spool/spool_place.h"

namespace refrain::spool {
namespace {

bool exists(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0;
}

void look_at(const std::string& archive, std::int64_t since, FoundArchives& found) {
  struct stat info {};
  if (stat(archive.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_mtime < since)
    return;
  if (!archive_of_place(archive).empty()) return;  // a part of one
  const bool written = exists(archive + "/traces.otf2") || exists(archive + "/traces.prv");
  const bool spool = exists(archive + "/spool");
  found.any |= written || spool;
  if (spool && !written && recording_process(archive) == 0) found.left.push_back(archive);
}

}  // namespace

FoundArchives find_archives(const std::string& archive, const std::string& folder,
                            std::int64_t since) {
  FoundArchives found;
  if (!archive.empty()) {
    look_at(archive, since, found);
    return found;
  }
  std::error_code ignored;
  std::size_t looks = 0;
  for (const std::string& name : base::names_in(folder, ignored)) {
    if (!name.starts_with("refrain-") || ++looks > FoundArchives::kMostLooks) continue;
    std::string path = folder;
    path.append("/").append(name);
    look_at(path, since, found);
  }
  return found;
}

}  // namespace refrain::spool
