#include "spool/left_spools.h"

#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

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

// `shown`: what comes before the names in the folder.
void look_in(const std::string& folder, const std::string& shown, const std::string& prefix,
             std::int64_t since, FoundArchives& found) {
  std::error_code ignored;
  std::size_t looks = 0;
  for (const std::string& name : base::names_in(folder, ignored)) {
    if (!name.starts_with(prefix) || ++looks > FoundArchives::kMostLooks) continue;
    look_at(shown + name, since, found);
  }
}

}  // namespace

FoundArchives find_archives(const std::string& archive, const std::string& folder,
                            std::int64_t since) {
  FoundArchives found;
  if (archive.empty()) {
    look_in(folder, folder + '/', "refrain-", since, found);
    look_in(folder, folder + '/', kProvisionalPrefix, since, found);
    return found;
  }
  look_at(archive, since, found);
  const std::size_t name = archive.find_last_of('/') + 1;  // 0: there is none
  const std::string before = archive.substr(0, name),
                    beside = before.empty() ? "." : before;
  look_in(beside, before, archive.substr(name) + '.', since, found);
  look_in(beside, before, kProvisionalPrefix, since, found);
  return found;
}

std::string line_about_left(const std::vector<std::string>& left) {
  // ARCHIVE.2 is before ARCHIVE.10.
  const auto earlier = [](const std::string& a, const std::string& b) {
    return std::make_pair(a.size(), a) < std::make_pair(b.size(), b);
  };
  const std::string& first = *std::ranges::min_element(left, earlier);
  const std::string way =
      "without exit(): 'refrain recover " + first + "' makes the archive";
  if (left.size() == 1)
    return "the recording in '" + first +
           "' has no archive because its processes were killed or ended " + way;
  return std::to_string(left.size()) + " recordings, the first in '" + first +
         "', have no archive because their processes were killed or ended " + way;
}

}  // namespace refrain::spool
