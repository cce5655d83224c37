#include "tools/output/left_recording.h"

#include <algorithm>
#include <filesystem>

#include "base/texts.h"
#include "spool/spool_folder.h"

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

std::string recover(const std::string& archive) {
  return "'refrain recover " + base::shell_word(archive) + "'";
}

// "one of its processes recorded is in '.refrain-app-node-1'"
std::string places_of(const std::vector<std::string>& parts) {
  constexpr std::size_t kMax = 4;
  std::string text = parts.size() == 1 ? "one of its processes"
                                       : std::to_string(parts.size()) + " of its processes";
  text += " recorded is in ";
  for (std::size_t i = 0; i < std::min(kMax, parts.size()); ++i)
    text += (i == 0 ? "'" : ", '") + parts[i] + "'";
  if (parts.size() > kMax) text += " and " + std::to_string(parts.size() - kMax) + " more";
  return text;
}

std::string made_of(const std::vector<std::string>& parts) {
  return recover(parts.front()) +
         (parts.size() == 1 ? " makes an archive of it" : " makes an archive of the first");
}

std::string nothing_in(const std::string& archive) {
  return "'" + archive +
         "' has nothing to make an archive from: its processes were killed before they "
         "recorded anything";
}

}  // namespace

std::string why_no_recording(const std::string& archive,
                             const std::vector<std::string>& spool_dirs) {
  std::error_code error;
  const spool::Recording recording = spool::recording_in(archive);
  if (recording == spool::Recording::kStarting)
    return "nothing is recorded in '" + archive + "' yet: its process begins just now";
  if (recording == spool::Recording::kUnreadable) {
    const spool::SpoolFolder spools = spool::open_spool_folder(archive);
    return "nothing in '" + archive + "' can be read" +
           (spools.complaints.empty() ? std::string() : ": " + spools.complaints.front());
  }
  const bool empty = recording == spool::Recording::kEmpty;
  if (!empty && fs::exists(archive, error)) return {};
  const std::vector<spool::PartOfJob> all = spool::parts_of(archive, spool_dirs);
  std::vector<std::string> parts;  // of the latest run
  for (const spool::PartOfJob& part : all)
    if (part.run == all.back().run) parts.push_back(part.folder);
  std::ranges::sort(parts);
  if (!parts.empty())
    return "'" + archive + (empty ? "' is empty" : "' does not exist") +
           ": the job was killed before the end of MPI_Init. What " + places_of(parts) +
           ": " + made_of(parts);
  return empty ? nothing_in(archive) : std::string();
}

std::string why_no_archive(const std::string& archive) {
  std::error_code error;
  if (fs::exists(fs::path(archive) / "traces.otf2", error) ||
      fs::is_regular_file(archive, error))
    return {};
  if (spool::recording_in(archive) == spool::Recording::kReadable)
    return "'" + archive + "' is a recording without an archive: " + recover(archive) +
           " makes the archive";
  return why_no_recording(archive);
}

std::string other_parts(const std::string& archive) {
  const std::string run = spool::run_in(archive);
  if (run.empty()) return {};
  std::vector<std::string> parts;
  for (const spool::PartOfJob& part : spool::parts_of(archive))
    if (part.run == run) parts.push_back(part.folder);
  if (parts.empty()) return {};
  return "the job was killed in MPI_Init, and the archive has not all of it: what " +
         places_of(parts) + " (" + made_of(parts) + ")";
}

}  // namespace refrain::tools
